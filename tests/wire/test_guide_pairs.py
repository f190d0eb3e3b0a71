"""The table of docs/guide.md that says which contradictions the rules find, and which pass."""

import re
from pathlib import Path

from sidemirror.v1 import common_pb2
from sidemirror.v1 import critique_pb2 as pb
from sidemirror.v1.critique_pb2_grpc import CritiqueServiceStub
from tests.clients.harness import ROOT
from tests.faults.sidecars import Stub, channel, running

_ROW = re.compile(r"^\| (the error )?`(.+)` \| (There .+|The .+) \| (found|passes) \|$", re.MULTILINE)


async def test_what_the_guide_says_is_found(tmp_path: Path) -> None:
    rows = _ROW.findall((ROOT / "docs" / "guide.md").read_text())
    assert len(rows) == 9
    told = []
    async with running(tmp_path) as served, channel(served.address) as connection:
        stub: Stub = CritiqueServiceStub(connection)
        for is_error, record, answer, _ in rows:
            result = common_pb2.ToolResult(name="run_sql", content=record, is_error=bool(is_error))
            asked = pb.CritiqueRequest(
                user_message="How many orders are there?", response=answer, tool_results=[result]
            )
            verdict = (await stub.Critique(asked)).critique
            told.append("found" if verdict.should_revise else "passes")
    assert told == [said for *_, said in rows]
