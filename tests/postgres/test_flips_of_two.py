"""Two sidecars on one database: outcomes that one is told of settle the verdicts of the other."""

from pathlib import Path
from typing import Any

from sidemirror.v1 import common_pb2
from sidemirror.v1 import critique_pb2 as pb
from sidemirror.v1.critique_pb2_grpc import CritiqueServiceStub
from tests.faults.sidecars import channel, running
from tests.postgres.databases import Databases

WRONG: dict[str, Any] = {"response": "17 + 25 = 43", "user_message": "What is 17 + 25?"}
Stub = Any  # the generated async stubs have no runtime class


async def judged(stub: Stub) -> common_pb2.CritiqueResult:
    return (await stub.Critique(pb.CritiqueRequest(**WRONG), timeout=60)).critique  # type: ignore[no-any-return]  # see Stub


async def test_revisions_withheld_by_one_are_withheld_by_the_other(databases: Databases, tmp_path: Path) -> None:
    """Seen to fail when a verdict is told as its model gave it."""
    async with databases.fresh() as name:
        url = databases.cluster.url("sidecar", name)
        async with (
            running(tmp_path / "a", database_url=url) as one,
            running(tmp_path / "b", database_url=url) as other,
            channel(one.address) as here,
            channel(other.address) as there,
        ):
            stubs: list[Stub] = [CritiqueServiceStub(here), CritiqueServiceStub(there)]
            for place in range(8):
                made = await judged(stubs[place % 2])
                assert made.revision_withheld is (place >= 7)
                told = pb.ReportCritiqueOutcomeRequest(
                    critique_id=made.critique_id,
                    outcome=common_pb2.TASK_OUTCOME_SUCCESS,
                    revised_outcome=common_pb2.TASK_OUTCOME_FAILURE,
                )
                await stubs[1 - place % 2].ReportCritiqueOutcome(told, timeout=60)
            statistics = await stubs[0].GetCritiqueStatistics(pb.GetCritiqueStatisticsRequest(), timeout=60)
            assert (statistics.revisions[0].made_wrong_count, statistics.revisions[0].withheld) == (8, True)
