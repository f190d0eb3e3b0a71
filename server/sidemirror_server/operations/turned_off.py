"""Which lessons a policy turns off. Used by `memory.py`."""

from typing import Any

import grpc

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.operations.advice_history import advice_changes
from sidemirror_server.operations.shown import plain, scope_option


class TurnedOff:
    """Asks once, by the changes on record: the policy itself is for admins."""

    def __init__(self, channel: grpc.Channel, scope: dict[str, Any]) -> None:
        """Raises grpc.RpcError."""
        changes = advice_changes(channel, scope)
        self._option = scope_option(scope)
        self._off, self._silenced = set[int](), set[str]()
        for level in (pb.POLICY_LEVEL_PROJECT, pb.POLICY_LEVEL_TENANT):
            last = next((one.after for one in changes if one.level == level), pb.AdvicePolicy())
            self._off |= set(last.off)
            self._silenced |= set(last.silenced_ids)

    def lesson(self, lesson_id: str) -> str:
        """How a policy turns a lesson off, and what turns it on again; empty if none does."""
        if {pb.ADVICE_KIND_ALL, pb.ADVICE_KIND_LESSONS} & self._off:
            return f"a policy turned all lessons off: `sidemirror advice on{self._option}`"
        if lesson_id in self._silenced:
            return (
                f"a policy turned it off, no agent is told it: `sidemirror advice on {plain(lesson_id)}{self._option}`"
            )
        return ""
