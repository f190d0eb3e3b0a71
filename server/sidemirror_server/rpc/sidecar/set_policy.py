"""SetPolicy: replaces the policy of a project or of its tenant."""

import logging

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.policy.record import PolicyLevel
from sidemirror_server.policy.store import PolicyChange
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.sidecar.policies import (
    LEVELS,
    check_admin,
    may_see_tenant,
    policy_from_wire,
    stored_to_wire,
)
from sidemirror_server.vocabulary.errors import NotPermitted
from sidemirror_server.vocabulary.scope import Served

_log = logging.getLogger(__name__)


def check_may_set(policies: PoliciesInForce, request: pb.SetPolicyRequest, call: Call) -> None:
    """Raises NotPermitted when the call's token, or this sidecar, may not set such a policy."""
    check_admin(call)
    if LEVELS[request.level] is PolicyLevel.TENANT:
        if not may_see_tenant(call):
            raise NotPermitted(reason="the token is not good for all projects of this tenant")
        if not policies.serves.covers(Served(call.scope.tenant_id)):
            raise NotPermitted(reason="this sidecar does not serve all projects of this tenant")


async def set_policy(policies: PoliciesInForce, request: pb.SetPolicyRequest, call: Call) -> pb.SetPolicyResponse:
    level = LEVELS[request.level]
    set_by = "" if call.caller is None else call.caller.name
    change = PolicyChange(level, policy_from_wire(request.policy), set_by, request.if_version, policies.most)
    stored = await policies.set(call.scope, change, call.clock.now_us())
    _log.info(
        "policy_set",
        extra={
            "tenant_id": call.scope.tenant_id,
            "project_id": call.scope.project_id if level is PolicyLevel.PROJECT else "*",
            "version": 0 if stored is None else stored.version,
            "token": set_by,
        },
    )
    return pb.SetPolicyResponse(stored=stored_to_wire(stored))
