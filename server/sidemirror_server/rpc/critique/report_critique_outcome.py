"""ReportCritiqueOutcome: stores how a critiqued response ended, and the one that was revised after it."""

from sidemirror.v1 import critique_pb2 as pb
from sidemirror_server.critique.record import CritiqueOutcome
from sidemirror_server.critique.store import Critiques
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.wire.common import OUTCOME_NAMES
from sidemirror_server.vocabulary.errors import BadInput


async def report_critique_outcome(
    store: Critiques, request: pb.ReportCritiqueOutcomeRequest, call: Call
) -> pb.ReportCritiqueOutcomeResponse:
    outcome, revised = OUTCOME_NAMES[request.outcome], OUTCOME_NAMES[request.revised_outcome]
    if not outcome and not revised:
        raise BadInput([("outcome", "required, unless revised_outcome is set")])
    score = request.score if request.HasField("score") else None
    if score is not None and not outcome:
        raise BadInput([("score", "of the response that was judged, so only beside its outcome")])
    reported = CritiqueOutcome(outcome, score, call.clock.now_us(), revised)
    await store.report(call.scope, request.critique_id, reported)
    return pb.ReportCritiqueOutcomeResponse()
