"""Two sidecars on one Postgres, and one Redis: a watch tells each reflection once, whoever made it, over reconnects;
and tenants never meet."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from sidemirror.v1 import goal_reflection_pb2 as pb
from tests.faults.figures import show
from tests.faults.sidecars import running
from tests.faults.waiting import until
from tests.goals.agents import Stub, a_report, all_reports, connected, everything_told, reflections_of, until_ended
from tests.goals.serving import TakesItsTime
from tests.postgres.databases import Databases
from tests.redis.server import RedisServer

GOALS = 60


@contextlib.asynccontextmanager
async def two_sidecars(
    databases: Databases, server: RedisServer, folder: Path
) -> AsyncIterator[tuple[tuple[Stub, Stub], tuple[TakesItsTime, TakesItsTime]]]:
    server.ask("FLUSHALL")
    models = (TakesItsTime(0.02), TakesItsTime(0.02))
    async with databases.fresh() as name, contextlib.AsyncExitStack() as stack:
        settings: dict[str, Any] = {"database_url": databases.cluster.url("sidecar", name), "redis_url": server.url}
        stubs = []
        for number, model in enumerate(models):
            served = await stack.enter_async_context(running(folder / str(number), model=model, **settings))
            stubs.append(await stack.enter_async_context(connected(served.address)))
        yield (stubs[0], stubs[1]), models


class Watcher:
    """Watches, breaks off after some reflections, and goes on by the last cursor."""

    def __init__(self, stub: Stub, break_after: int) -> None:
        self.told: list[pb.GoalReflection] = []
        self.breaks = 0
        self._stub = stub
        self._break_after = break_after
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        cursor = ""
        while True:
            watch = self._stub.WatchGoalReflections(pb.WatchGoalReflectionsRequest(cursor=cursor))
            seen = 0
            async for response in watch:
                cursor = response.cursor or cursor
                if response.HasField("reflection"):
                    self.told.append(response.reflection)
                    seen += 1
                    if seen == self._break_after:
                        break
            watch.cancel()
            self.breaks += 1

    async def end(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def test_watching_what_another_sidecar_makes(
    databases: Databases, valkey_itself: RedisServer, tmp_path: Path
) -> None:
    """Seen to fail when nobody looks for what other processes have recorded."""
    async with two_sidecars(databases, valkey_itself, tmp_path) as ((one, other), models):
        watchers = [Watcher(one, 7), Watcher(other, 1000)]
        # Each is told of its part; the workers of both take what they can get, a sidecar's own being the nearest.
        parts = ((one, range(0, GOALS, 2)), (other, range(1, GOALS, 2)))
        reports = [(stub, f"goal {number}") for stub, numbers in parts for number in numbers]
        await asyncio.gather(*(stub.ReportGoal(a_report(goal_id), timeout=60) for stub, goal_id in reports))
        await until_ended(other, GOALS, within_s=60)
        took_s = await until(lambda: all(len(watcher.told) >= GOALS for watcher in watchers), within_s=60)
        for watcher in watchers:
            await watcher.end()
            assert Counter(one.goal_id for one in watcher.told) == {f"goal {number}": 1 for number in range(GOALS)}
        assert watchers[0].breaks >= 5
        assert all(model.calls > 0 for model in models), "each sidecar made some"
        assert sum(model.calls for model in models) == GOALS
        assert [one.id for one in await everything_told(other)] == [one.id for one in watchers[1].told]
    show(
        f"{GOALS} reflections, {[model.calls for model in models]} by each sidecar, all told to both watches "
        f"{took_s:.2f} s after the last was made; {watchers[0].breaks} reconnects"
    )


def of(tenant: str, project: str) -> dict[str, Any]:
    return {"tenant_id": tenant, "project_id": project}


SCOPES = [
    of("default", "default"),
    of("acme", "shop"),
    of("acme", "blog"),
    of("a:b", "c"),
    of("a", "b:c"),
    of("*", "?"),
]


async def test_goals_of_two_tenants_never_meet(
    databases: Databases, valkey_itself: RedisServer, tmp_path: Path
) -> None:
    """The same goal ids, the same objectives, in every scope. Seen to fail when keys are not escaped."""
    async with two_sidecars(databases, valkey_itself, tmp_path) as ((one, other), _):
        for place in SCOPES:
            for goal_id in ("g", "a:b*"):
                request = pb.ReportGoalRequest(
                    goal_id=goal_id, objective="Send the report", state=pb.GOAL_STATE_COMPLETED, **place
                )
                await one.ReportGoal(request, timeout=60)
        for place in SCOPES:
            wanted: Any = await until_done(other, place)
            told = other.WatchGoalReflections(pb.WatchGoalReflectionsRequest(follow=False, **place), timeout=60)
            seen = {response.reflection.insight async for response in told if response.HasField("reflection")}
            recent = await other.ListRecentGoals(pb.ListRecentGoalsRequest(**place), timeout=60)
            found = {each.insight for goal in recent.goals for each in goal.reflections}
            of_g = await other.GetGoalReflections(pb.GetGoalReflectionsRequest(goal_id="g", **place), timeout=60)
            context = pb.BuildGoalContextRequest(task="Send the report", max_items=10, **place)
            similar = {item.text for item in (await other.BuildGoalContext(context, timeout=60)).block.items}
            assert seen == found == similar == wanted
            assert len(of_g.reflections) == 1
            assert of_g.reflections[0].insight in wanted
        await one.DeleteGoalReflections(pb.DeleteGoalReflectionsRequest(goal_id="g", **SCOPES[1]), timeout=60)
        for number, place in enumerate(SCOPES):
            left = await other.GetGoalReflections(pb.GetGoalReflectionsRequest(goal_id="g", **place), timeout=60)
            assert len(left.reflections) == (number != 1)


async def until_done(stub: Stub, place: dict[str, Any]) -> set[str]:
    """The insights of a scope's two reports, once they are there."""
    found: list[pb.GoalReport] = []

    async with asyncio.timeout(60):
        while len(found) < 2 or not all(report.HasField("reflection") for report in found):
            answer = await stub.ListGoalReports(pb.ListGoalReportsRequest(**place), timeout=60)
            found = list(answer.reports)
            await asyncio.sleep(0.05)
    return {report.reflection.insight for report in found}


async def test_what_redis_forgets_is_published_again(
    databases: Databases, own_server: RedisServer, tmp_path: Path
) -> None:
    """Not what was deleted. Seen to fail when `Republisher.run` is not started, when a deletion leaves the goal's
    finished reports, and, once Redis was emptied, when its marker is not looked at."""
    own_server.ask("CONFIG", "SET", "appendonly", "no")
    async with two_sidecars(databases, own_server, tmp_path) as ((one, other), _):
        for number in range(20):
            await one.ReportGoal(a_report(f"goal {number % 10}"), timeout=60)
        await until_ended(one, 20, within_s=60)
        await other.DeleteGoalReflections(pb.DeleteGoalReflectionsRequest(goal_id="goal 3"), timeout=60)
        before = {number: await reflections_of(one, f"goal {number}") for number in range(10)}
        recent = await one.ListRecentGoals(pb.ListRecentGoalsRequest(), timeout=60)
        assert [len(before[number]) for number in range(10)] == [0 if number == 3 else 2 for number in range(10)]
        own_server.kill()
        for path in own_server.folder.glob("appendonlydir/*"):
            path.unlink()
        await asyncio.to_thread(own_server.start)
        began_s = asyncio.get_running_loop().time()
        await until_back(other, before)
        took_s = asyncio.get_running_loop().time() - began_s
        assert await other.ListRecentGoals(pb.ListRecentGoalsRequest(), timeout=60) == recent
        emptied_s = []
        for _ in range(3):  # the first times what still follows the restart may bring it back
            own_server.ask("FLUSHALL")
            began_s = asyncio.get_running_loop().time()
            await until_back(one, before)
            emptied_s.append(asyncio.get_running_loop().time() - began_s)
        assert await one.ListRecentGoals(pb.ListRecentGoalsRequest(), timeout=60) == recent
        assert len(await all_reports(one)) == 18
    show(
        f"18 reflections that Redis forgot were there again {took_s:.1f} s after its restart, and "
        f"{emptied_s[-1]:.1f} s after FLUSHALL"
    )


async def until_back(stub: Stub, before: dict[int, list[pb.GoalReflection]]) -> None:
    """Waits until everything is as it was."""
    import grpc

    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(grpc.aio.AioRpcError):
                if all([await reflections_of(stub, f"goal {number}") == there for number, there in before.items()]):
                    return
            await asyncio.sleep(0.1)
