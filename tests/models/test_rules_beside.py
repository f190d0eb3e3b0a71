"""The rules beside the loop: long evidence is read on a thread, within its deadline, and other calls go on.

Seen to fail when `RulesModel` reads all evidence on the loop: no other call comes to its end meanwhile, and an answer
that takes longer than its deadline is given all the same.
"""

import asyncio
import time
from pathlib import Path

import msgspec
import pytest

from sidemirror.v1 import critique_pb2, critique_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.models.adapters.rules import RulesModel
from sidemirror_server.models.answers import CritiqueAnswer
from sidemirror_server.models.evidence import Evidence, EvidenceStep
from sidemirror_server.models.language_model import Ask, Purpose
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.ids import EventId
from sidemirror_server.vocabulary.status import ResultStatus
from tests.conformance import language_model as suite
from tests.faults.machine import Machine
from tests.faults.sidecars import channel, running, stub_on

# The most that one text of a request may be (rpc/boundary/limit_table.py).
LONGEST = 256 * 1024


def long_ask(text: str) -> Ask[CritiqueAnswer]:
    """A critique of `text`, by a tool's result and a question that are as long."""
    kinds = ("tool_result", "response")
    steps = tuple(EvidenceStep(EventId(kind), kind, "", "search", text) for kind in kinds)
    asked = suite.ask()
    return Ask(
        purpose=Purpose.CRITIQUE,
        system=asked.system,
        prompt=asked.prompt,
        answer_type=CritiqueAnswer,
        evidence=Evidence(question=text, steps=steps),
        max_tokens=asked.max_tokens,
    )


async def test_the_time_is_up(machine: Machine) -> None:
    model = RulesModel()
    machine.late_s()
    begun_s = time.monotonic()
    with pytest.raises(ModelFailed) as late:
        await model.complete(long_ask(("1 + 1 = 2 < " * LONGEST)[:LONGEST]), 0.02)
    assert late.value.status is ResultStatus.FAILED_MODEL
    assert time.monotonic() - begun_s < 0.2 + machine.late_s()
    # And short evidence waits for nobody's long one.
    short = msgspec.structs.replace(long_ask("x"), evidence=Evidence(question="x"))
    assert (await model.complete(short, 1.0)).usage.provider == "rules"
    await model.close()


@pytest.mark.parametrize("piece", [" ", '"', "'", "0", "\\", "1 + 1 = 2 < "])
async def test_others_are_served_meanwhile(piece: str, machine: Machine, tmp_path: Path) -> None:
    """The promise for the stream is 50 ms; here for the median, on a machine that does other things too."""
    text = (piece * LONGEST)[: LONGEST - 1] + "x"
    async with running(tmp_path) as served, channel(served.address) as connection, channel(served.address) as other:
        critiques, thinking = critique_pb2_grpc.CritiqueServiceStub(connection), stub_on(other)
        await thinking.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s"))
        asked = critique_pb2.CritiqueRequest(user_message=text, response=text)
        asked.tool_results.add(name="search", content=text)
        took_s: list[float] = []
        machine.late_s()
        # Where one is over so soon that nothing was asked beside it, another may show it.
        for _ in range(5):
            judging = asyncio.ensure_future(critiques.Critique(asked, timeout=60))
            while not judging.done():
                begun_s = time.monotonic()
                await thinking.ShouldReflect(pb.ShouldReflectRequest(turn_id="t"), timeout=60)
                took_s.append(time.monotonic() - begun_s)
            await judging
            if len(took_s) >= 5:
                break
    assert len(took_s) >= 5, "nothing else was served"
    assert sorted(took_s)[len(took_s) // 2] < 0.05 + machine.late_s()
