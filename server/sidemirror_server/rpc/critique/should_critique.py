"""ShouldCritique: whether a response is worth a verdict, by the gate's rules."""

from sidemirror.v1 import critique_pb2 as pb
from sidemirror_server.critique import gate
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.wire.common import has_failed
from sidemirror_server.rpc.wire.critiques import CRITIQUE_REASONS


async def should_critique(request: pb.ShouldCritiqueRequest, call: Call) -> pb.ShouldCritiqueResponse:
    length = len(request.response) if request.response else request.response_length
    decision = gate.should_critique((has_failed(result) for result in request.tool_results), length)
    return pb.ShouldCritiqueResponse(
        should_critique=decision.should_critique, reasons=[CRITIQUE_REASONS[reason] for reason in decision.reasons]
    )
