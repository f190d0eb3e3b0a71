"""What projects cost, where there are many of them: within a message, within a time, and one caller after the other."""

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.models.ledger import Amount, ScopeCost
from sidemirror_server.policy.record import Cap, DataPolicy, PolicyLevel
from sidemirror_server.policy.store import PolicyChange
from sidemirror_server.rpc.sidecar import costs
from sidemirror_server.storage.sqlite.ledger import SqliteLedger
from sidemirror_server.storage.sqlite.policies import SqlitePolicies
from sidemirror_server.vocabulary.scope import Scope
from tests.faults.sidecars import Running, running

# The day after which each is asked.
FIRST = Timestamp(seconds=86_400 + 7)


async def told(served: Running, **more: Any) -> pb.GetServerInfoResponse:
    async with grpc.aio.insecure_channel(served.address) as channel:
        stub: Any = SidecarServiceStub(channel)
        answer: pb.GetServerInfoResponse = await stub.GetServerInfo(
            pb.GetServerInfoRequest(costs_from=FIRST, **more), timeout=20
        )
        return answer


def cost(scope: Scope) -> ScopeCost:
    return ScopeCost(scope, 1, Amount(1, 1), Amount(), 0, Amount())


async def test_what_does_not_fit_into_an_answer_is_said_to_be_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail with 5,000 of the longest ids: the answer was refused for its length."""

    async def long_ids(*_: Any) -> tuple[ScopeCost, ...]:
        return tuple(cost(Scope("\u4e2d" * 256, f"{number:04}" + "\u4e2d" * 252)) for number in range(4_000))

    async with running(tmp_path) as served:
        assert not (await told(served)).project_costs
        monkeypatch.setattr(SqliteLedger, "costs", long_ids)
        found = await told(served)
        assert 1_000 < len(found.project_costs) < 4_000
        assert found.more_project_costs
        # The beginning of the day, by which a client knows that its request was understood.
        assert found.costs_from.seconds == 86_400


async def test_a_last_day_before_the_first_is_refused(tmp_path: Path) -> None:
    """As ListTurns and ListReceipts refuse it. Seen to fail: a bill of nothing."""
    async with running(tmp_path) as served:
        assert (await told(served, costs_to=Timestamp(seconds=86_400))).HasField("costs_from")
        with pytest.raises(grpc.aio.AioRpcError, match="costs_to='not before the day of costs_from'") as refused:
            await told(served, costs_to=Timestamp(seconds=86_399))
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_what_takes_too_long_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the store is not said to be away. Seen to fail: it was (`spend_unknown`)."""
    monkeypatch.setattr(costs, "_COSTS_S", 0.1)

    async def hangs(*_: Any) -> tuple[ScopeCost, ...]:
        await asyncio.Event().wait()
        return ()

    async with running(tmp_path) as served:
        monkeypatch.setattr(SqliteLedger, "costs", hangs)
        with pytest.raises(grpc.aio.AioRpcError, match="could not be added up in time") as caught:
            await told(served)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_one_caller_at_a_time_and_no_policy_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail: all asked at once, and the policies of each project were read by themselves."""
    scopes = [Scope("acme", f"p{number}") for number in range(50)] + [Scope("globex", "p")]
    at_once: list[int] = [0]
    read: list[Scope] = []
    get = SqlitePolicies.get

    async def slowly(*_: Any) -> tuple[ScopeCost, ...]:
        at_once.append(at_once[-1] + 1)
        await asyncio.sleep(0.01)
        at_once.append(at_once[-1] - 1)
        return tuple(map(cost, scopes))

    async def reads(self: SqlitePolicies, scope: Scope) -> Any:
        read.append(scope)
        return await get(self, scope)

    async with running(tmp_path) as served:
        for level, tokens in ((PolicyLevel.TENANT, 70), (PolicyLevel.PROJECT, 7)):
            change = PolicyChange(level, DataPolicy(caps={"": Cap(tokens=tokens)}), "", None, 9)
            await served.sidecar._stores.policies.set(scopes[3], change, 1)
        monkeypatch.setattr(SqliteLedger, "costs", slowly)
        monkeypatch.setattr(SqlitePolicies, "get", reads)
        found = (await asyncio.gather(*(told(served) for _ in range(3))))[0].project_costs
    assert max(at_once) == 1
    assert {scope for scope in read if scope in scopes} == {scopes[0], scopes[3]}
    assert [one.tenant_tokens_per_day for one in found] == [70] * 50 + [0]
    assert [one.project_id for one in found if one.HasField("tokens_per_day")] == ["p3"]
