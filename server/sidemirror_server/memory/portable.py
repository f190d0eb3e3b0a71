"""Memories as lines of JSON that go from one store to another: what an export writes and an import reads. Pure.

A line: {"sidemirror": 1, "memory": {…}, "earlier": [{…}, …], "left_out": 0}. The fields are those of
`record.MemoryRecord`; earlier versions the oldest first.
"""

import msgspec

from sidemirror_server.memory.keys import text_key
from sidemirror_server.memory.record import Kept, MemoryRecord, MemoryState, Quarantine, memory_body
from sidemirror_server.memory.trust import steering
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.text import redact_json

FORMAT = 1
# Contract: ExportReflectionsResponse.lines; one fits into the 4 MiB that gRPC's clients take by default.
MOST_LINE_BYTES = 3 * 1024 * 1024
_LONGEST_ID = 128
_LONGEST_TEXT_BYTES = 256 * 1024


class Line(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line."""

    sidemirror: int
    memory: MemoryRecord
    earlier: tuple[MemoryRecord, ...] = ()
    left_out: int = 0


class BadLine(Exception):
    """A line cannot be used; says why, and quotes nothing of it."""


_encode = msgspec.json.Encoder().encode


def line_of(kept: Kept) -> str:
    """The line of a memory. Earlier versions that make it too long are left out, the oldest first."""
    earlier = kept.earlier
    while True:
        line = _encode(Line(FORMAT, kept.memory, earlier, len(kept.earlier) - len(earlier)))
        if len(line) <= MOST_LINE_BYTES or not earlier:
            return line.decode()
        earlier = earlier[len(earlier) // 2 + 1 :]


def kept_in(line: str) -> Kept:
    """The memory that a line holds, as it may be kept: its texts entered, judged as if they were learned, and trusted
    no more than the agent's own text. Raises BadLine."""
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
    return Kept(_checked(memory), tuple(sorted((_checked(one) for one in earlier), key=lambda one: one.version)))


def _checked(memory: MemoryRecord) -> MemoryRecord:
    for name, value in (("memory_id", memory.memory_id), ("strategy_of", memory.strategy_of or "-")):
        if not (0 < len(value) <= _LONGEST_ID and value.isprintable()):
            raise BadLine(f"{name} is no id")
    if not memory.content or len(memory.content.encode()) > _LONGEST_TEXT_BYTES:
        raise BadLine("content is missing or too long")
    numbers = (memory.created_us, memory.updated_us, memory.strengthened_us, memory.version - 1, memory.strength - 1)
    if not all(0 <= number < 2**63 - 1 for number in numbers):
        raise BadLine("a number is out of range")
    try:
        memory_body(memory)
    except (OverflowError, msgspec.EncodeError) as error:
        raise BadLine("metadata is out of range") from error
    state, quarantine = memory.state, memory.quarantine
    if state is MemoryState.ACTIVE and steering([memory.content, *memory.tags, memory.applies_when.not_when]):
        state, quarantine = MemoryState.QUARANTINED, Quarantine.STEERING
    return msgspec.structs.replace(
        memory,
        text_key=text_key(memory.content),
        origin=min(memory.origin, Origin.AGENT),
        state=state,
        quarantine=quarantine,
    )
