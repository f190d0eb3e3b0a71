"""How a sidecar ends that fails."""

import json
from pathlib import Path

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations.serve import errors_in
from tests.faults.agents import started
from tests.faults.process import Process
from tests.faults.sidecars import channel, stub_on
from tests.faults.waiting import until
from tests.operations.breaks import CONTENT


async def test_a_sidecar_that_ends_by_a_defect_says_so_in_its_log(tmp_path: Path) -> None:
    """For whoever reads it for errors, and without contents. Seen to fail with a traceback beside the log."""
    async with Process(tmp_path, module="tests.operations.breaks") as process, channel(process.address) as connection:
        call = stub_on(connection).RunTurn()
        await call.write(pb.RunTurnRequest(events=[started("t", "s")]))
        await until(lambda: not process.running)
        text = process.text()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    (line,) = [one for one in lines if one["event"] == "sidecar_fails"]
    assert line["level"] == "error"
    assert line["exception"].endswith("\nbuiltins.AttributeError")
    assert CONTENT not in text


def test_each_error_has_a_line_also_in_a_group_of_a_group() -> None:
    """As of a background task that has tasks of its own. The log shows no errors of a group."""
    inner, outer = KeyError("k"), ValueError("v")
    assert list(errors_in(ExceptionGroup("all", [ExceptionGroup("one task's", [inner]), outer]))) == [inner, outer]
