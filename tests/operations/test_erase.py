"""`sidemirror erase` against a sidecar: it asks first, erases, says what it removed, and lists tombstones."""

import json
import sys
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.cli import main
from sidemirror_server.operations import erase as erasing
from tests.wire.sidecar import sidecar


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What whoever sits at the terminal answers; the questions are kept behind it."""
    said: list[str] = []

    def ask(question: str) -> str:
        said.append(question)
        return said[0]

    monkeypatch.setattr("builtins.input", ask)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: bool(said))
    return said


def test_asks_erases_and_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str], answers: list[str]) -> None:
    with sidecar(tmp_path) as server, grpc.insecure_channel(server.address) as channel:
        stub = ThinkingServiceStub(channel)
        for turn_id in ("one", "two"):
            stub.StartTurn(pb.StartTurnRequest(turn_id=turn_id, subject_ids=["anna"]), timeout=60)
        at = ["--address", server.address]
        assert main(["erase", "--subject", "anna", *at]) == 1
        told = capsys.readouterr()
        assert told.err == (
            "sidemirror: --yes: without a terminal nobody can be asked\nsidemirror: nothing was erased\n"
        )
        answers.append("n")
        assert main(["erase", "--subject", "anna", *at]) == 1
        assert answers[1:] == ["Erase the subject anna, with all that came of it? It cannot be undone. [y/N] "]
        assert len(stub.ListTurns(pb.ListTurnsRequest(), timeout=60).turns) == 2
        answers[0] = "y"
        capsys.readouterr()
        assert main(["erase", "--turn", "one", *at]) == 0
        assert capsys.readouterr().out == "Erased: entries 2, sessions 1, turns 1.\n"
        assert main(["erase", "--subject", "anna", "--yes", "--json", *at]) == 0
        assert json.loads(capsys.readouterr().out)["counts"] == {"entries": 2, "sessions": 1, "turns": 1}
        for flags, out in (([], ""), (["--json"], '"counts": {}')):
            assert main(["erase", "--session", "unknown", "--yes", *flags, *at]) == 1
            told = capsys.readouterr()
            assert out in told.out
            assert told.err == (
                "sidemirror: nothing was erased: the session unknown is unknown, or was erased before; "
                "a tombstone is left\n"
            )
        assert main(["erase", "--list", *at]) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert sorted(line["kind"] for line in lines) == ["session", "subject", "turn", "turn"]
        assert {(line["tenant_id"], line["project_id"]) for line in lines} == {("default", "default")}
        assert not stub.ListTurns(pb.ListTurnsRequest(), timeout=60).turns


def test_the_end_of_the_input_is_no(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-D at the question. Seen to fail with a traceback."""

    def ends(_: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", ends)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    assert main(["erase", "--subject", "anna"]) == 1
    assert capsys.readouterr().err == "\nsidemirror: nothing was erased\n"


def test_erases_again_in_no_store_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail with an empty store that was made, `0 of the records were erased again.` and 0."""
    listed, folder = tmp_path / "erased.jsonl", tmp_path / "none"
    listed.touch()
    assert main(["erase", "--again", str(listed), "--data-dir", str(folder)]) == 1
    assert capsys.readouterr() == ("", f"sidemirror: {folder}: there is no store\n")
    assert not folder.exists()


def test_names_exactly_one(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--turn", "a", "--subject", "b"]):
        with pytest.raises(SystemExit) as refused:
            main(["erase", *arguments])
        assert refused.value.code == 2


def test_waits_again_for_what_has_begun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with sidecar(tmp_path) as server, grpc.insecure_channel(server.address) as channel:
        stub = ThinkingServiceStub(channel)
        stub.StartTurn(pb.StartTurnRequest(turn_id="one", subject_ids=["anna"]), timeout=60)
        command = ["erase", "--subject", "anna", "--yes", "--address", server.address]
        with monkeypatch.context() as hurried:
            hurried.setattr(erasing, "_ERASE_S", 0.0)
            assert main(command) == 69
        told, _, request_id = capsys.readouterr().err.strip().rpartition(" ")
        assert told == "sidemirror: to wait for an erasure that has begun, add --request-id"
        assert main([*command, "--request-id", request_id]) == 0
        assert "turns 1" in capsys.readouterr().out
        stub.StartTurn(pb.StartTurnRequest(turn_id="two", subject_ids=["anna"]), timeout=60)
        assert main([*command, "--request-id", request_id]) == 0
        assert "turns 1" in capsys.readouterr().out, "it is the same erasure"
        assert [turn.turn_id for turn in stub.ListTurns(pb.ListTurnsRequest(), timeout=60).turns] == ["two"]
