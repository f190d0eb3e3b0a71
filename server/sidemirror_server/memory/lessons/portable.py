"""The format of exports and imports: a line of JSON for each memory. Pure.

A line: {"sidemirror": 1, "memory": {…}, "earlier": [{…}, …], "left_out": 0, "links": [{"kind": …, "target": …}, …]}.
The fields of a memory are those of `record.MemoryRecord`. `earlier`: its earlier versions, oldest first. `links`: those
that do not follow from the memory's fields; a target is the key of a node (`links.py`).
"""

from collections.abc import Iterable

import msgspec

from sidemirror_server.memory.kin.links import LONGEST_NAME, Link, check_link, is_key, memory_key
from sidemirror_server.memory.kin.signature import is_signature
from sidemirror_server.memory.lessons.keeping import Trust, standing
from sidemirror_server.memory.lessons.keys import text_key
from sidemirror_server.memory.lessons.trust import steering
from sidemirror_server.memory.line import FORMAT, BadLine
from sidemirror_server.memory.record import (
    MOST_TEACHINGS,
    Change,
    MemoryHistory,
    MemoryRecord,
    MemoryState,
    NewLink,
    Quarantine,
    memory_body,
)
from sidemirror_server.trace.failure import ErrorCategory
from sidemirror_server.trace.sources import SourceKind
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.text import redact_json

# Contract: ExportReflectionsResponse.lines. A line fits into the 4 MiB that gRPC clients accept by default.
MOST_LINE_BYTES = 3 * 1024 * 1024
_LONGEST_ID = 128
# Twice the contract's limits, since redaction may lengthen a text; `trust.py` reads all of a text this long. A task is
# stored with 4,000 characters.
_LONGEST_TEXT, _LONGEST_TASK, _LONGEST_NOTE = 32_000, 8_000, 2_000
_MOST_LABELS = 64
# In bytes of UTF-8: tags, tools and digests of episodes, each of which is a key in the stores. An entry of an index of
# Postgres holds 2,704 bytes, and the ids of tenant, project and memory take up to 1,536 of them.
_LONGEST_KEY_BYTES = 1_024
_MOST_LINKS = 1_000
# Chosen here: twice the contract's limits, which are 64 KiB of metadata and the longest lists.
_LONGEST_BODY_BYTES = 512 * 1024
# The end of the year 9999, the largest Timestamp; and the largest int32.
_LAST_US = 253_402_300_799_999_999
_MOST = 2**31 - 1
_CATEGORIES = frozenset(["", *ErrorCategory])
_SOURCES = frozenset(
    (SourceKind.SUBJECT, SourceKind.SESSION, SourceKind.TURN, SourceKind.MEMORY, SourceKind.GOAL_REPORT)
)


class Line(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of an export."""

    sidemirror: int
    memory: MemoryRecord
    earlier: tuple[MemoryRecord, ...] = ()
    left_out: int = 0
    links: tuple[NewLink, ...] = ()


_encode = msgspec.json.Encoder().encode


def line_of(kept: MemoryHistory) -> str:
    """The line of a memory. The oldest versions are left out if the line would be too long."""
    earlier = kept.earlier
    while True:
        line = _encode(Line(FORMAT, kept.memory, earlier, len(kept.earlier) - len(earlier), kept.links[:_MOST_LINKS]))
        if len(line) <= MOST_LINE_BYTES or not earlier:
            return line.decode()
        earlier = earlier[len(earlier) // 2 + 1 :]


def kept_in(line: str, trust: Trust) -> MemoryHistory:
    """The memory of a line, ready to store: redacted, judged like a new lesson, and trusted no more than the agent's
    own text. Raises BadLine."""
    try:
        raw = msgspec.json.decode(line)
        read = msgspec.convert(redact_json(raw), Line)
    except BadInput as error:
        raise BadLine("a score is no number from 0 to 1") from error
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        place = str(error).partition(" - at `")[2].rstrip("`")
        raise BadLine(f"no record: {place}" if place else "no record of an export") from error
    if read.sidemirror != FORMAT:
        raise BadLine("another format")
    memory, earlier = read.memory, read.earlier
    if any(one.memory_id != memory.memory_id or one.version >= memory.version for one in earlier):
        raise BadLine("earlier versions of something else")
    if len({one.version for one in earlier}) != len(earlier):
        raise BadLine("a version comes twice")
    if len(read.links) > _MOST_LINKS or not all(_is_link(memory, link) for link in read.links):
        raise BadLine("a link that is none")
    checked = [_checked(one) for one in sorted(earlier, key=lambda one: one.version)]
    return MemoryHistory(_judged(_checked(memory), checked, trust), tuple(checked), read.links)


def _is_link(memory: MemoryRecord, link: NewLink) -> bool:
    if len(link.target) > LONGEST_NAME + 2 or not is_key(link.target):
        return False
    try:
        check_link(Link(memory_key(memory.memory_id), link.kind, link.target), "links")
    except BadInput:
        return False
    return True


def _checked(memory: MemoryRecord) -> MemoryRecord:
    """Returns the memory if it is within the limits. Raises BadLine."""
    _check_bounds(memory)
    applies = memory.applies_when
    if not {memory.error_category, *applies.error_categories} <= _CATEGORIES:
        raise BadLine("an error category that is none")
    if max(len(memory.tags), len(applies.tools), len(applies.error_categories)) > _MOST_LABELS:
        raise BadLine("a list is too long")
    if any(len(key.encode()) > _LONGEST_KEY_BYTES for key in (*memory.tags, *applies.tools, *memory.episodes)):
        raise BadLine("a tag, a tool or an episode is too long")
    try:
        body = memory_body(memory)
    except (OverflowError, msgspec.EncodeError) as error:
        raise BadLine("metadata is out of range") from error
    if len(body) > _LONGEST_BODY_BYTES:
        raise BadLine("metadata is too long")
    is_held = memory.state is MemoryState.QUARANTINED
    quarantine = memory.quarantine or Quarantine.REVIEWED if is_held else None
    origin = min(memory.origin, Origin.AGENT)
    # Whoever wrote the line may call it reviewed; a person here has not seen it, and no token of this store changed it.
    return msgspec.structs.replace(
        *(memory,),
        text_key=text_key(memory.content),
        origin=origin,
        quarantine=quarantine,
        reviewed_version=0,
        changed_by="",
    )


def _check_bounds(memory: MemoryRecord) -> None:
    for name, value in (("memory_id", memory.memory_id), ("strategy_of", memory.strategy_of or "-")):
        if not (0 < len(value) <= _LONGEST_ID and value.isprintable()):
            raise BadLine(f"{name} is no id")
    if not memory.content or len(memory.content) > _LONGEST_TEXT:
        raise BadLine("content is missing or too long")
    signatures = (memory.error_signature, *(taught.error_signature for taught in memory.taught_by))
    if not all(is_signature(one) for one in signatures if one):
        raise BadLine("an error signature that is none")
    tasks = (memory.task_text, *(taught.task for taught in memory.taught_by))
    if any(len(task) > _LONGEST_TASK for task in tasks) or len(memory.reason) > _LONGEST_NOTE:
        raise BadLine("a text is too long")
    times = (memory.created_us, memory.updated_us, memory.strengthened_us)
    if not all(0 <= at_us <= _LAST_US for at_us in times) or not all(
        1 <= number <= _MOST for number in (memory.version, memory.strength, memory.evidence_from)
    ):
        raise BadLine("a number is out of range")
    taught = [source for one in memory.taught_by for source in one.sources]
    if len(memory.taught_by) > MOST_TEACHINGS or not all(_is_source(source) for source in taught):
        raise BadLine("a source that is none")
    if memory.evidence_from > memory.version:
        raise BadLine("evidence counts from a version that there is not")  # else no outcome could retire it


def _is_source(source: str) -> bool:
    kind, _, record_id = source.partition(":")
    return kind in _SOURCES and 0 < len(record_id) <= _LONGEST_ID and record_id.isprintable()


def _judged(memory: MemoryRecord, earlier: Iterable[MemoryRecord], trust: Trust) -> MemoryRecord:
    """The memory. It is quarantined if a new lesson like it would be, unless something has corroborated it."""
    if memory.state is not MemoryState.ACTIVE:
        return memory
    applies = memory.applies_when
    texts = [memory.content, *memory.tags, *applies.tools, applies.not_when]
    state, quarantine = standing(memory.origin, trust, steering([text for text in texts if text]))
    if quarantine is Quarantine.UNCORROBORATED and _is_corroborated(memory, earlier):
        return memory
    return msgspec.structs.replace(memory, state=state, quarantine=quarantine)


def _is_corroborated(memory: MemoryRecord, earlier: Iterable[MemoryRecord]) -> bool:
    is_reviewed = any(one.change is Change.REVIEWED for one in (memory, *earlier))
    return is_reviewed or len(memory.episodes) > 1
