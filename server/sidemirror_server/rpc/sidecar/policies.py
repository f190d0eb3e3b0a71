"""Policies of the contract, and who may set them. Used by `get_policy.py` and `set_policy.py`."""

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.models.ledger import NANO
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.policy.record import (
    Advice,
    AdviceKind,
    Cap,
    DataPolicy,
    PolicyLevel,
    RetentionPeriods,
    StoredPolicy,
)
from sidemirror_server.rpc.boundary.access import ANY
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.wire.common import numbers_of, timestamp
from sidemirror_server.turns.advice_changes import AdviceChange
from sidemirror_server.vocabulary.errors import BadInput, NotPermitted
from sidemirror_server.vocabulary.scope import Scope, Served

LEVELS = {
    pb.POLICY_LEVEL_UNSPECIFIED: PolicyLevel.PROJECT,
    **{number: level for level, number in numbers_of(PolicyLevel, pb.PolicyLevel).items()},
}
_LEVEL_NUMBERS = {level.value: number for level, number in numbers_of(PolicyLevel, pb.PolicyLevel).items()}
_KINDS = numbers_of(AdviceKind, pb.AdviceKind)
_KIND_OF = {number: kind for kind, number in _KINDS.items()}
_PURPOSES = tuple(purpose.value for purpose in Purpose)
_RETENTION = tuple(RetentionPeriods.__struct_fields__)


def may_see_tenant(call: Call) -> bool:
    """Whether the call may see what belongs to all of its tenant's projects."""
    return call.caller is None or call.caller.covers(Scope(call.scope.tenant_id, ANY))


def check_may_set(policies: PoliciesInForce, request: pb.SetPolicyRequest, call: Call) -> None:
    """Raises NotPermitted when the call's token, or this sidecar, may not set such a policy."""
    call.check_admin()
    if LEVELS[request.level] is PolicyLevel.TENANT:
        if not may_see_tenant(call):
            raise NotPermitted(reason="the token is not good for all projects of this tenant")
        if not policies.serves.covers(Served(call.scope.tenant_id)):
            raise NotPermitted(reason="this sidecar does not serve all projects of this tenant")


def policy_from_wire(wire: pb.Policy) -> DataPolicy:
    """A policy of a request. Raises BadInput."""
    wrong: list[tuple[str, str]] = []
    caps: dict[str, Cap] = {}
    for index, cap in enumerate(wire.caps):
        field = f"policy.caps[{index}]"
        if cap.purpose and cap.purpose not in _PURPOSES:
            wrong.append((f"{field}.purpose", f"empty, or one of {', '.join(_PURPOSES)}"))
        elif cap.purpose in caps:
            wrong.append((f"{field}.purpose", "another cap has this purpose"))
        elif not (cap.HasField("tokens_per_day") or cap.HasField("usd_per_day")):
            wrong.append((field, "tokens_per_day or usd_per_day is required"))
        else:
            caps[cap.purpose] = Cap(
                cap.tokens_per_day if cap.HasField("tokens_per_day") else None,
                round(cap.usd_per_day * NANO) if cap.HasField("usd_per_day") else None,
            )
    for index, kind in enumerate(wire.advice.off):
        if kind not in _KIND_OF:
            wrong.append((f"policy.advice.off[{index}]", "the kind is required"))
    for index, lesson_id in enumerate(wire.advice.silenced_ids):
        if not lesson_id or not lesson_id.isprintable():
            wrong.append((f"policy.advice.silenced_ids[{index}]", "1 to 128 printable characters"))
    if wrong:
        raise BadInput(wrong)
    kept = wire.retention
    return DataPolicy(
        RetentionPeriods(**{name: getattr(kept, name) for name in _RETENTION if kept.HasField(name)}),
        caps,
        Advice(
            tuple(kind for kind in AdviceKind if _KINDS[kind] in wire.advice.off),
            tuple(dict.fromkeys(wire.advice.silenced_ids)),
        ),
    )


def policy_to_wire(policy: DataPolicy) -> pb.Policy:
    """A policy. Values that are not set are absent."""
    kept = {name: value for name in _RETENTION if (value := getattr(policy.retention, name)) is not None}
    return pb.Policy(
        retention=pb.RetentionPolicy(**kept) if kept else None,
        caps=[
            pb.PolicyCap(
                purpose=purpose,
                tokens_per_day=cap.tokens,
                usd_per_day=None if cap.nano_usd is None else cap.nano_usd / NANO,
            )
            for purpose, cap in sorted(policy.caps.items())
        ],
        advice=_advice_to_wire(policy.advice) if policy.advice != Advice() else None,
    )


def change_to_wire(change: AdviceChange) -> pb.AdviceChange:
    """A change of what agents are told."""
    wire = pb.AdviceChange(
        time=timestamp(change.at_us), changed_by=change.changed_by, mode=change.mode, reason=change.reason
    )
    if change.level:
        # Another level is one of a later version.
        wire.level = _LEVEL_NUMBERS.get(change.level, pb.POLICY_LEVEL_UNSPECIFIED)
        wire.before.CopyFrom(_advice_to_wire(change.before))
        wire.after.CopyFrom(_advice_to_wire(change.after))
    return wire


def is_shown(change: AdviceChange, call: Call) -> bool:
    """Whether the call may see the change: that of a tenant's policy is for those who may see that policy."""
    return change.level != PolicyLevel.TENANT or may_see_tenant(call)


def _advice_to_wire(advice: Advice) -> pb.AdvicePolicy:
    return pb.AdvicePolicy(off=[_KINDS[kind] for kind in advice.off], silenced_ids=advice.silenced)


def stored_to_wire(stored: StoredPolicy | None) -> pb.StoredPolicy | None:
    """A stored policy; None if there is none."""
    if stored is None:
        return None
    return pb.StoredPolicy(
        policy=policy_to_wire(stored.policy),
        version=stored.version,
        set_by=stored.set_by,
        set_time=timestamp(stored.set_us),
    )
