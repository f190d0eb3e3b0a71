"""Stores what an episode taught: a reflection and its strategy, judged, in one transaction."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from sidemirror_server.memory.lessons.keys import text_key
from sidemirror_server.memory.lessons.reflector import IMPORTANCE_DIGITS, Result
from sidemirror_server.memory.lessons.trust import steering, steering_of_own
from sidemirror_server.memory.record import (
    QUOTES,
    STRATEGY_TAG,
    Lesson,
    MemoryKind,
    MemoryRecord,
    MemoryState,
    Quarantine,
    Revision,
    Teaching,
)
from sidemirror_server.memory.store import Memories
from sidemirror_server.vocabulary.by_rule import quotes_user
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope, whose
from sidemirror_server.vocabulary.telling import says_only_outcome
from sidemirror_server.vocabulary.text import clip

_log = logging.getLogger(__name__)

# Seed reflection-engine-v2, "Dual Storage": strategies get +10 % importance; capped (decision 029).
STRATEGY_FACTOR = 1.1
REPEATS = "it repeats a lesson that the agent had been shown"
SAYS_NOTHING = "it says nothing but how the task ended"
# In code points: how much of its task a record keeps. Chosen here: enough for search.
_TASK_CHARS = 4_000
# The same of each task that taught it, for its record keeps sixteen of them. Chosen here: a sentence or two.
_TAUGHT_TASK_CHARS = 500


class Trust(msgspec.Struct, frozen=True):
    """How an operator wants untrusted lessons stored. `policy`: labelled or corroborated (decision 032)."""

    policy: str = "labelled"
    min_store_importance: float = 0.0


class Ids(msgspec.Struct, frozen=True):
    """The ids that a lesson gets if it is new. `lesson_id`: see `record.Lesson`."""

    reflection_id: str
    strategy_id: str
    lesson_id: str = ""


class Stored(msgspec.Struct, frozen=True):
    """The memories of a result, and the reflection as it is now. If it was not stored, the ids are empty and `reason`
    says why."""

    reflection_id: str = ""
    strategy_id: str = ""
    reason: str = ""
    reflection: MemoryRecord | None = None


class Keeper:
    """Stores results."""

    def __init__(
        self, store: Memories, clock: Clock, trust: Trust, learned: Callable[[Scope, str], None] | None = None
    ) -> None:
        """`learned` is called for each memory that is stored or strengthened."""
        self._store = store
        self._told = learned
        self._clock = clock
        self._trust = trust

    async def keep(
        self,
        scope: Scope,
        result: Result,
        ids: Ids,
        *,
        is_judged: bool = False,
        more: dict[str, Any] | None = None,
        heard_us: int | None = None,
        from_spans: bool = False,
        by: str = "",
    ) -> Stored:
        """Stores a result as new memories, or strengthens known memories that say the same.

        `is_judged`: `judged_by_episode` has just judged the result. `more`: the caller's metadata. `heard_us`: when the
        call with its sources began; None: now. `from_spans`: its episode is telemetry, so that it waits for another one
        or a person, whatever the operator's policy. `by`: the name of the token whose call brings it; empty where the
        sidecar learned it. What quotes a user waits for a person (decision 095). What was erased since is refused.
        Raises what the store raises.
        """
        if result.repeats:
            return Stored(reason=REPEATS)
        if says_only_outcome(result.reflection):
            return Stored(reason=SAYS_NOTHING)
        if result.importance < self._trust.min_store_importance:
            return Stored(reason=f"importance {result.importance:g} is less than min_store_importance")
        now_us = self._clock.now_us()
        tried = result.steering
        if not tried and not is_judged:
            tried = await asyncio.to_thread(steering_of_own, _texts(result))
        if not tried and quotes_user(result.reflection):
            tried = QUOTES
        trust = msgspec.structs.replace(self._trust, policy="corroborated") if from_spans else self._trust
        lesson = lesson_of(result, ids, trust, tried, more or {}, now_us, heard_us, by=by)
        learned = await self._store.learn(scope, lesson, now_us)
        strategy_id = learned.strategy.memory_id if learned.strategy else ""
        if self._told is not None:
            for memory_id in filter(None, (learned.reflection.memory_id, strategy_id)):
                self._told(scope, memory_id)
        told = {"reflection_id": learned.reflection.memory_id, "importance": learned.reflection.importance}
        state = {"state": learned.reflection.state.value, "strength": learned.reflection.strength}
        _log.info("reflection_stored", extra={**whose(scope), **told, **state})
        return Stored(learned.reflection.memory_id, strategy_id, reflection=learned.reflection)


async def judged_by_episode(result: Result, untrusted: Sequence[str], trusted: Sequence[str]) -> Result:
    """Fills in the result's `steering`. `untrusted`: what others said in its episode; `trusted`: what the agent
    said."""
    # The largest episodes take almost a second: a thread lets other calls go on.
    tried = await asyncio.to_thread(steering, _texts(result), untrusted, trusted)
    return msgspec.structs.replace(result, steering=tried)


def lesson_of(
    result: Result,
    ids: Ids,
    trust: Trust,
    tried: str,
    more: dict[str, Any],
    now_us: int,
    heard_us: int | None = None,
    by: str = "",
) -> Lesson:
    """The drafts of a result. `tried`: how its text tries to steer, or empty. If one draft is quarantined, both are,
    because they come from the same answer. `heard_us`: when its sources were heard; None: now. `by`: the name of the
    token whose call brings them, or empty."""
    taught_us = now_us if heard_us is None else heard_us
    state, quarantine = standing(result.origin, trust, tried)
    task = clip(result.task, _TASK_CHARS)
    known = {
        "outcome": result.outcome,
        "task_description": task,
        "event_count": result.event_count,
        "session_id": result.session_id,
    }
    reflection = MemoryRecord(
        memory_id=ids.reflection_id,
        kind=MemoryKind.REFLECTION,
        content=result.reflection,
        importance=result.importance,
        created_us=now_us,
        updated_us=now_us,
        text_key=text_key(result.reflection),
        origin=result.origin,
        confidence=result.confidence,
        tags=result.tags,
        error_category=result.error_category,
        task_text=task,
        source_event_ids=result.source_event_ids,
        related_ids=result.related_ids,
        metadata={**more, **{name: value for name, value in known.items() if value not in ("", 0)}},
        applies_when=result.applies_when,
        state=state,
        quarantine=quarantine,
        episodes=(result.episode,) if result.episode else (),
        reason=tried,
        changed_by=by,
        error_signature=result.error_signature,
        taught_by=_taught(result, result.reflection, taught_us),
    )
    if not result.strategy:
        return Lesson(reflection, None, ids.lesson_id)
    strategy = msgspec.structs.replace(
        reflection,
        memory_id=ids.strategy_id,
        kind=MemoryKind.STRATEGY,
        content=result.strategy,
        text_key=text_key(result.strategy),
        importance=min(1.0, round(result.importance * STRATEGY_FACTOR, IMPORTANCE_DIGITS)),
        tags=tuple(dict.fromkeys((*result.tags, STRATEGY_TAG))),
        strategy_of=ids.reflection_id,
        taught_by=_taught(result, result.strategy, taught_us),
    )
    return Lesson(reflection, strategy, ids.lesson_id)


def _taught(result: Result, text: str, taught_us: int) -> tuple[Teaching, ...]:
    if not result.sources:
        return ()
    task = clip(result.task, _TAUGHT_TASK_CHARS)
    return (Teaching(result.sources, text_key(text), taught_us, result.episode, result.error_signature, task),)


def judged(revision: Revision, known: MemoryRecord) -> Revision:
    """A revision with its text judged like a new one: text that steers is quarantined. A client's text is trusted like
    the agent's own."""
    texts = [text for text in (revision.content, *(revision.tags or ())) if text]
    if revision.applies_when is not None:
        texts += [*revision.applies_when.tools, revision.applies_when.not_when]
    revision = msgspec.structs.replace(revision, origin=Origin.AGENT)
    if revision.content is not None:
        revision = msgspec.structs.replace(revision, text_key=text_key(revision.content))
    tried = steering_of_own(texts)
    if not tried or known.state is MemoryState.RETIRED:
        return revision
    return msgspec.structs.replace(
        revision, state=MemoryState.QUARANTINED, quarantine=Quarantine.STEERING, reason=revision.reason or tried
    )


def _texts(result: Result) -> list[str]:
    applies = result.applies_when
    texts = (result.reflection, result.strategy, " ".join(result.tags), " ".join(applies.tools), applies.not_when)
    return [text for text in texts if text]


def standing(origin: Origin, trust: Trust, tried: str) -> tuple[MemoryState, Quarantine | None]:
    """The state of a new memory, and why it is quarantined. `tried`: how its text tries to steer, or empty."""
    if tried:
        return MemoryState.QUARANTINED, Quarantine.STEERING
    if trust.policy == "corroborated" and origin <= Origin.TOOL:
        return MemoryState.QUARANTINED, Quarantine.UNCORROBORATED
    return MemoryState.ACTIVE, None
