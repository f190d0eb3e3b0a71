"""Memory records. Field names and enum values are part of the stored format.

A reflection says what happened and why; a strategy says what to do next time. Both are memories in one table (decision
029).
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

from sidemirror_server.trace.sources import SourceKind, key, keys
from sidemirror_server.vocabulary.by_rule import quotes_user
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.ids import derived_id
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope

# Seed reflection-engine-v2, "Storage Schema".
SOURCE = "reflection_engine_v2"
LAYER = "rm"
STRATEGY_TAG = "strategy"
# Limit on the digests of episodes that a record keeps. Chosen here: a check for independent support needs two; more of
# them show how broad the support is.
MOST_EPISODES = 16
# Limit on the revision ids that a record keeps, to recognise a retry. Chosen here: a retry soon follows a crash.
MOST_REVISIONS = 16
# Teachings that a record keeps. Chosen here: one that is not erased is enough for a memory to stay.
MOST_TEACHINGS = 16


class MemoryKind(StrEnum):
    """The kinds of memories: what happened, or what to do."""

    REFLECTION = "reflection"
    STRATEGY = "strategy"


class MemoryState(StrEnum):
    """Whether recall returns a memory: only if it is ACTIVE, unless the caller asks for other states."""

    ACTIVE = "active"
    QUARANTINED = "quarantined"
    RETIRED = "retired"


# The reason of a memory that quotes a user.
QUOTES = "it quotes a user"


class Quarantine(StrEnum):
    """Why a memory is quarantined."""

    # The text tries to steer its reader (memory/lessons/trust.py). Only a person can release the memory.
    STEERING = "steering"
    # The memory rests on untrusted text, and the policy is `corroborated`. A second episode releases it.
    UNCORROBORATED = "uncorroborated"
    # A reviewer quarantined it.
    REVIEWED = "reviewed"


class Change(StrEnum):
    """What created a version of a memory."""

    LEARNED = "learned"
    UPDATED = "updated"
    REVIEWED = "reviewed"
    # A verdict of the trials (memory/trials/evidence.py).
    JUDGED = "judged"


class AppliesWhen(msgspec.Struct, frozen=True, omit_defaults=True):
    """When to show a lesson; checked before similarity. An empty field sets no condition. `error_categories`: values of
    `trace.failure.ErrorCategory`. `not_when`: in words."""

    tools: tuple[str, ...] = ()
    error_categories: tuple[str, ...] = ()
    not_when: str = ""


class Teaching(msgspec.Struct, frozen=True, omit_defaults=True):
    """One time that a memory was taught: by which sources (keys of `trace/sources.py`), in which words (`text_key`), by
    which episode, about a failure of which signature and in which task (its beginning), if these are known."""

    sources: tuple[str, ...]
    text_key: str
    taught_us: int
    episode: str = ""
    error_signature: str = ""
    task: str = ""


class MemoryRecord(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A memory in its present version.

    `version` starts at 1 and rises with every change except a strengthening. `strength`: how often the memory was
    learned. `episodes`: digests of the distinct episodes that taught it, oldest first, at most MOST_EPISODES.
    `text_key`: equal for texts with the same words (`keys.text_key`). `strategy_of`: for a strategy, the memory id of
    its reflection. `derived_from`: for a dreamt memory, the ids of the memories that it rests on. `metadata`: JSON with
    `outcome`, `task_description`, `event_count`, `session_id`, and the caller's keys. `change` and `reason` describe
    the last version. `revision_ids`: the latest ones, oldest first, at most MOST_REVISIONS. `error_signature`: of the
    failure that it is about (`memory/kin/signature.py`), or empty. `evidence_from`: the first version whose evidence
    counts. `taught_by`: the latest teachings with a source, oldest first, at most MOST_TEACHINGS.
    `reviewed_version`: the version that a person reviewed in this store; 0 if none. `changed_by`: the name of the token
    whose call made this version, or empty. Raises BadInput for a score outside 0 to 1.
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
    taught_by: tuple[Teaching, ...] = ()
    reviewed_version: int = 0
    changed_by: str = ""

    @property
    def is_reviewed(self) -> bool:
        """Whether a person has reviewed the present version, and left it active."""
        return self.reviewed_version == self.version and self.state is MemoryState.ACTIVE

    def __post_init__(self) -> None:
        for name, score in (("importance", self.importance), ("confidence", self.confidence)):
            if score is not None and not 0.0 <= score <= 1.0:  # NaN is refused too
                raise BadInput([(name, "a number from 0 to 1")])


class LinkKind(StrEnum):
    """The kinds of links (`memory/kin/links.py`). The values are stored and never change."""

    STRATEGY_OF = "strategy_of"
    DERIVED_FROM = "derived_from"
    SUPERSEDES = "supersedes"
    SIMILAR_TO = "similar_to"
    SAME_ERROR = "same_error"
    MENTIONS = "mentions"


class NewLink(msgspec.Struct, frozen=True):
    """A link to the node with this key (`memory/kin/links.py`). Its source is the memory that it is stored with."""

    kind: LinkKind
    target: str


class Lesson(msgspec.Struct, frozen=True):
    """What one episode taught: a reflection and, if there is one, its strategy. Both are drafts, with version 1.

    `lesson_id`: equal for retries of one write; empty if no retry will come. `links`: more links of the reflection,
    besides those that follow from the memories' fields.
    """

    reflection: MemoryRecord
    strategy: MemoryRecord | None = None
    lesson_id: str = ""
    links: tuple[NewLink, ...] = ()


class Learned(msgspec.Struct, frozen=True):
    """The stored memories of a lesson: new ones, or known ones that the lesson strengthened."""

    reflection: MemoryRecord
    strategy: MemoryRecord | None = None


class Revision(msgspec.Struct, frozen=True):
    """A change to a memory. None leaves a field unchanged. `text_key` belongs to `content`. `without_confidence`
    removes the confidence. `revision_id`: equal for retries of one change; empty if no retry will come. `sources`: what
    the change came from, as far as it is known. `changed_by`: the name of the token whose call it is, or empty."""

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
    sources: tuple[str, ...] = ()
    changed_by: str = ""


class TaskOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcome of a receipt's task. `outcome`: success, failure, partial, timeout or error."""

    receipt_id: str
    outcome: str
    reported_us: int
    score: float | None = None
    error_category: str = ""


class MemoryHistory(msgspec.Struct, frozen=True):
    """A memory as exported: with its earlier versions, oldest first, and the links that begin at it."""

    memory: MemoryRecord
    earlier: tuple[MemoryRecord, ...] = ()
    links: tuple[NewLink, ...] = ()


_decode = msgspec.json.Decoder(MemoryRecord).decode


def memory_body(record: MemoryRecord) -> bytes:
    """A memory as JSON without its two long texts, which stores keep in separate columns."""
    return msgspec.json.encode(msgspec.structs.replace(record, content="", task_text=""))


def memory_in(body: bytes, content: str, task_text: str) -> MemoryRecord:
    """The memory of this JSON and its two texts."""
    kept: MemoryRecord = _decode(body)
    return msgspec.structs.replace(kept, content=content, task_text=task_text)


def known_by(record: MemoryRecord) -> tuple[str, ...]:
    """The keys that recognise a memory when it is learned again: its text, then its episodes. A dreamt memory is known
    only by its text, because its episodes strengthen the memories that it rests on."""
    if record.derived_from:
        return (f"t:{record.text_key}",)
    return (f"t:{record.text_key}", *(f"e:{episode}" for episode in record.episodes))


def strengthened(known: MemoryRecord, draft: MemoryRecord, now_us: int) -> MemoryRecord:
    """A known memory after it was learned again. The result counts the repetition and has the lower trust of the two.

    The text changes (in a new version) only if both are active, the draft repeats known episodes, and its confidence is
    higher. A second episode releases a memory that is UNCORROBORATED.
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
        taught_by=_taught(known, draft.taught_by),
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
        changed_by="",
    )


def _is_elsewhere(known: MemoryRecord, draft: MemoryRecord) -> bool:
    """Whether the sessions differ, or one is unknown. Within one session, tools repeat the same text."""
    here, there = known.metadata.get("session_id"), draft.metadata.get("session_id")
    return bool(known.episodes) and (not here or not there or here != there)


def is_repeated(known: MemoryRecord, revision: Revision) -> bool:
    """Whether the memory already has this revision."""
    return revision.revision_id in known.revision_ids


def revised(known: MemoryRecord, revision: Revision, now_us: int) -> MemoryRecord:
    """The next version of a memory, after a revision. A state other than QUARANTINED ends a quarantine. The evidence
    starts anew with a new text, and when a retired lesson returns."""
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
    if revision.sources:
        now = Teaching(revision.sources, revision.text_key or known.text_key, now_us)
        given["taught_by"] = _taught(known, (now,))
    if revision.change is Change.REVIEWED:
        given["reviewed_version"] = known.version + 1
    return msgspec.structs.replace(
        known,
        **given,
        version=known.version + 1,
        updated_us=now_us,
        change=revision.change,
        reason=revision.reason,
        changed_by=revision.changed_by,
    )


def _taught(known: MemoryRecord, more: tuple[Teaching, ...]) -> tuple[Teaching, ...]:
    """The latest teachings. Of the same sources and words, the first counts."""
    new = (one for one in more if not any((one.sources, one.text_key) == (it.sources, it.text_key)
                                          for it in known.taught_by))  # fmt: skip
    return (*known.taught_by, *new)[-MOST_TEACHINGS:]


def sources_of(record: MemoryRecord) -> tuple[str, ...]:
    """The keys of everything that a memory came from, as far as its record names it."""
    session_id = record.metadata.get("session_id")
    named = (source for taught in record.taught_by for source in taught.sources)
    in_session = (key(SourceKind.SESSION, session_id),) if isinstance(session_id, str) and session_id else ()
    return tuple(dict.fromkeys((*named, *in_session, *keys(SourceKind.MEMORY, record.derived_from))))


def tasks_of(record: MemoryRecord) -> tuple[str, ...]:
    """The tasks that taught a memory, the first one first, each once."""
    taught = (one.task for one in record.taught_by)
    return tuple(dict.fromkeys(filter(None, (record.task_text, *taught))))


def heard_us_of(record: MemoryRecord, now_us: int) -> int:
    """When the first of a memory's sources was heard; `now_us` if none is named."""
    return min((taught.taught_us for taught in record.taught_by), default=now_us)


def heard_of(record: MemoryRecord) -> tuple[tuple[str, int], ...]:
    """What a memory that was kept elsewhere came from: its own key and those of its sources, each with the time at
    which it was heard."""
    own = (record.memory_id, *record.derived_from)
    taught = ((source, taught.taught_us) for taught in record.taught_by for source in taught.sources)
    return (*((name, record.created_us) for name in keys(SourceKind.MEMORY, own)), *taught)


def subjects_of(record: MemoryRecord) -> tuple[str, ...]:
    """The ids of the subjects that a memory's record names, in order."""
    return sources_of_kind(record, SourceKind.SUBJECT)


def quarantine_word(memory: MemoryRecord) -> str:
    """Why a memory is in quarantine, in a word; empty for none. What quotes a user steers nobody, and is stored as if
    it did: earlier versions know no other value that only a person releases."""
    if memory.quarantine is Quarantine.STEERING and (memory.reason == QUOTES or quotes_user(memory.content)):
        return "correction"
    return memory.quarantine.value if memory.quarantine else ""


def sources_of_kind(record: MemoryRecord, kind: SourceKind) -> tuple[str, ...]:
    """The ids of the sources of a kind that a memory's record names, in order."""
    its = key(kind, "")
    return tuple(sorted(one.removeprefix(its) for one in sources_of(record) if one.startswith(its)))


def anew_id(scope: Scope, memory_id: str) -> str:
    """The id of a memory that is made anew (`without`): always the same, so that an import finds it."""
    return derived_id(scope, "memory made anew", memory_id)


def without(
    known: MemoryRecord, is_erased: Callable[[str, int], bool], memory_id: str, now_us: int
) -> MemoryRecord | None:
    """A memory of which a source is erased, made anew from what the others taught; None if nothing is left of it.

    That is the case if a teaching without an erased source has the same words as its text. Everything that may come
    from the erased source goes: the task, the metadata, tags, conditions and citations, and the id, by which what came
    of the memory is removed. The failure's signature stays if one of the others is about it. A dreamt memory has more
    sources than its text, so nothing is left of it. `is_erased`: whether a source that taught at a time is erased;
    `memory_id`: the new id.
    """
    if known.derived_from:
        return None
    left = tuple(
        taught
        for taught in known.taught_by
        if taught.text_key == known.text_key and not any(is_erased(one, taught.taught_us) for one in taught.sources)
    )
    if not left:
        return None
    return MemoryRecord(
        memory_id=memory_id,
        kind=known.kind,
        content=known.content,
        importance=known.importance,
        created_us=known.created_us,
        updated_us=now_us,
        text_key=known.text_key,
        origin=known.origin,
        confidence=known.confidence,
        tags=tuple(tag for tag in known.tags if tag == STRATEGY_TAG),
        error_category=known.error_category,
        state=known.state,
        quarantine=known.quarantine,
        strength=len(left),
        strengthened_us=known.strengthened_us,
        episodes=tuple(dict.fromkeys(taught.episode for taught in left if taught.episode)),
        reason="made anew without an erased source",
        error_signature=next((taught.error_signature for taught in left if taught.error_signature), ""),
        taught_by=left,
    )


_REVISABLE = (
    *("content", "text_key", "importance", "confidence", "tags", "error_category", "applies_when", "metadata"),
    *("related_ids", "state"),
)
