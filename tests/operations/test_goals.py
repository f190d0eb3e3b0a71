"""`sidemirror goals` against a sidecar: what it shows, and another try for what is dead."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.cli import main
from sidemirror_server.models.answers import GoalAnswer
from sidemirror_server.models.language_model import AnswerT, Ask, Completion
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from tests.faults.sidecars import running
from tests.goals.agents import Stub, a_report, connected, until_ended
from tests.wire.access import ACME, write_access


class RefusesAtFirst:
    """What it refuses is hopeless: the report is dead at once."""

    provider = "test"
    name = "refuses"

    def __init__(self) -> None:
        self.refuses = True

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        if self.refuses:
            raise ModelFailed(ResultStatus.REFUSED, "not this")
        answer = GoalAnswer(insight="Ask for less.")
        assert isinstance(answer, ask.answer_type)
        return Completion(answer, Usage(self.provider, self.name))


async def goals(address: str, *arguments: str, code: int = 0) -> None:
    """Runs the command as from a shell."""
    assert await asyncio.to_thread(main, ["goals", *arguments, "--address", address]) == code


async def test_lists_and_another_try(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = RefusesAtFirst()
    async with running(tmp_path, model=model) as served, connected(served.address) as stub:
        address = served.address
        await goals(address, "list")
        assert capsys.readouterr().out == "No goal was reported in the last 7 days.\n"
        await goals(address, "dead")
        assert capsys.readouterr().out == "No report is dead.\n"
        await goals(address, "retry", "--all")
        assert capsys.readouterr().out == "no report is dead\n"
        await goals(address, "show")
        assert capsys.readouterr().out == "Nothing is known that is younger than 7 days.\n"

        ids = [await report(stub, f"g{number}") for number in range(2)]
        await until_ended(stub, 2, within_s=60)
        await goals(address, "dead", "--json")
        dead = json.loads(capsys.readouterr().out)
        assert [one["report_id"] for one in dead] == ids[::-1]
        assert {(one["report_state"], one["state"], one["attempts"]) for one in dead} == {
            ("GOAL_REPORT_STATE_DEAD", "GOAL_STATE_FAILED", 1)
        }
        assert "refused" in dead[0]["last_error"]
        await goals(address, "dead", "--limit", "1", "--json")
        assert len(json.loads(capsys.readouterr().out)) == 1

        model.refuses = False
        await goals(address, "retry", ids[0], "unknown", code=1)
        told = capsys.readouterr()
        assert told.out == f"{ids[0]} is queued again\n"
        assert "unknown: NOT_FOUND" in told.err
        await until_done(stub, 1)
        await goals(address, "retry", ids[0], code=1)
        assert "FAILED_PRECONDITION" in capsys.readouterr().err
        await goals(address, "retry", "--all")
        assert capsys.readouterr().out == f"{ids[1]} is queued again\n"
        await until_done(stub, 2)

        await goals(address, "show", "g1")
        assert "g1 failed, importance 0.8\n  Reach g1\n  Ask for less.\n" in capsys.readouterr().out
        await goals(address, "show", "--json")
        assert [one["goal_id"] for one in json.loads(capsys.readouterr().out)] == ["g1", "g0"]
        await goals(address, "list")
        assert "done" in capsys.readouterr().out
        await goals(address, "list", "--tenant-id", "other")
        assert "No goal was reported" in capsys.readouterr().out


async def test_what_was_reported_commands_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail when texts are printed as they are."""
    hostile = "Reach\x1b]0;owned\x07 it\r\x1b[2Know"
    async with running(tmp_path) as served, connected(served.address) as stub:
        await stub.ReportGoal(a_report("g", objective=hostile, error=hostile), timeout=60)
        await until_done(stub, 1)
        await goals(served.address, "show", "g")
        told = capsys.readouterr().out
        assert "Reach\ufffd]0;owned\ufffd it \ufffd[2Know" in told
        assert set("\x1b\x07\r").isdisjoint(told)


async def test_ids_are_whole_however_narrow_the_terminal_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail in a table, which cuts columns: `goals retry` takes what `goals dead` shows."""
    monkeypatch.setenv("COLUMNS", "80")
    model = RefusesAtFirst()
    async with running(tmp_path, model=model) as served, connected(served.address) as stub:
        goal_id = "a-goal-with-a-name-of-some-length-" + "x" * 60
        report_id = await report(stub, goal_id)
        await until_ended(stub, 1, within_s=60)
        await goals(served.address, "dead")
        told = capsys.readouterr().out
        assert f" {report_id} dead\n  {goal_id} failed, 1 try, last error: Hopeless: " in told


async def test_what_each_run_has_taught_again_is_shown_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail with the same words three times."""
    async with running(tmp_path) as served, connected(served.address) as stub:
        for number in range(3):
            await stub.ReportGoal(a_report("g", request_id=f"r{number}", error="no such table: x"), timeout=60)
        await until_done(stub, 3)
        await goals(served.address, "show", "g")
        told = capsys.readouterr().out
    assert told.count("importance") == 1
    assert "learned 3 times, first at " in told
    assert told.count(" g failed, 1 try") == 3


async def test_where_tokens_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail when the command opens a channel of its own and shows no token."""
    token = tmp_path / "token"
    token.write_text(f"{ACME}\n")
    async with running(tmp_path, access_file=str(write_access(tmp_path / "access.json"))) as served:
        of_acme = ("--tenant-id", "acme", "--project-id", "shop")
        for command in (("list",), ("dead",), ("show",), ("show", "g"), ("retry", "--all")):
            monkeypatch.delenv("SIDEMIRROR_TOKEN_FILE", raising=False)
            await goals(served.address, *command, *of_acme, code=1)
            assert "UNAUTHENTICATED" in capsys.readouterr().err
            monkeypatch.setenv("SIDEMIRROR_TOKEN_FILE", str(token))
            await goals(served.address, *command, *of_acme)


async def report(stub: Stub, goal_id: str) -> str:
    return str((await stub.ReportGoal(a_report(goal_id), timeout=60)).report_id)


async def until_done(stub: Stub, count: int) -> None:
    states: Any = {}
    async with asyncio.timeout(60):
        while states.get("DONE") != count:
            states = await until_ended(stub, count, within_s=60)
            await asyncio.sleep(0.02)


def test_nobody_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["goals", "list", "--address", f"unix:{tmp_path}/none"]) == 69
    assert "nothing can be reached at unix:" in capsys.readouterr().err


def test_none_are_not_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["goals", "list", "--limit", "0"])
    assert "a number from 1 to 1,000,000 is expected" in capsys.readouterr().err


async def test_a_reader_that_has_enough(tmp_path: Path) -> None:
    """Seen to fail with the traceback of a BrokenPipeError."""
    async with running(tmp_path / "data") as served, connected(served.address) as stub:
        await report(stub, "g")
        await until_done(stub, 1)
        reading, writing = os.pipe()
        os.close(reading)
        call = "import sys; from sidemirror_server.command import main; sys.exit(main())"
        command = (sys.executable, "-c", call, "goals", "list", "--json", "--address", served.address)
        process = await asyncio.create_subprocess_exec(*command, stdout=writing, stderr=asyncio.subprocess.PIPE)
        os.close(writing)
        _, told = await process.communicate()
        assert (process.returncode, told) == (0, b"")
