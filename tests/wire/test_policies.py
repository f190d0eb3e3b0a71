"""GetPolicy and SetPolicy over a socket: what is set is answered and holds, and whom it is refused to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import grpc
import pytest

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from tests.wire.access import bearer, entry, write_access
from tests.wire.calls import LIMIT_REACHED, REUSED, TIMEOUT_S, WRONG_STATE, Refusal, bad_field, refused
from tests.wire.sidecar import SidecarThread, sidecar

NOT_PERMITTED = Refusal(grpc.StatusCode.PERMISSION_DENIED, "SCOPE_NOT_PERMITTED")
TENANT = pb.POLICY_LEVEL_TENANT
WHOLE = pb.Policy(
    retention=pb.RetentionPolicy(spend_days=0, trace_days=36_500, memory_importance=0.25, memory_count=7),
    caps=[pb.PolicyCap(tokens_per_day=0, usd_per_day=1.5), pb.PolicyCap(purpose="dreaming", usd_per_day=0)],
    advice=pb.AdvicePolicy(off=[pb.ADVICE_KIND_RECOVERIES], silenced_ids=["m1"]),
)


@contextmanager
def sidecars(server: SidecarThread) -> Iterator[SidecarServiceStub]:
    with grpc.insecure_channel(server.address) as channel:
        yield SidecarServiceStub(channel)


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarServiceStub]:
    with (
        sidecar(tmp_path_factory.mktemp("policies"), settings={"retention__trace_days": "33"}) as server,
        sidecars(server) as made,
    ):
        yield made


def put(stub: SidecarServiceStub, policy: pb.Policy, metadata: Any = None, **fields: Any) -> pb.StoredPolicy:
    request = pb.SetPolicyRequest(policy=policy, **fields)
    return stub.SetPolicy(request, timeout=TIMEOUT_S, metadata=metadata).stored


def get(stub: SidecarServiceStub, metadata: Any = None, **fields: Any) -> pb.GetPolicyResponse:
    return stub.GetPolicy(pb.GetPolicyRequest(**fields), timeout=TIMEOUT_S, metadata=metadata)


def days(trace_days: int) -> pb.Policy:
    return pb.Policy(retention=pb.RetentionPolicy(trace_days=trace_days))


def test_what_is_set_is_answered(stub: SidecarServiceStub) -> None:
    assert not get(stub, project_id="a").HasField("project")
    made = put(stub, WHOLE, project_id="a")
    assert (made.policy, made.version, made.set_by) == (WHOLE, made.set_time.ToMicroseconds(), "")
    found = get(stub, project_id="a")
    assert (found.tenant_id, found.project_id, found.project) == ("default", "a", made)
    assert not found.HasField("tenant")
    assert not get(stub, project_id="b").HasField("project")
    assert not get(stub, tenant_id="other", project_id="a").HasField("project")


def test_what_is_in_force(stub: SidecarServiceStub) -> None:
    """Value by value: the project's, else the tenant's, else this sidecar's own setting for its embedded store; of
    memories that only where no policy sets a value."""
    scope = {"tenant_id": "force", "project_id": "a"}
    assert get(stub, **scope).in_force.retention.trace_days == 33
    of_tenant = pb.Policy(retention=pb.RetentionPolicy(trace_days=5, spend_days=6, memory_importance=0.75))
    put(stub, of_tenant, level=TENANT, **scope)
    put(stub, pb.Policy(retention=pb.RetentionPolicy(trace_days=0), advice=WHOLE.advice), **scope)
    put(stub, pb.Policy(advice=pb.AdvicePolicy(off=[pb.ADVICE_KIND_LESSONS])), level=TENANT, tenant_id="else")
    found = get(stub, **scope)
    expected = pb.RetentionPolicy(
        spend_days=6, critique_days=365, memory_days=0, memory_importance=0.75, memory_count=0, trace_days=0
    )
    assert (found.in_force.retention, found.in_force.advice) == (expected, WHOLE.advice)
    assert found.tenant.policy == of_tenant
    sibling = get(stub, tenant_id="force", project_id="b").in_force
    assert (sibling.retention.trace_days, list(sibling.advice.off)) == (5, [])


def test_a_policy_is_replaced_as_a_whole_and_removed_when_empty(stub: SidecarServiceStub) -> None:
    """Seen to fail where an `if_version` of 0 means any."""
    scope: dict[str, Any] = {"project_id": "replaced"}
    first = put(stub, WHOLE, if_version=0, **scope).version
    assert refused(stub.SetPolicy, pb.SetPolicyRequest(policy=days(2), if_version=0, **scope)) == WRONG_STATE
    second = put(stub, days(1), **scope)
    assert second.policy == days(1)
    assert refused(stub.SetPolicy, pb.SetPolicyRequest(policy=days(2), if_version=first, **scope)) == WRONG_STATE
    assert put(stub, days(2), if_version=second.version, **scope).version > second.version > first
    response = stub.SetPolicy(pb.SetPolicyRequest(policy=pb.Policy(), **scope), timeout=TIMEOUT_S)
    assert not response.HasField("stored")
    assert not get(stub, **scope).HasField("project")


def test_the_same_request_id(stub: SidecarServiceStub) -> None:
    scope: dict[str, Any] = {"project_id": "again", "request_id": "r"}
    assert put(stub, days(1), **scope) == put(stub, days(1), **scope)
    assert refused(stub.SetPolicy, pb.SetPolicyRequest(policy=days(2), **scope)) == REUSED


@pytest.mark.parametrize(
    ("policy", "fields"),
    [
        (None, ["policy"]),
        (pb.Policy(retention=pb.RetentionPolicy(trace_days=-1)), ["policy.retention.trace_days"]),
        (pb.Policy(retention=pb.RetentionPolicy(memory_days=36_501)), ["policy.retention.memory_days"]),
        (pb.Policy(retention=pb.RetentionPolicy(memory_importance=1.5)), ["policy.retention.memory_importance"]),
        (pb.Policy(caps=[pb.PolicyCap(usd_per_day=float("nan"))]), ["policy.caps[0].usd_per_day"]),
        (pb.Policy(caps=[pb.PolicyCap(usd_per_day=1), pb.PolicyCap(usd_per_day=2)]), ["policy.caps[1].purpose"]),
        (pb.Policy(caps=[pb.PolicyCap(purpose="fun", usd_per_day=1)]), ["policy.caps[0].purpose"]),
        (pb.Policy(caps=[pb.PolicyCap(purpose="dreaming")]), ["policy.caps[0]"]),
        (pb.Policy(advice=pb.AdvicePolicy(off=[pb.ADVICE_KIND_UNSPECIFIED])), ["policy.advice.off[0]"]),
        (pb.Policy(advice=pb.AdvicePolicy(off=[cast("Any", 99)])), ["policy.advice.off[0]"]),
        (pb.Policy(advice=pb.AdvicePolicy(silenced_ids=["a", ""])), ["policy.advice.silenced_ids[1]"]),
        (pb.Policy(advice=pb.AdvicePolicy(silenced_ids=["a\x00b"])), ["policy.advice.silenced_ids[0]"]),
        (pb.Policy(advice=pb.AdvicePolicy(silenced_ids=["x"] * 101)), ["policy.advice.silenced_ids"]),
    ],
)
def test_bad_input_names_the_field(policy: pb.Policy | None, fields: list[str], stub: SidecarServiceStub) -> None:
    assert refused(stub.SetPolicy, pb.SetPolicyRequest(policy=policy)) == bad_field(*fields)


def test_only_an_admins_token_may(tmp_path: Path) -> None:
    """Seen to fail when `Call.check_admin` looks at nothing."""
    agent, admin, of_project = "a1" * 32, "b2" * 32, "c3" * 32
    access = write_access(
        tmp_path / "access.json",
        [
            entry("acme", agent),
            entry("ops", admin, ("acme", "*"), admin=True),
            entry("shop", of_project, ("acme", "shop"), admin=True),
        ],
    )
    shop: dict[str, Any] = {"tenant_id": "acme", "project_id": "shop"}
    with sidecar(tmp_path, settings={"access_file": str(access)}) as server, sidecars(server) as stub:

        def refusal(token: str, call: Any, request: Any) -> Refusal:
            return refused(lambda asked: call(asked, timeout=TIMEOUT_S, metadata=bearer(token)), request)

        for call, request in (
            (stub.GetPolicy, pb.GetPolicyRequest(**shop)),
            (stub.SetPolicy, pb.SetPolicyRequest(policy=days(1), **shop)),
        ):
            assert refusal(agent, call, request) == NOT_PERMITTED
        for_all = pb.SetPolicyRequest(policy=days(1), level=TENANT, **shop)
        assert refusal(of_project, stub.SetPolicy, for_all) == NOT_PERMITTED
        elsewhere = pb.SetPolicyRequest(policy=days(1), tenant_id="globex", project_id="shop")
        assert refusal(admin, stub.SetPolicy, elsewhere) == NOT_PERMITTED

        made = put(stub, WHOLE, bearer(admin), level=TENANT, **shop)
        assert made.set_by == "ops"
        assert put(stub, days(2), bearer(of_project), **shop).set_by == "shop"
        # An admin of one project sees what holds there, and not what the tenant has set.
        found = get(stub, bearer(of_project), **shop)
        assert (found.HasField("tenant"), found.tenant_hidden) == (False, True)
        assert (found.in_force.retention.trace_days, found.in_force.retention.memory_count) == (2, 7)
        assert get(stub, bearer(admin), **shop).tenant == made
        assert not get(stub, bearer(admin), **shop).tenant_hidden


def test_a_sidecar_of_one_project_sets_nothing_for_its_tenant(tmp_path: Path) -> None:
    pinned = {"tenant_id": "acme", "project_id": "shop", "pin_scope": "true"}
    with sidecar(tmp_path, settings=pinned) as server, sidecars(server) as stub:
        assert put(stub, days(1)).policy == days(1)
        request = pb.SetPolicyRequest(policy=days(1), level=TENANT)
        assert refused(stub.SetPolicy, request) == NOT_PERMITTED


def test_how_many_projects_have_a_policy(tmp_path: Path) -> None:
    with sidecar(tmp_path, settings={"limits__project_policies": "1"}) as server, sidecars(server) as stub:
        put(stub, days(1), project_id="a")
        assert refused(stub.SetPolicy, pb.SetPolicyRequest(policy=days(1), project_id="b")) == LIMIT_REACHED
        put(stub, days(1), project_id="b", level=TENANT)


def test_server_info_tells_whose_caps_hold(stub: SidecarServiceStub) -> None:
    scope: Any = {"tenant_id": "caps", "project_id": "a"}
    put(stub, WHOLE, **scope)
    put(stub, pb.Policy(caps=[pb.PolicyCap(purpose="debate", tokens_per_day=9)]), level=TENANT, **scope)
    info = stub.GetServerInfo(pb.GetServerInfoRequest(**scope), timeout=TIMEOUT_S)
    told = [
        (pb.SpendCapOwner.Name(cap.owner), pb.SpendLevel.Name(cap.level), cap.purpose, cap.HasField("tokens_per_day"))
        for cap in info.spend_caps
    ]
    assert told == [
        ("SPEND_CAP_OWNER_SIDECAR", "SPEND_LEVEL_TOTAL", "", False),
        ("SPEND_CAP_OWNER_PROJECT", "SPEND_LEVEL_PROJECT", "", True),
        ("SPEND_CAP_OWNER_SIDECAR", "SPEND_LEVEL_PURPOSE", "dreaming", False),
        ("SPEND_CAP_OWNER_SIDECAR", "SPEND_LEVEL_PURPOSE", "learning", False),
        ("SPEND_CAP_OWNER_TENANT", "SPEND_LEVEL_TENANT", "debate", True),
        ("SPEND_CAP_OWNER_PROJECT", "SPEND_LEVEL_PROJECT", "dreaming", False),
    ]
    other = stub.GetServerInfo(pb.GetServerInfoRequest(tenant_id="else"), timeout=TIMEOUT_S)
    assert {cap.owner for cap in other.spend_caps} == {pb.SPEND_CAP_OWNER_SIDECAR}
