"""`sidemirror memory` against a real sidecar: search, show, review, export and import, as a person sees them."""

import fcntl
import json
import shlex
import signal
import stat
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.cli import main
from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.operations.memory import _Progress, _written
from tests.faults.clocks import SetClock
from tests.memory.dreamers import store
from tests.memory.talk import memories
from tests.operations.test_command import COMMAND
from tests.wire.calls import TIMEOUT_S
from tests.wire.sidecar import SidecarThread, sidecar
from tests.wire.waiting import until

Run = Callable[..., tuple[int, str, str]]
LESSON = pb.ReflectionResult(
    reflection_text="The query timed out on a [bold]JOIN[/bold] \x1b[2J of two tables.",
    strategy_text="Add indexes on join columns.",
    importance=0.8,
    confidence=0.9,
    tags=["sql"],
    metadata={"task_description": "Fetch the order history"},
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SidecarThread]:
    with sidecar(tmp_path) as served:
        yield served


@pytest.fixture
def ids(server: SidecarThread) -> pb.StoreReflectionResponse:
    with memories(server) as stub:
        # With a request_id, the ids are the same in each run of the tests, and so is what is held back.
        return stub.StoreReflection(pb.StoreReflectionRequest(result=LESSON, request_id="lesson"), timeout=TIMEOUT_S)


@pytest.fixture
def run(server: SidecarThread, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "200")

    def command(*arguments: str) -> tuple[int, str, str]:
        verb, *rest = arguments
        code = main(["memory", verb, "--address", server.address, *rest])
        told = capsys.readouterr()
        return code, told.out, told.err

    return command


def test_search(run: Run, ids: pb.StoreReflectionResponse, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = run("search", "joins")
    assert code == 0
    assert ids.reflection_id in out
    assert ids.strategy_id in out
    assert "Found by words alone." in out
    assert "[bold]JOIN[/bold]" in out, "a text's markup is not followed"
    assert "\x1b" not in out
    code, out, _ = run("search", "joins", "--explain", "--json", "-k", "1")
    (hit,) = json.loads(out)["hits"]
    assert hit["explanation"]["summary"].startswith("Place 1 in all: place 1 by its words")
    assert run("search", "zebra")[1] == "Nothing fits.\n"
    assert "Found by importance and age." in run("search")[1]
    monkeypatch.setenv("COLUMNS", "20")
    assert all(one in run("search", "joins")[1] for one in (ids.reflection_id, ids.strategy_id)), "to copy it"


def test_show_and_review(run: Run, ids: pb.StoreReflectionResponse) -> None:
    code, out, _ = run("review", ids.reflection_id, "retired", "--reason", "no longer true")
    assert (code, out) == (0, f"{ids.reflection_id} is retired now, version 2.\n")
    code, out, _ = run("show", ids.reflection_id)
    assert code == 0
    for shown in ("retired", "Fetch the order history", "no longer true", "learned", "0.80", "0.90"):
        assert shown in out
    assert ids.reflection_id not in run("search", "joins")[1]
    assert json.loads(run("show", "--json", ids.strategy_id)[1])["strategy_of"] == ids.reflection_id
    code, out, err = run("show", "unknown")
    assert (code, out) == (1, "")
    assert "NOT_FOUND" in err


def test_lessons(
    run: Run, ids: pb.StoreReflectionResponse, server: SidecarThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("lessons")[1].startswith("No outcome was reported")
    with memories(server) as stub:
        for number in range(4):
            asked = pb.BuildMemoryContextRequest(
                task="Add indexes: the query timed out on a JOIN of two tables on join columns",
                holdout_fraction=0.5 * (number < 3),
                request_id=f"r{number}",
            )
            receipt_id = stub.BuildMemoryContext(asked, timeout=TIMEOUT_S).block.receipt_id
            report = pb.ReportOutcomeRequest(receipt_id=receipt_id, outcome=common_pb2.TASK_OUTCOME_SUCCESS)
            if number:
                stub.ReportOutcome(report, timeout=TIMEOUT_S)
    code, out, _ = run("lessons")
    assert code == 0
    for shown in (
        ids.reflection_id,
        ids.strategy_id,
        "not enough data",
        "a verdict needs 30 of",
        "1 missing",
        "1 of 1",
    ):
        assert shown in out, shown
    monkeypatch.setenv("COLUMNS", "20")
    assert all(one in run("lessons")[1] for one in (ids.reflection_id, ids.strategy_id)), "to copy it"
    code, out, _ = run("lessons", ids.strategy_id, "--json")
    (lesson,) = json.loads(out)["lessons"]
    assert (lesson["reflection_id"], lesson["outside"]["success_count"]) == (ids.strategy_id, "1")
    assert run("lessons", "unknown")[0] == 1


def test_export_and_import(
    run: Run, ids: pb.StoreReflectionResponse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "memories.jsonl"
    assert run("export", str(file))[2] == "2 memories exported.\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert run("import", str(file))[2] == "0 imported, 2 were known.\n"
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([lines[0], "", "no JSON", lines[1]]), encoding="utf-8")
    code, _, err = run("import", "--project-id", "another", str(file))
    assert code == 65
    first, second = err.splitlines()
    assert first == "2 imported, 0 were known."
    assert second.startswith("line 3: ")
    assert ids.reflection_id in run("search", "--project-id", "another", "joins")[1]
    assert run("export", "--project-id", "another")[1].count("\n") == 2
    assert run("export", "--observations", str(file))[2] == "2 memories and observations exported.\n"
    assert run("import", str(tmp_path / "none"))[0] == 66
    with file.open() as source:
        monkeypatch.setattr(sys, "stdin", source)
        assert run("import", "--project-id", "third", "-")[2].startswith("2 imported, 0 were known.\n")


def test_two_exports_to_one_file_do_not_mix(tmp_path: Path) -> None:
    """Seen to fail with one name for what both had written so far."""
    file = tmp_path / "memories.jsonl"
    with _written(str(file)) as first:
        first("1 ")
        with pytest.raises(UnicodeEncodeError), _written(str(file)) as torn:
            torn("a part \ud800")
        with _written(str(file)) as second:
            first("2 ")
            second("whole")
        assert file.read_text() == "whole"
        first("3")
    assert file.read_text() == "1 2 3"
    assert [*tmp_path.iterdir()] == [file]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_line_that_is_no_utf_8_is_refused_and_the_others_are_not(
    run: Run, ids: pb.StoreReflectionResponse, tmp_path: Path
) -> None:
    """Seen to fail: the line was imported with other letters."""
    file = tmp_path / "memories.jsonl"
    run("export", str(file))
    one, two = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(one.replace(b"{", b'{"torn": "\xff", ', 1) + two)
    code, _, err = run("import", "--project-id", "another", str(file))
    assert (code, err) == (65, "1 imported, 0 were known.\nline 1: it is not UTF-8\n")


def test_a_byte_order_mark_hides_no_line(run: Run, ids: pb.StoreReflectionResponse, tmp_path: Path) -> None:
    """Seen to fail: line 1 was refused."""
    file = tmp_path / "memories.jsonl"
    run("export", str(file))
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    code, _, err = run("import", "--project-id", "another", str(file))
    assert (code, err) == (0, "2 imported, 0 were known.\n")


def test_what_was_erased_is_not_imported_again(run: Run, server: SidecarThread, tmp_path: Path) -> None:
    """Seen to be told of nowhere."""
    with memories(server) as stub:
        stub.StoreReflection(pb.StoreReflectionRequest(result=LESSON, subject_ids=["ann"]), timeout=TIMEOUT_S)
    file = tmp_path / "memories.jsonl"
    run("export", str(file))
    assert main(["erase", "--address", server.address, "--subject", "ann", "--yes"]) == 0
    assert run("import", str(file))[2].endswith("0 imported, 0 were known, 2 were erased before.\n")


def test_how_far_it_is_is_said_where_a_person_watches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = SetClock()
    progress = _Progress("sent", clock)
    for watched in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda watched=watched: watched)
        for _ in range(1_500):
            progress.one()
        clock.advance(5)
        progress.one()
        progress.one()
    assert capsys.readouterr().err == "3,003 lines sent so far\n"


def test_an_export_where_standard_output_is_closed(
    server: SidecarThread, ids: pb.StoreReflectionResponse, tmp_path: Path
) -> None:
    """Seen to fail with a traceback."""
    command = ["sh", "-c", '"$@" >&-', "sh", *COMMAND, "memory", "export", "--address", server.address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 74
    assert done.stderr.endswith("sidemirror: what it says cannot be written: Bad file descriptor\n")
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_an_import_that_waits_for_lines(server: SidecarThread) -> None:
    """Seen to fail: it went on until standard input ended."""
    command = [*COMMAND, "memory", "import", "-", "--address", server.address]
    waits = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        pipe = waits.stdin
        assert pipe is not None
        pipe.write("\n")
        pipe.flush()
        # Once nothing is left in the pipe, the command has read it, and reads on.
        until(lambda: not any(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))))
        waits.send_signal(signal.SIGINT)
        assert waits.wait(20) == 130
    finally:
        waits.kill()
        _, told = waits.communicate()
    assert told == ""


def test_nobody_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "search", "--address", f"unix:{tmp_path}/none"]) == 69
    assert "nothing can be reached at unix:" in capsys.readouterr().err


def test_dreams_and_prunings(run: Run, server: SidecarThread, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("dreams")[1] == "It has not dreamt.\n"
    assert run("prunings")[1] == "Nothing was removed.\n"
    with memories(server) as stub:
        for number in range(3):
            store(stub, number)
    code, out, err = run("dreams", "--now")
    assert code == 0
    assert "1 of 1 clusters, 1 lessons" in err
    assert "ok" in out
    (dream,) = json.loads(run("dreams", "--json")[1])["dreams"]
    assert (dream["read_count"], dream["asked_count"], len(dream["lessons"])) == (3, 1, 1)
    shown = run("show", dream["lessons"][0]["reflection_id"])[1]
    assert "failed in the same way (not_found)" in shown
    # The pass that was asked for, and nothing else.
    now = json.loads(run("dreams", "--now", "--json")[1])
    assert ([one["number"] for one in now["dreams"]], "next_page_token" in now) == (["2"], False)
    # Nothing is cut off where the terminal is narrow.
    monkeypatch.setenv("COLUMNS", "80")
    narrow = run("dreams")[1]
    assert all(part in narrow for part in (*dream["end_time"].split(".")[0].split("T"), "known", "ok"))
    assert "…" not in narrow


def test_a_lesson_that_is_turned_off_says_so_and_who_changed_what(
    run: Run, ids: pb.StoreReflectionResponse, server: SidecarThread, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen to fail with "active" alone, without the field, and without a reason of `advice off`."""
    lesson = ids.strategy_id
    off = ["advice", "off", lesson, "--reason", "it is of another database", "--address", server.address]
    assert main(off) == 0
    capsys.readouterr()
    command = f"a policy turned it off, no agent is told it: `sidemirror advice on {lesson}`"
    _, shown, _ = run("show", lesson)
    assert f"active, but {command}" in shown
    assert "silenced by a caller without a name in the policy of the project (it is of another" in shown
    assert "without one (SIDEMIRROR_ACCESS_FILE) callers have none" in shown
    _, found, _ = run("search", "joins")
    assert found.count(command) == 1


@pytest.mark.parametrize("is_folder", [False, True])
def test_the_command_that_is_named_turns_the_lesson_on(
    is_folder: bool, server: SidecarThread, tmp_path: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen to fail: it named no scope, and answered that nothing was off by this name."""
    project = project_of(str(tmp_path)) if is_folder else "shop"
    scope = ("--scope", str(tmp_path) if is_folder else "default/shop")
    with memories(server) as stub:
        kept = stub.StoreReflection(pb.StoreReflectionRequest(result=LESSON, project_id=project), timeout=TIMEOUT_S)
    assert main(["advice", "off", kept.strategy_id, "--address", server.address, *scope]) == 0
    capsys.readouterr()
    _, found, _ = run("search", "joins", *scope)
    command = found.partition("no agent is told it: `sidemirror ")[2].partition("`")[0]
    assert main([*shlex.split(command), "--address", server.address]) == 0
    # The command that releases a lesson named no scope either.
    run("review", kept.strategy_id, "quarantined", "--reason", "look", *scope)
    _, shown, _ = run("show", kept.strategy_id, *scope)
    (line,) = (line for line in shown.splitlines() if "memory review" in line)
    command = line.partition("sidemirror ")[2].strip(" │")
    assert main([*shlex.split(command), "--address", server.address]) == 0


def test_a_strategy_whose_reflection_is_turned_off_says_so(
    run: Run, ids: pb.StoreReflectionResponse, server: SidecarThread, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen to fail with "active" alone: the strategy is the text that agents get."""
    assert main(["advice", "off", ids.reflection_id, "--reason", "by its base", "--address", server.address]) == 0
    capsys.readouterr()
    on = f"`sidemirror advice on {ids.reflection_id}`"
    command = f"a policy turned off its reflection, and it too is told no agent: {on}"
    _, shown, _ = run("show", ids.strategy_id)
    assert f"active, but {command}" in shown
    assert f"{ids.reflection_id}, which it rests on, silenced by a caller without a name" in shown
    assert "(by its base)" in shown
    _, found, _ = run("search", "joins")
    assert found.count(command) == 1


def test_a_lesson_that_waits_for_a_person_does_not_look_active(run: Run, server: SidecarThread) -> None:
    """Seen to fail with "active" alone: a rule made it, and it says nothing but what calls came to."""
    with memories(server) as stub:
        result = pb.ReflectionResult(reflection_text="`post_journal` failed.", importance=0.5)
        stored = stub.StoreReflection(pb.StoreReflectionRequest(result=result), timeout=TIMEOUT_S)
    assert "active, not told until a person reviews it" in run("show", stored.reflection_id)[1]
    assert "[not told until reviewed] `post_journal` failed." in run("search", "journal")[1]
    run("review", stored.reflection_id, "active", "--reason", "it is so")
    assert "not told until" not in run("show", stored.reflection_id)[1]
