"""SetPolicy: replaces the policy of a project or of its tenant."""

import logging

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.policy.record import PolicyLevel
from sidemirror_server.policy.store import PolicyChange
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.sidecar.policies import (
    LEVELS,
    policy_from_wire,
    stored_to_wire,
)
from sidemirror_server.turns.advice_changes import AdviceChanges
from sidemirror_server.vocabulary.errors import StoreFull, StoreUnavailable
from sidemirror_server.vocabulary.scope import whose
from sidemirror_server.vocabulary.text import enter

_log = logging.getLogger(__name__)


async def set_policy(
    policies: PoliciesInForce, changes: AdviceChanges, request: pb.SetPolicyRequest, call: Call
) -> pb.SetPolicyResponse:
    level = LEVELS[request.level]
    set_by = call.caller_name
    if_version = request.if_version if request.HasField("if_version") else None
    change = PolicyChange(level, policy_from_wire(request.policy), set_by, if_version, policies.most)
    before = (await policies.stored(call.scope)).at(level).advice
    stored = await policies.set(call.scope, change, call.clock.now_us())
    try:
        version = 0 if stored is None else stored.version
        after = change.policy.advice
        await changes.policy_set(call.scope, level, set_by, before, after, version, enter(request.reason))
    except (StoreUnavailable, StoreFull) as error:
        # The policy holds, and has who set it; only its history lacks this change.
        _log.warning("change_not_noted", extra={**whose(call.scope), "reason": type(error).__name__})
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
