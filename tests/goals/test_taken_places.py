"""Another program keeps something else under a key of ours: its goal waits, visibly, and no other one does."""

from pathlib import Path

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror_server.goals.record import GoalReflection
from sidemirror_server.goals.report import KIND, reflection_of
from sidemirror_server.goals.republish import Republisher
from sidemirror_server.vocabulary.errors import PlaceTaken
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.faults.sidecars import running
from tests.goals.agents import a_report, all_reports, connected, reflections_of, until_ended
from tests.goals.test_publish import House
from tests.redis.server import RedisServer

# More than a worker has in hand at once.
TAKEN = 9


async def test_what_is_in_the_way_of_one_goal_holds_up_no_other(valkey_itself: RedisServer, tmp_path: Path) -> None:
    """Seen to fail when such a store counts as one that is away: the others waited for the worker's patience."""
    valkey_itself.ask("FLUSHALL")
    for number in range(TAKEN):
        valkey_itself.ask("HSET", f"reflection:taken-{number}", "a", "b")
    async with (
        running(tmp_path, redis_url=valkey_itself.url) as served,
        connected(served.address) as stub,
    ):
        for number in range(TAKEN):
            await stub.ReportGoal(a_report(f"taken-{number}"), timeout=60)
        await stub.ReportGoal(a_report("free"), timeout=60)
        assert await until_ended(stub, 1, within_s=60)
        assert len(await reflections_of(stub, "free")) == 1
        waiting = [one for one in await all_reports(stub) if one.goal_id != "free"]
        assert {one.report_state for one in waiting} <= {
            pb.GOAL_REPORT_STATE_QUEUED,
            pb.GOAL_REPORT_STATE_RUNNING,
            pb.GOAL_REPORT_STATE_RETRYING,
        }
        assert any("PlaceTaken" in one.last_error and "WRONGTYPE" in one.last_error for one in waiting)
        for number in range(TAKEN):
            valkey_itself.ask("DEL", f"reflection:taken-{number}")
        assert (await until_ended(stub, TAKEN + 1, within_s=60))["DONE"] == TAKEN + 1


async def test_publishing_again_goes_past_it(tmp_path: Path) -> None:
    """Seen to fail when nothing is caught: what came after the goal whose place is taken stayed lost."""

    class Reflections:
        def __init__(self) -> None:
            self.there: list[str] = []

        async def put(self, scope: Scope, reflection: GoalReflection, now_us: int) -> bool:
            if reflection.goal_id == "taken":
                raise PlaceTaken(store="redis", reason="WRONGTYPE")
            self.there.append(reflection.goal_id)
            return True

    async with sqlite_database(tmp_path) as database:
        house, lost = House(database), Reflections()
        for number, goal_id in enumerate(("before", "taken", "after")):
            await house.put(f"r{number}", goal_id)
            await house.run()
        again = Republisher(house.work, KIND, reflection_of, lost, house.clock)  # type: ignore[arg-type]  # `put` alone
        assert await again.republish() == 2
        assert sorted(lost.there) == ["after", "before"]
