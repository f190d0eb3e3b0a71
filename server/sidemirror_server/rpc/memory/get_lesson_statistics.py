"""The calls of ReflectiveMemoryService about what became of tasks, and whether lessons helped."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.episode import EventType, steps_of
from sidemirror_server.memory.evidence import Counts, Interval, Verdict, explained
from sidemirror_server.memory.outcomes import JudgedLesson, Outcomes
from sidemirror_server.memory.record import TaskOutcome
from sidemirror_server.memory.signature import error_signature
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, size_of, token_for
from sidemirror_server.rpc.boundary.recorded_turns import TurnMaterial
from sidemirror_server.rpc.memory.memories import CATEGORY_NAMES, STATES
from sidemirror_server.rpc.wire.common import OUTCOME_NAMES
from sidemirror_server.trace.event import Event
from sidemirror_server.trace.receipts import Receipt, Receipts
from sidemirror_server.vocabulary.errors import BadInput, NotFound
from sidemirror_server.vocabulary.text import enter

VERDICTS: dict[Verdict, Any] = {one: pb.LessonVerdict.Value(f"LESSON_VERDICT_{one.name}") for one in Verdict}


class LessonKey(msgspec.Struct, frozen=True):
    """A place in the order of lessons: by id downwards."""

    memory_id: str


class LessonCalls:
    """Joins outcomes to lessons, and tells what they say."""

    def __init__(self, outcomes: Outcomes, receipts: Receipts, turns: TurnMaterial) -> None:
        self._outcomes = outcomes
        self._receipts = receipts
        self._turns = turns

    async def ReportOutcome(self, request: pb.ReportOutcomeRequest, call: Call) -> pb.ReportOutcomeResponse:
        outcome = OUTCOME_NAMES[request.outcome]
        if not outcome:
            raise BadInput([("outcome", "required")])
        receipt = await self._receipts.get(call.scope, request.receipt_id)
        if receipt is None:
            raise NotFound("receipt", request.receipt_id)
        score = request.score if request.HasField("score") else None
        category = CATEGORY_NAMES[request.error_category]
        reported = TaskOutcome(request.receipt_id, outcome, call.clock.now_us(), score, category)
        await self._outcomes.report(call.scope, receipt, reported, await self._failures(request, receipt, call))
        return pb.ReportOutcomeResponse()

    async def _failures(self, request: pb.ReportOutcomeRequest, receipt: Receipt, call: Call) -> frozenset[str] | None:
        """Signatures of the errors that came up: as they are reported, else as the turn has them; None when neither
        says."""
        if request.HasField("errors"):
            failed = tuple((enter(one.tool_name), enter(one.error_message)) for one in request.errors.failed_calls)
            return await asyncio.to_thread(_signatures, failed)
        events = await self._turns.events(call.scope, receipt.turn_id) if receipt.turn_id else None
        if events is None:
            return None
        return await asyncio.to_thread(_signatures_in, events)

    async def GetLessonStatistics(
        self, request: pb.GetLessonStatisticsRequest, call: Call
    ) -> pb.GetLessonStatisticsResponse:
        if request.reflection_ids:
            if request.page_token:
                raise BadInput([("page_token", "only without reflection_ids")])
            judged = await self._outcomes.of(call.scope, tuple(dict.fromkeys(request.reflection_ids)))
            return pb.GetLessonStatisticsResponse(lessons=map(statistics_to_wire, judged))
        query = (call.scope, "lessons")
        before = place_in(request.page_token, LessonKey, "page_token", *query)
        size = size_of(request.page_size, 50)
        judged, last = await self._outcomes.page(call.scope, before.memory_id if before else None, size)
        token = token_for(LessonKey(last), *query) if last is not None else ""
        return pb.GetLessonStatisticsResponse(lessons=map(statistics_to_wire, judged), next_page_token=token)


def statistics_to_wire(judged: JudgedLesson) -> pb.LessonStatistics:
    """A lesson with what is known of it."""
    memory, evidence = judged.memory, judged.evidence
    return pb.LessonStatistics(
        reflection_id=memory.memory_id,
        from_version=memory.evidence_from,
        state=STATES[memory.state],
        reason=memory.reason,
        shown=_arm(evidence.shown),
        held_back=_arm(evidence.held_back),
        outside=_arm(evidence.outside),
        lift=evidence.lift,
        interval=_interval(evidence.interval),
        interval_at_any_look=_interval(evidence.at_any_look),
        verdict=VERDICTS[evidence.verdict],
        detail=explained(evidence),
    )


def _signatures(failed: Iterable[tuple[str, str]]) -> frozenset[str]:
    return frozenset(signature for tool, text in failed if (signature := error_signature(tool, text)))


def _signatures_in(events: Sequence[Event]) -> frozenset[str]:
    """Of the errors of a turn, which may be thousands."""
    errors = (step for step in steps_of(events) if step.event_type is EventType.ERROR_EVENT)
    return _signatures((step.tool_name, step.content) for step in errors)


def _arm(counts: Counts) -> pb.LessonArm:
    return pb.LessonArm(
        assigned_count=counts.assigned,
        success_count=counts.succeeded,
        failure_count=counts.failed,
        missing_count=counts.missing,
        returned_count=counts.returned,
        stayed_away_count=counts.stayed_away,
    )


def _interval(interval: Interval | None) -> pb.LiftInterval | None:
    return None if interval is None else pb.LiftInterval(low=interval.low, high=interval.high)
