"""Which lessons a policy turns off. Used by `memory.py`."""

from typing import Any

import grpc

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.operations.shown import plain

_TIMEOUT_S = 30.0


class TurnedOff:
    """Asks for what is in force, once."""

    def __init__(self, channel: grpc.Channel, scope: dict[str, Any]) -> None:
        """Raises grpc.RpcError."""
        request = pb.GetPolicyRequest(**scope)
        self._advice = SidecarServiceStub(channel).GetPolicy(request, timeout=_TIMEOUT_S).in_force.advice

    def lesson(self, lesson_id: str) -> str:
        """How a policy turns a lesson off, and what turns it on again; empty if none does."""
        if {pb.ADVICE_KIND_ALL, pb.ADVICE_KIND_LESSONS} & set(self._advice.off):
            return "a policy turned all lessons off: `sidemirror advice on`"
        if lesson_id in self._advice.silenced_ids:
            return f"a policy turned it off, no agent is told it: `sidemirror advice on {plain(lesson_id)}`"
        return ""
