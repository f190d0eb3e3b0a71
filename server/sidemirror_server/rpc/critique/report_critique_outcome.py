"""ReportCritiqueOutcome: stores how a critiqued response ended."""

from sidemirror.v1 import critique_pb2 as pb
from sidemirror_server.critique.record import CritiqueOutcome
from sidemirror_server.critique.store import Critiques
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.wire.common import OUTCOME_NAMES
from sidemirror_server.vocabulary.errors import BadInput


async def report_critique_outcome(
    store: Critiques, request: pb.ReportCritiqueOutcomeRequest, call: Call
) -> pb.ReportCritiqueOutcomeResponse:
    outcome = OUTCOME_NAMES[request.outcome]
    if not outcome:
        raise BadInput([("outcome", "required")])
    score = request.score if request.HasField("score") else None
    await store.report(call.scope, request.critique_id, CritiqueOutcome(outcome, score, call.clock.now_us()))
    return pb.ReportCritiqueOutcomeResponse()
