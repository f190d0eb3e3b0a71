"""GetPolicy: the policies of a scope, and what is in force."""

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.policy.record import DataPolicy
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.sidecar.policies import may_see_tenant, policy_to_wire, stored_to_wire


async def get_policy(policies: PoliciesInForce, request: pb.GetPolicyRequest, call: Call) -> pb.GetPolicyResponse:
    call.check_admin()
    found = await policies.stored(call.scope)
    retention = found.retention(policies.proposed)
    sees_tenant = may_see_tenant(call)
    return pb.GetPolicyResponse(
        tenant_id=call.scope.tenant_id,
        project_id=call.scope.project_id,
        project=stored_to_wire(found.project),
        tenant=stored_to_wire(found.tenant) if sees_tenant else None,
        in_force=policy_to_wire(DataPolicy(retention, {}, found.advice)),
        tenant_hidden=not sees_tenant,
    )
