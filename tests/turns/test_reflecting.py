"""A reflection that somebody waits for is there in time, with what has been found by then."""

import asyncio
from pathlib import Path
from typing import Any, NoReturn

import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.turns.lessons import Lessons
from tests.faults.sidecars import Stub, running
from tests.models.endpoint import Endpoint
from tests.models.talk import Talk

DEADLINE_S = 0.6


async def never(*_: Any) -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def test_lessons_that_do_not_come_keep_no_answer_from_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail when lessons are waited for as long as without a deadline: DEADLINE_EXCEEDED."""
    monkeypatch.setattr(Lessons, "for_failures", never)
    async with running(tmp_path) as served:
        await Talk(Endpoint(), served.stub, Stub).turn("t")
        answer = await served.stub.Reflect(pb.ReflectRequest(turn_id="t"), timeout=DEADLINE_S)
    assert answer.result.status == common_pb2.RESULT_STATUS_NOTHING
    assert not answer.result.HasField("lessons")
