"""EvaluateTrace: scores a trace by five criteria."""

from sidemirror.v1 import critique_pb2 as pb
from sidemirror_server.critique import evaluate
from sidemirror_server.models.scoped_model import ScopedModel
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.recorded_turns import RecordedTurns
from sidemirror_server.rpc.wire.common import STATUSES, usage_to_wire
from sidemirror_server.rpc.wire.events import event_of
from sidemirror_server.trace.event import Event
from sidemirror_server.trace.given_secrets import GivenSecrets
from sidemirror_server.vocabulary.errors import BadInput, NotFound
from sidemirror_server.vocabulary.text import enter


async def evaluate_trace(
    model: ScopedModel, turns: RecordedTurns, request: pb.EvaluateTraceRequest, call: Call
) -> pb.EvaluateTraceResponse:
    events = await _events(turns, request, call)
    checklist = [enter(item) for item in request.checklist]
    evaluation = await evaluate.evaluate(model, call.scope, events, checklist, call.model_time_s())
    return pb.EvaluateTraceResponse(evaluation=_evaluation_to_wire(evaluation))


async def _events(turns: RecordedTurns, request: pb.EvaluateTraceRequest, call: Call) -> tuple[Event, ...]:
    if bool(request.turn_id) == bool(request.events):
        raise BadInput([("turn_id", "either a turn_id or events, and not both")])
    if request.events:
        now_us, given = call.clock.now_us(), GivenSecrets()
        return tuple(event_of(wire, f"event-{place}", now_us, given) for place, wire in enumerate(request.events))
    events = await turns.events(call.scope, request.turn_id)
    if events is None:
        raise NotFound("turn", request.turn_id)
    return events


def _evaluation_to_wire(evaluation: evaluate.Evaluation) -> pb.TraceEvaluation:
    return pb.TraceEvaluation(
        status=STATUSES[evaluation.status],
        detail=evaluation.detail,
        criteria=[
            pb.TraceCriterion(name=one.name, score=one.score, reason=one.reason, computed=one.computed)
            for one in evaluation.criteria
        ],
        usage=usage_to_wire(evaluation.usage),
    )
