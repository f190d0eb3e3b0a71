"""Joins the outcomes of tasks to the lessons that were shown or held back, and acts on the evidence.

An outcome finds its lessons by the receipt of their block. A lesson that harms is retired: its next version has the
reason. A person may make it active again, and its evidence then starts anew. Called by `rpc/memory/report_outcome.py`;
the rules are in `evidence.py`.
"""

import logging
from collections.abc import Collection, Sequence

import msgspec

from sidemirror_server.memory.record import Change, MemoryKind, MemoryRecord, MemoryState, Revision, TaskOutcome
from sidemirror_server.memory.store import Memories
from sidemirror_server.memory.trials.evidence import LessonEvidence, LessonVerdict, evidence_of, explained, less
from sidemirror_server.memory.trials.trials import Settled, Trial, Trials
from sidemirror_server.trace.receipts import Receipt, Receipts
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import NotFound, WrongState
from sidemirror_server.vocabulary.scope import Scope, whose

_log = logging.getLogger(__name__)

# How many of a turn's receipts are read, from the first on, as in `finding/context.py`.
_MOST_RECEIPTS = 200
_SUCCESS = "success"
_KINDS = frozenset(kind.value for kind in MemoryKind)


class JudgedLesson(msgspec.Struct, frozen=True):
    """A lesson and its evidence. `earlier`: that of the versions before `evidence_from`, which counts no more."""

    memory: MemoryRecord
    evidence: LessonEvidence
    earlier: LessonEvidence = LessonEvidence()


class Outcomes:
    """Joins outcomes to lessons."""

    def __init__(self, store: Memories, trials: Trials, receipts: Receipts, clock: Clock) -> None:
        self._store = store
        self._trials = trials
        self._receipts = receipts
        self._clock = clock

    async def report(
        self, scope: Scope, receipt: Receipt, outcome: TaskOutcome, failures: Collection[str] | None
    ) -> None:
        """Stores the outcome of the receipt's task, in place of an earlier one, and retires lessons that harm.
        `failures`: signatures (`kin/signature.py`) of the errors that came up; None if unknown. A repeated call
        completes an interrupted one. Raises what the store raises."""
        await self._store.report(scope, outcome)
        trials = await self._trials_of(scope, receipt)
        if not trials:
            return
        lessons = await self._lessons(scope, [trial.memory_id for trial in trials])
        succeeded = outcome.outcome == _SUCCESS
        settled = [Settled(trial, succeeded, returned(lessons.get(trial.memory_id), failures)) for trial in trials]
        await self._trials.settle(scope, receipt.receipt_id, settled, receipt.time_us)
        compared = [lessons[trial.memory_id] for trial in trials if trial.fraction and trial.memory_id in lessons]
        for judged in await self._judged(scope, compared):
            if judged.evidence.verdict is LessonVerdict.HARMS and judged.memory.state is MemoryState.ACTIVE:
                await self._retire(scope, judged)

    async def of(self, scope: Scope, memory_ids: Sequence[str]) -> tuple[JudgedLesson, ...]:
        """The evidence about these lessons, in their order. Raises NotFound for one that the scope does not have."""
        found = await self._lessons(scope, memory_ids)
        for memory_id in memory_ids:
            if memory_id not in found:
                raise NotFound("reflection", memory_id)
        return await self._with_earlier(scope, [found[memory_id] for memory_id in memory_ids])

    async def page(self, scope: Scope, before: str | None, limit: int) -> tuple[tuple[JudgedLesson, ...], str | None]:
        """The evidence about at most `limit` lessons with trials, by descending id, starting below `before`; and the
        next page's `before`, None at the end. Deleted lessons are left out."""
        ids = await self._trials.lessons(scope, before, limit + 1)
        found = await self._lessons(scope, ids[:limit])
        judged = await self._with_earlier(scope, list(found.values()))
        return judged, ids[limit - 1] if len(ids) > limit else None

    async def _trials_of(self, scope: Scope, receipt: Receipt) -> tuple[Trial, ...]:
        """The receipt's trials, including those of lessons that it showed without a draw. A turn is one task: what
        another block of it was counted for is not counted again."""
        drawn = await self._trials.of_receipt(scope, receipt.receipt_id)
        known = {*(trial.memory_id for trial in drawn), *await self._counted_elsewhere(scope, receipt)}
        shown = {item.id: Trial(item.id, item.version) for item in receipt.items if item.kind in _KINDS}
        return (*drawn, *(trial for memory_id, trial in shown.items() if memory_id not in known))

    async def _counted_elsewhere(self, scope: Scope, receipt: Receipt) -> set[str]:
        """The lessons with a trial of another receipt of the same turn."""
        if not receipt.turn_id:
            return set()
        of_turn = await self._receipts.of_turn(scope, receipt.turn_id, _MOST_RECEIPTS)
        others = [one.receipt_id for one in of_turn if one.receipt_id != receipt.receipt_id]
        results = await self._trials.results(scope, others) if others else {}
        return {result.trial.memory_id for some in results.values() for result in some}

    async def _lessons(self, scope: Scope, memory_ids: Sequence[str]) -> dict[str, MemoryRecord]:
        found = await self._store.get(scope, tuple(dict.fromkeys(memory_ids)))
        return {memory.memory_id: memory for memory in found}

    async def _judged(self, scope: Scope, lessons: Sequence[MemoryRecord]) -> tuple[JudgedLesson, ...]:
        wanted = [(memory.memory_id, memory.evidence_from) for memory in lessons]
        tallies = await self._trials.tallies(scope, wanted) if wanted else {}
        return tuple(JudgedLesson(memory, evidence_of(tallies.get(memory.memory_id, ()))) for memory in lessons)

    async def _with_earlier(self, scope: Scope, lessons: Sequence[MemoryRecord]) -> tuple[JudgedLesson, ...]:
        """As `_judged`, with what counts no more."""
        judged = await self._judged(scope, lessons)
        anew = [(memory.memory_id, 1) for memory in lessons if memory.evidence_from > 1]
        every = await self._trials.tallies(scope, anew) if anew else {}
        return tuple(
            msgspec.structs.replace(one, earlier=less(evidence_of(every[one.memory.memory_id]), one.evidence))
            if one.memory.memory_id in every
            else one
            for one in judged
        )

    async def _retire(self, scope: Scope, judged: JudgedLesson) -> None:
        memory, why = judged.memory, explained(judged.evidence)
        # All sidecars use this id, so that only one revision is made. The version check protects a concurrent change.
        once = f"judged from version {memory.evidence_from}"
        revision = Revision(Change.JUDGED, why, state=MemoryState.RETIRED, revision_id=once)
        try:
            await self._store.revise(scope, memory.memory_id, revision, self._clock.now_us(), memory.version)
        except (NotFound, WrongState):
            return
        told = {**whose(scope), "memory_id": memory.memory_id}
        _log.info("lesson_retired", extra={**told, "lift": judged.evidence.lift})


def returned(memory: MemoryRecord | None, failures: Collection[str] | None) -> bool | None:
    """Whether the lesson's error came up again; None if unknown, or if the lesson is not about an error."""
    if memory is None or failures is None or not memory.error_signature:
        return None
    return memory.error_signature in failures
