"""What a memory is, as it is kept: field names and enum values are part of the stored format.

A reflection says what happened and why; a strategy says what to do next time. Both are memories, of one table
(seed reflection-engine-v2, "Storage").
"""

from enum import StrEnum
from typing import Any

import msgspec

from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.origin import Origin

# Seed reflection-engine-v2, "Storage Schema".
SOURCE = "reflection_engine_v2"
LAYER = "rm"
STRATEGY_TAG = "strategy"
# Episodes that a record remembers by their digest. Chosen here: two are needed for anything that asks for independent
# support; the rest shows how broad it is.
MOST_EPISODES = 16
# Revisions of a memory that are recognised when they are repeated. Chosen here: a repeat follows a crash, before long.
MOST_REVISIONS = 16


class MemoryKind(StrEnum):
    """What a memory says."""

    REFLECTION = "reflection"
    STRATEGY = "strategy"


class MemoryState(StrEnum):
    """Whether a memory is recalled. Only ACTIVE ones are, unless others are asked for."""

    ACTIVE = "active"
    QUARANTINED = "quarantined"
    RETIRED = "retired"


class Quarantine(StrEnum):
    """Why a memory is quarantined."""

    # Its text tries to steer whoever reads it: only a person lets it out (memory/lessons/trust.py).
    STEERING = "steering"
    # It rests on untrusted text, under the policy `corroborated`: a second episode lets it out.
    UNCORROBORATED = "uncorroborated"
    # Somebody said so.
    REVIEWED = "reviewed"


class Change(StrEnum):
    """What made a version of a memory."""

    LEARNED = "learned"
    UPDATED = "updated"
    REVIEWED = "reviewed"
    # What became of tasks said so (memory/trials/evidence.py).
    JUDGED = "judged"


class AppliesWhen(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a lesson is worth showing; matched before similarity. Empty says nothing. `error_categories`: values of
    `trace.failure.ErrorCategory`. `not_when`: in words."""

    tools: tuple[str, ...] = ()
    error_categories: tuple[str, ...] = ()
    not_when: str = ""


class MemoryRecord(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A memory as it is now.

    `version` rises from 1 with every change but a strengthening. `strength`: how often it was learned. `episodes`:
    digests of the distinct episodes that taught it, the oldest first, at most MOST_EPISODES. `text_key`: equal for
    texts that say the same word for word (`keys.text_key`). `strategy_of`: of a strategy, the memory id of its
    reflection. `derived_from`: of what was dreamt, the ids of the memories that it rests on. `metadata`: JSON; the
    seed's `outcome`, `task_description`, `event_count` and `session_id`, and the caller's own. `change` and `reason`
    tell of the last version. `revision_ids`: of its last revisions that had one, the oldest first, at most
    MOST_REVISIONS. `error_signature`: of the failure that it tells of (`memory/kin/signature.py`), or empty.
    `evidence_from`: the version from which evidence of it counts. Raises BadInput for a score that is none.
    """

    memory_id: str
    kind: MemoryKind
    content: str
    importance: float
    created_us: int
    updated_us: int
    text_key: str
    origin: Origin
    confidence: float | None = None
    tags: tuple[str, ...] = ()
    error_category: str = ""
    task_text: str = ""
    source_event_ids: tuple[str, ...] = ()
    related_ids: tuple[str, ...] = ()
    strategy_of: str = ""
    derived_from: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    applies_when: AppliesWhen = AppliesWhen()
    state: MemoryState = MemoryState.ACTIVE
    quarantine: Quarantine | None = None
    version: int = 1
    strength: int = 1
    strengthened_us: int = 0
    episodes: tuple[str, ...] = ()
    change: Change = Change.LEARNED
    reason: str = ""
    revision_ids: tuple[str, ...] = ()
    error_signature: str = ""
    evidence_from: int = 1

    def __post_init__(self) -> None:
        for name, score in (("importance", self.importance), ("confidence", self.confidence)):
            if score is not None and not 0.0 <= score <= 1.0:  # NaN is refused too
                raise BadInput([(name, "a number from 0 to 1")])


class LinkKind(StrEnum):
    """What a link says of its source (`memory/kin/links.py`). The values are stored and never change."""

    STRATEGY_OF = "strategy_of"
    DERIVED_FROM = "derived_from"
    SUPERSEDES = "supersedes"
    SIMILAR_TO = "similar_to"
    SAME_ERROR = "same_error"
    MENTIONS = "mentions"


class NewLink(msgspec.Struct, frozen=True):
    """A link of a memory that is learned, to the node of this key (`memory/kin/links.py`)."""

    kind: LinkKind
    target: str


class Lesson(msgspec.Struct, frozen=True):
    """What one episode taught: a reflection, and the strategy that belongs to it. Both are drafts, with version 1.

    `lesson_id`: the same for a repeated try of the same write; empty when nobody will repeat it. `links`: of the
    reflection, beside those that arise from the memories themselves.
    """

    reflection: MemoryRecord
    strategy: MemoryRecord | None = None
    lesson_id: str = ""
    links: tuple[NewLink, ...] = ()


class Learned(msgspec.Struct, frozen=True):
    """What became of a lesson: the memories as they are kept now, which may be ones that were known already."""

    reflection: MemoryRecord
    strategy: MemoryRecord | None = None


class Revision(msgspec.Struct, frozen=True):
    """A change to a memory. None leaves a field as it is. `text_key` goes with `content`. `without_confidence`: the
    memory has none afterwards. `revision_id`: the same for a repeated try of the same change; empty when nobody will
    repeat it."""

    change: Change
    reason: str = ""
    content: str | None = None
    text_key: str | None = None
    importance: float | None = None
    confidence: float | None = None
    tags: tuple[str, ...] | None = None
    error_category: str | None = None
    applies_when: AppliesWhen | None = None
    metadata: dict[str, Any] | None = None
    related_ids: tuple[str, ...] | None = None
    origin: Origin | None = None
    state: MemoryState | None = None
    quarantine: Quarantine | None = None
    without_confidence: bool = False
    revision_id: str = ""


class TaskOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of the task that a receipt was issued for. `outcome`: success, failure, partial, timeout or error."""

    receipt_id: str
    outcome: str
    reported_us: int
    score: float | None = None
    error_category: str = ""


class MemoryHistory(msgspec.Struct, frozen=True):
    """A memory with its earlier versions, oldest first, and links that begin at it: what an export holds of it."""

    memory: MemoryRecord
    earlier: tuple[MemoryRecord, ...] = ()
    links: tuple[NewLink, ...] = ()


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(MemoryRecord).decode


def memory_body(record: MemoryRecord) -> bytes:
    """The JSON that keeps a memory, but for its two long texts, which stores keep beside it."""
    return _encode(msgspec.structs.replace(record, content="", task_text=""))


def memory_in(body: bytes, content: str, task_text: str) -> MemoryRecord:
    """The memory that such JSON and its texts keep."""
    kept: MemoryRecord = _decode(body)
    return msgspec.structs.replace(kept, content=content, task_text=task_text)


def known_by(record: MemoryRecord) -> tuple[str, ...]:
    """What a memory is recognised by when it is learned once more: its text, then its episodes. Those of what was
    dreamt belong to the memories that it rests on: told again, they strengthen those."""
    if record.derived_from:
        return (f"t:{record.text_key}",)
    return (f"t:{record.text_key}", *(f"e:{episode}" for episode in record.episodes))


def strengthened(known: MemoryRecord, draft: MemoryRecord, now_us: int) -> MemoryRecord:
    """A known memory after it was learned once more: counted, and as little trusted as the less trusted of the two.

    Its text changes, which makes a version, only when both are active and the draft comes from an episode that taught
    it already and is surer of itself. A memory that waits for a second episode is let out by one.
    """
    is_replay = bool(draft.episodes) and set(draft.episodes) <= set(known.episodes)
    episodes = known.episodes + tuple(one for one in draft.episodes if one not in known.episodes)
    state, quarantine = known.state, known.quarantine
    if quarantine is Quarantine.UNCORROBORATED and len(episodes) > len(known.episodes) and _is_elsewhere(known, draft):
        state, quarantine = MemoryState.ACTIVE, None
    counted = msgspec.structs.replace(
        known,
        strength=known.strength + 1,
        strengthened_us=max(now_us, known.strengthened_us),
        episodes=episodes[:MOST_EPISODES],
        importance=max(known.importance, draft.importance),
        origin=min(known.origin, draft.origin),
        state=state,
        quarantine=quarantine,
        error_signature=known.error_signature or draft.error_signature,
    )
    is_surer = (draft.confidence or 0.0) > (known.confidence or 0.0)
    both_active = known.state is draft.state is MemoryState.ACTIVE
    if draft.text_key == known.text_key or not (is_replay and is_surer and both_active):
        return counted
    return msgspec.structs.replace(
        counted,
        content=draft.content,
        text_key=draft.text_key,
        confidence=draft.confidence,
        tags=draft.tags,
        applies_when=draft.applies_when,
        version=known.version + 1,
        evidence_from=known.version + 1,
        updated_us=now_us,
        change=Change.LEARNED,
        reason="the same episode was understood better",
    )


def _is_elsewhere(known: MemoryRecord, draft: MemoryRecord) -> bool:
    """The draft comes from another session, as far as both say theirs: one session's tools say the same thing twice."""
    here, there = known.metadata.get("session_id"), draft.metadata.get("session_id")
    return bool(known.episodes) and (not here or not there or here != there)


def is_repeated(known: MemoryRecord, revision: Revision) -> bool:
    """The memory has had this revision already."""
    return revision.revision_id in known.revision_ids


def revised(known: MemoryRecord, revision: Revision, now_us: int) -> MemoryRecord:
    """A memory after a revision: its next version. A state other than QUARANTINED ends a quarantine. What is known of
    another text does not count for this one, nor what a lesson was retired for once it is brought back."""
    given = {name: value for name in _REVISABLE if (value := getattr(revision, name)) is not None}
    if revision.state is not None:
        given["quarantine"] = revision.quarantine if revision.state is MemoryState.QUARANTINED else None
    if revision.without_confidence:
        given["confidence"] = None
    if revision.revision_id:
        given["revision_ids"] = (*known.revision_ids, revision.revision_id)[-MOST_REVISIONS:]
    is_brought_back = known.state is MemoryState.RETIRED and revision.state is MemoryState.ACTIVE
    if is_brought_back or revision.content not in (None, known.content):
        given["evidence_from"] = known.version + 1
    if revision.origin is not None:
        given["origin"] = min(known.origin, revision.origin)
    return msgspec.structs.replace(
        known,
        **given,
        version=known.version + 1,
        updated_us=now_us,
        change=revision.change,
        reason=revision.reason,
    )


_REVISABLE = (
    *("content", "text_key", "importance", "confidence", "tags", "error_category", "applies_when", "metadata"),
    *("related_ids", "state"),
)
