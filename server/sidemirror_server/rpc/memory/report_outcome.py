"""ReportOutcome: stores a task's outcome, which is evidence for the lessons of its receipt."""

import asyncio
from collections.abc import Iterable, Sequence

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.kin.signature import error_signature
from sidemirror_server.memory.lessons.episode import EventType, steps_of
from sidemirror_server.memory.record import TaskOutcome
from sidemirror_server.memory.trials.outcomes import Outcomes
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.recorded_turns import RecordedTurns
from sidemirror_server.rpc.memory.memories import CATEGORY_NAMES
from sidemirror_server.rpc.wire.common import OUTCOME_NAMES
from sidemirror_server.trace.event import Event
from sidemirror_server.trace.receipts import Receipt, Receipts
from sidemirror_server.vocabulary.errors import BadInput, NotFound
from sidemirror_server.vocabulary.text import enter


async def report_outcome(
    outcomes: Outcomes, receipts: Receipts, turns: RecordedTurns, request: pb.ReportOutcomeRequest, call: Call
) -> pb.ReportOutcomeResponse:
    outcome = OUTCOME_NAMES[request.outcome]
    if not outcome:
        raise BadInput([("outcome", "required")])
    receipt = await receipts.get(call.scope, request.receipt_id)
    if receipt is None:
        raise NotFound("receipt", request.receipt_id)
    score = request.score if request.HasField("score") else None
    category = CATEGORY_NAMES[request.error_category]
    reported = TaskOutcome(request.receipt_id, outcome, call.clock.now_us(), score, category)
    await outcomes.report(call.scope, receipt, reported, await _failures(turns, request, receipt, call))
    return pb.ReportOutcomeResponse()


async def _failures(
    turns: RecordedTurns, request: pb.ReportOutcomeRequest, receipt: Receipt, call: Call
) -> frozenset[str] | None:
    """The signatures of the task's errors: from the request, else from the recorded turn; None if neither has them."""
    if request.HasField("errors"):
        failed = tuple((enter(one.tool_name), enter(one.error_message)) for one in request.errors.failed_calls)
        return await asyncio.to_thread(_signatures, failed)
    found = await turns.events_since(call.scope, receipt.turn_id, receipt.receipt_id) if receipt.turn_id else None
    if found is None:
        return None
    return await asyncio.to_thread(_signatures_in, *found)


def _signatures(failed: Iterable[tuple[str, str]]) -> frozenset[str]:
    return frozenset(signature for tool, text in failed if (signature := error_signature(tool, text)))


def _signatures_in(events: Sequence[Event], before: frozenset[str]) -> frozenset[str]:
    """The signatures of a turn's errors, of which there may be thousands. `before`: ids of events that do not count,
    such as the failure that a lesson was told at."""
    errors = (
        step for step in steps_of(events) if step.event_type is EventType.ERROR_EVENT and step.event_id not in before
    )
    return _signatures((step.tool_name, step.content) for step in errors)
