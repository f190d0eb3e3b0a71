"""Which lessons a policy turns off. Used by `memory.py`."""

from shlex import quote
from typing import Any

import grpc

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.operations.advice_history import advice_changes
from sidemirror_server.operations.shown import plain


class TurnedOff:
    """Asks once, by the changes on record: the policy itself is for admins."""

    def __init__(self, channel: grpc.Channel, scope: dict[str, Any]) -> None:
        """Raises grpc.RpcError."""
        changes = advice_changes(channel, scope)
        self._named = _named(scope)
        self._off, self._silenced = set[int](), set[str]()
        for level in (pb.POLICY_LEVEL_PROJECT, pb.POLICY_LEVEL_TENANT):
            last = next((one.after for one in changes if one.level == level), pb.AdvicePolicy())
            self._off |= set(last.off)
            self._silenced |= set(last.silenced_ids)

    def lesson(self, lesson_id: str) -> str:
        """How a policy turns a lesson off, and what turns it on again; empty if none does."""
        if {pb.ADVICE_KIND_ALL, pb.ADVICE_KIND_LESSONS} & self._off:
            return f"a policy turned all lessons off: `sidemirror advice on{self._named}`"
        if lesson_id in self._silenced:
            return f"a policy turned it off, no agent is told it: `sidemirror advice on {plain(lesson_id)}{self._named}`"
        return ""


def _named(scope: dict[str, Any]) -> str:
    """The option that names the scope in another command; empty where the command itself named none."""
    tenant, project = scope["tenant_id"], scope["project_id"]
    if tenant and project:
        return f" --scope {quote(plain(f'{tenant}/{project}'))}"
    # A folder's project is one of the sidecar's own tenant, which is not known here.
    parts = (("tenant-id", tenant), ("project-id", project))
    return "".join(f" --{part} {quote(plain(one))}" for part, one in parts if one)
