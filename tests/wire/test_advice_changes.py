"""Who changed what agents are told, and when: of the mode, of policies, and of a lesson."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1 import thinking_pb2
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from tests.faults.sidecars import Running, Stub, channel, running
from tests.wire.access import ACME, EVERYWHERE, bearer, entry, write_access
from tests.wire.calls import TIMEOUT_S
from tests.wire.sidecar import SidecarThread, sidecar

LESSONS = pb.ADVICE_KIND_LESSONS
RESULT = memory_pb.ReflectionResult(reflection_text="The orders are in a table of each year.")


async def changes(served: Running, **scope: Any) -> list[pb.AdviceChange]:
    async with channel(served.address) as connection:
        stub: Stub = SidecarServiceStub(connection)
        request = pb.GetServerInfoRequest(with_advice_changes=True, **scope)
        found = list((await stub.GetServerInfo(request, timeout=60)).advice_changes)
        assert not (await stub.GetServerInfo(pb.GetServerInfoRequest(**scope), timeout=60)).advice_changes
    return found


async def begins(served: Running, **scope: Any) -> int:
    """Starts a turn; returns when that was."""
    await served.stub.StartTurn(thinking_pb2.StartTurnRequest(task="x", **scope), timeout=60)
    turns = await served.stub.ListTurns(thinking_pb2.ListTurnsRequest(page_size=1, **scope), timeout=60)
    began_us: int = turns.turns[0].start_time.ToMicroseconds()
    return began_us


async def modes(served: Running, count: int) -> list[pb.AdviceChange]:
    """The changes, once there are so many: they are noted beside the turn."""
    async with asyncio.timeout(60):
        while len(found := await changes(served)) < count:  # noqa: ASYNC110 - asked over the wire
            await asyncio.sleep(0.02)
    return found


async def test_the_modes_of_a_project_one_after_the_other(tmp_path: Path) -> None:
    async with running(tmp_path) as served:
        before_us = await begins(served)
        assert await changes(served) == [], "a project that was never in shadow has none"
    async with running(tmp_path, advice__mode="shadow") as served:
        shadow_us = await begins(served)
        (since,) = await modes(served, 1)
        assert (since.mode, since.changed_by, since.level) == ("shadow", "", pb.POLICY_LEVEL_UNSPECIFIED)
        assert before_us < since.time.ToMicroseconds() <= shadow_us
        await begins(served)
        assert await changes(served, tenant_id="other") == []
    async with running(tmp_path, advice__mode="shadow") as served:
        await begins(served)
    async with running(tmp_path) as served:
        # It ends with the start of another sidecar, and not with its first turn.
        until, again = await changes(served)
        assert (until.mode, again) == ("on", since)
        assert await changes(served, tenant_id="other") == []
        on_us = await begins(served)
        assert shadow_us < until.time.ToMicroseconds() <= on_us
        assert await modes(served, 2) == [until, since]


async def test_what_a_policy_turned_off_and_on(tmp_path: Path) -> None:
    async with running(tmp_path) as served, channel(served.address) as connection:
        stub: Stub = SidecarServiceStub(connection)

        async def put(**advice: Any) -> None:
            policy = pb.Policy(advice=pb.AdvicePolicy(**advice))
            await stub.SetPolicy(pb.SetPolicyRequest(policy=policy), timeout=60)

        await put(off=[LESSONS], silenced_ids=["m1"])
        await put(off=[LESSONS], silenced_ids=["m1"])
        caps = pb.Policy(advice=pb.AdvicePolicy(off=[LESSONS], silenced_ids=["m1"]), caps=[pb.PolicyCap(usd_per_day=1)])
        await stub.SetPolicy(pb.SetPolicyRequest(policy=caps), timeout=60)
        await put()
        on, off = await changes(served)
        assert (off.before, off.after) == (pb.AdvicePolicy(), pb.AdvicePolicy(off=[LESSONS], silenced_ids=["m1"]))
        assert (on.before, on.after) == (off.after, off.before)
        assert (on.level, on.mode) == (pb.POLICY_LEVEL_PROJECT, "")
        assert await changes(served, project_id="blog") == []


async def test_a_tenants_policy_is_on_record_in_all_of_its_projects(tmp_path: Path) -> None:
    """And in no other tenant's. Seen to fail when the project had it that the call named."""
    async with running(tmp_path) as served, channel(served.address) as connection:
        stub: Stub = SidecarServiceStub(connection)
        for level, project_id, silenced in (
            (pb.POLICY_LEVEL_PROJECT, "shop", "m1"),
            (pb.POLICY_LEVEL_TENANT, "shop", "m2"),
            (pb.POLICY_LEVEL_TENANT, "blog", "m3"),
        ):
            policy = pb.Policy(advice=pb.AdvicePolicy(silenced_ids=[silenced]))
            request = pb.SetPolicyRequest(tenant_id="acme", project_id=project_id, policy=policy, level=level)
            await stub.SetPolicy(request, timeout=60)
        of_tenant = [(["m3"], ["m2"]), (["m2"], [])]
        for project_id in ("shop", "blog", "later"):
            found = await changes(served, tenant_id="acme", project_id=project_id)
            told = [(list(one.after.silenced_ids), list(one.before.silenced_ids)) for one in found]
            assert told == (of_tenant if project_id != "shop" else [*of_tenant, (["m1"], [])])
        assert await changes(served, tenant_id="other", project_id="shop") == []


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[SidecarThread]:
    """One with tokens: of an admin of all projects, and of one project's agent."""
    entries = [entry("boss", EVERYWHERE, ("acme", "*"), admin=True), entry("agent", ACME, ("acme", "shop"))]
    file = write_access(tmp_path / "access.json", entries)
    with sidecar(tmp_path, settings={"access_file": str(file)}) as served:
        yield served


def test_the_token_is_named_and_a_tenants_policy_is_for_those_who_may_see_it(guarded: SidecarThread) -> None:
    boss, agent = bearer(EVERYWHERE), bearer(ACME)
    scope: Any = {"tenant_id": "acme", "project_id": "shop"}
    with grpc.insecure_channel(guarded.address) as connection:
        stub, memory = SidecarServiceStub(connection), ReflectiveMemoryServiceStub(connection)
        for level, silenced in ((pb.POLICY_LEVEL_PROJECT, "m1"), (pb.POLICY_LEVEL_TENANT, "m2")):
            policy = pb.Policy(advice=pb.AdvicePolicy(silenced_ids=[silenced]))
            request = pb.SetPolicyRequest(policy=policy, level=level, **scope)
            stub.SetPolicy(request, timeout=TIMEOUT_S, metadata=boss)
        asked = pb.GetServerInfoRequest(with_advice_changes=True, **scope)
        seen = stub.GetServerInfo(asked, timeout=TIMEOUT_S, metadata=boss).advice_changes
        assert [(one.changed_by, one.level) for one in seen] == [
            ("boss", pb.POLICY_LEVEL_TENANT),
            ("boss", pb.POLICY_LEVEL_PROJECT),
        ]
        seen = stub.GetServerInfo(asked, timeout=TIMEOUT_S, metadata=agent).advice_changes
        assert [one.level for one in seen] == [pb.POLICY_LEVEL_PROJECT]
        # A lesson's versions have who made them.
        store = memory_pb.StoreReflectionRequest(result=RESULT, **scope)
        lesson_id = memory.StoreReflection(store, timeout=TIMEOUT_S, metadata=agent).reflection_id
        retire = memory_pb.ReviewReflectionRequest(
            reflection_id=lesson_id, state=memory_pb.MEMORY_STATE_RETIRED, reason="old", **scope
        )
        assert memory.ReviewReflection(retire, timeout=TIMEOUT_S, metadata=boss).memory.changed_by == "boss"
        update = memory_pb.UpdateReflectionRequest(
            reflection_id=lesson_id, changes=memory_pb.MemoryChanges(importance=0.9), **scope
        )
        memory.UpdateReflection(update, timeout=TIMEOUT_S, metadata=agent)
        versions = memory_pb.ListReflectionVersionsRequest(reflection_id=lesson_id, **scope)
        found = memory.ListReflectionVersions(versions, timeout=TIMEOUT_S, metadata=agent).versions
        assert sorted((one.version, one.changed_by) for one in found) == [(1, "agent"), (2, "boss"), (3, "agent")]
