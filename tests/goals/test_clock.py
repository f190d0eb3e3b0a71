"""The sidecar's clock jumps eight days forward, or back: nothing is shown too long, and nothing is forgotten early. In
a shared store that clock decides nothing: the database's does, which goes on with the time that passes."""

from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import goal_reflection_pb2 as pb
from tests.faults.clocks import SetClock
from tests.faults.sidecars import running
from tests.goals.agents import Stub, a_report, connected, until_ended
from tests.goals.serving import TakesItsTime
from tests.postgres.databases import Databases
from tests.redis.server import RedisServer

DAY_US = 24 * 3600 * 1_000_000


async def shown(stub: Stub) -> list[int]:
    """How many reflections each way of asking shows."""
    of_goal = await stub.GetGoalReflections(pb.GetGoalReflectionsRequest(goal_id="g"), timeout=60)
    recent = await stub.ListRecentGoals(pb.ListRecentGoalsRequest(), timeout=60)
    of_block = await stub.BuildGoalContext(pb.BuildGoalContextRequest(goal_id="g"), timeout=60)
    similar = await stub.BuildGoalContext(pb.BuildGoalContextRequest(task="Reach g"), timeout=60)
    watch = stub.WatchGoalReflections(pb.WatchGoalReflectionsRequest(goal_id="g", follow=False), timeout=60)
    told = [response.reflection.id async for response in watch if response.HasField("reflection")]
    return [
        len(of_goal.reflections),
        sum(len(goal.reflections) for goal in recent.goals if goal.goal_id == "g"),
        len(of_block.block.items),
        sum("g]" in line for line in similar.block.text.splitlines()),
        len(told),
    ]


@pytest.mark.parametrize("store", ["sqlite", "postgres", "redis"])
async def test_jumps(store: str, databases: Databases, valkey_itself: RedisServer, tmp_path: Path) -> None:
    """Seen to fail when a watch or Redis shows what is older than 7 days, when the SQL stores forget what is, and when
    a shared store is asked by the sidecar's own clock."""
    clock = SetClock()
    start_us = clock.us
    valkey_itself.ask("FLUSHALL")
    async with databases.fresh() as name:
        settings: dict[str, Any] = {} if store == "sqlite" else {"database_url": databases.cluster.url("sidecar", name)}
        if store == "redis":
            settings["redis_url"] = valkey_itself.url
        async with (
            running(tmp_path, model=TakesItsTime(0), clock=clock, **settings) as served,
            connected(served.address) as stub,
        ):
            await stub.ReportGoal(a_report("g"), timeout=60)
            await until_ended(stub, 1, within_s=60)
            assert await shown(stub) == [1] * 5
            for number, days in enumerate((8, 0, -8, 0, 6.99, 7, 0)):
                clock.us = start_us + int(days * DAY_US)
                too_old = days >= 7 and store == "sqlite"
                assert await shown(stub) == ([0] if too_old else [1]) * 5, f"{days} days"
                if days in (8, -8):
                    # What happens meanwhile makes nothing go.
                    await stub.ReportGoal(a_report(f"meanwhile {number}"), timeout=60)
                    await stub.DeleteGoalReflections(pb.DeleteGoalReflectionsRequest(goal_id="x"), timeout=60)
            clock.advance(8 * 24 * 3600)
            assert await shown(stub) == [0] * 5


@pytest.mark.parametrize("store", ["sqlite", "postgres", "redis"])
async def test_a_watch_is_told_what_it_missed(
    store: str, databases: Databases, valkey_itself: RedisServer, tmp_path: Path
) -> None:
    """Whether that is still in the log, or forgotten; and once only. Seen to fail when the watch does not look for what
    is too old ("8 days"), when it does not ask how far the log has forgotten ("29 days"), when `add` of the journal
    leaves no mark, and when a gap has the cursor that was asked with ("again")."""
    clock = SetClock()
    start_us = clock.us
    valkey_itself.ask("FLUSHALL")
    async with databases.fresh() as name:
        settings: dict[str, Any] = {} if store == "sqlite" else {"database_url": databases.cluster.url("sidecar", name)}
        if store == "redis":
            settings["redis_url"] = valkey_itself.url
        async with (
            running(tmp_path, model=TakesItsTime(0), clock=clock, **settings) as served,
            connected(served.address) as stub,
        ):

            def passes_until(days: float) -> None:
                clock.advance(days * 24 * 3600 - (clock.us - start_us) / 1e6)

            async def told(cursor: str, goal_id: str = "") -> list[pb.WatchGoalReflectionsResponse]:
                request = pb.WatchGoalReflectionsRequest(cursor=cursor, goal_id=goal_id, follow=False)
                return [response async for response in stub.WatchGoalReflections(request, timeout=60)]

            for number, goal_id in enumerate(("first", "second")):
                await stub.ReportGoal(a_report(goal_id), timeout=60)
                await until_ended(stub, 1 + number, within_s=60)
            seen = [response.cursor for response in await told("")]
            assert len(seen) == 2
            for days in (0, 6.99):
                passes_until(days)
                assert [one.reflection.goal_id for one in await told(seen[0])] == ["second"], f"{days} days"
            passes_until(8)
            for goal_id in ("", "second", "first"):
                (missed,) = await told(seen[0], goal_id)
                assert missed.HasField("gap"), f"8 days, {goal_id!r}"
                assert await told(missed.cursor, goal_id) == [], "again"
            assert await told("") == await told(seen[1]) == []
            passes_until(29)
            await stub.ReportGoal(a_report("third"), timeout=60)
            await until_ended(stub, 1, within_s=60)
            missed, third = await told(seen[0])
            assert missed.HasField("gap"), "29 days"
            assert third.reflection.goal_id == "third"
            assert await told(missed.cursor) == await told(seen[1]) == [third]
