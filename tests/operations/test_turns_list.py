"""`sidemirror turns list --judged`: the command looks for turns with a verdict, and no turn gets lost on the way."""

import argparse
import json
import re
import shlex
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations import turns
from sidemirror_server.vocabulary.scope import Scope
from tests.faults.sidecars import running
from tests.operations.test_turns import said


class Listed:
    """A sidecar with this many turns, the newest first; every tenth was told to revise. `more`: turns that begin
    meanwhile, one before each call."""

    def __init__(self, count: int, more: int = 0) -> None:
        self.turns = [pb.Turn(turn_id=f"t{number}", revise_count=int(number % 10 == 9)) for number in range(count)]
        self.more = more
        self.calls = 0

    def ListTurns(self, request: pb.ListTurnsRequest, timeout: float) -> pb.ListTurnsResponse:  # noqa: N802 - gRPC's name
        self.calls += 1
        if self.more:
            self.more -= 1
            self.turns.insert(0, pb.Turn(turn_id=f"new{self.more}", revise_count=1))
        names = [turn.turn_id for turn in self.turns]
        first = names.index(request.page_token) + 1 if request.page_token else 0
        page = self.turns[first : first + request.page_size]
        is_last = first + request.page_size >= len(self.turns)
        return pb.ListTurnsResponse(turns=page, next_page_token="" if is_last else page[-1].turn_id)


def listed(
    sidecar: Listed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], **options: object
) -> tuple[str, str]:
    """What the command prints, on both outputs."""
    monkeypatch.setattr(turns, "ThinkingServiceStub", lambda channel: sidecar)
    plain = {"outcome": [], "failed": False, "session": "", "state": None, "since": None, "until": None}
    given = {
        **plain,
        "scope": Scope("", ""),
        "limit": 20,
        "judged": "revise",
        "json": False,
        "page_token": "",
        **options,
    }
    assert turns._list(None, argparse.Namespace(**given)) == 0  # type: ignore[arg-type]
    return capsys.readouterr()


def page(*given: object, **options: object) -> tuple[list[str], str]:
    out, _ = listed(*given, json=True, **options)  # type: ignore[arg-type]
    told = json.loads(out)
    return [turn["turn_id"] for turn in told.get("turns", [])], told.get("next_page_token", "")


@pytest.mark.parametrize("limit", [1, 7, 100, 101, 5_000])
def test_pages_have_every_turn_with_the_verdict_once(
    limit: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen to fail: the token was that behind the page of 1,000 in which the limit was reached."""
    sidecar = Listed(3_005)
    wanted = [f"t{number}" for number in range(9, 3_005, 10)]
    found: list[str] = []
    token = ""
    for _ in range(len(wanted) // limit + 1):
        ids, token = page(sidecar, monkeypatch, capsys, limit=limit, page_token=token)
        found += ids
        if not token:
            break
    assert (found, token) == (wanted, "")


def test_what_begins_meanwhile_moves_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sidecar = Listed(500, more=3)
    ids, token = page(sidecar, monkeypatch, capsys, limit=5)
    rest, _ = page(sidecar, monkeypatch, capsys, limit=500, page_token=token)
    shown = [turn.turn_id for turn in sidecar.turns if turn.revise_count]
    assert shown[-len(ids + rest) :] == ids + rest
    assert len(ids) == 5


def test_it_looks_on_behind_ten_thousand(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail: "No turn fits." was said of the newest 10,000."""
    sidecar = Listed(25_000)
    for turn in sidecar.turns[:24_000]:
        turn.revise_count = 0
    assert page(sidecar, monkeypatch, capsys, limit=3) == (["t24009", "t24019", "t24029"], "t24029")


def test_a_look_that_is_cut_off_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(turns, "_MOST_LOOKED_AT", 2_000)
    sidecar = Listed(5_000)
    for turn in sidecar.turns[:3_000]:
        turn.revise_count = 0
    out, told = listed(sidecar, monkeypatch, capsys)
    assert out == ""
    assert told.splitlines() == [
        "2,000 turns were looked through, and there are older ones.",
        "The same command with --page-token t1999 looks on.",
    ]
    out, told = listed(sidecar, monkeypatch, capsys, page_token="t1999", limit=2)
    assert [line.split()[2] for line in out.splitlines()] == ["t3009", "t3019"]
    assert told == "There may be more: 2 are shown, the newest first. -n shows more.\n"


async def test_the_options_that_are_printed_look_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen to fail: "the same command" had `--since 15m`, which is another time a moment later."""
    monkeypatch.setattr(turns, "_PAGE", 1)
    monkeypatch.setattr(turns, "_MOST_LOOKED_AT", 1)
    asked = ("turns", "list", "--judged", "revise", "--since", "15m", "--until", "2100-01-01")
    async with running(tmp_path) as served:
        for number in range(3):
            await served.stub.StartTurn(pb.StartTurnRequest(session_id=f"s{number}", turn_id=f"t{number}"), timeout=60)
        _, _, told = await said(capsys, served, *asked)
        (more,) = re.findall(r"The same command with (.+) looks on\.", "".join(told))
        _, _, told = await said(capsys, served, *asked, *shlex.split(more))
        assert "1 turns were looked through" in "".join(told)


def test_a_sidecar_that_heeds_no_size_ends(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail: the page was read again for ever."""
    sidecar = Listed(50)
    answers = iter([pb.ListTurnsResponse(turns=sidecar.turns)] * 9)
    monkeypatch.setattr(sidecar, "ListTurns", lambda request, timeout: next(answers))
    assert page(sidecar, monkeypatch, capsys, limit=2)[0] == ["t9", "t19"]


def test_all_turns_are_paged_as_before(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    sidecar = Listed(1_300)
    ids, token = page(sidecar, monkeypatch, capsys, judged=None, limit=1_200)
    assert (ids, token, sidecar.calls) == ([f"t{number}" for number in range(1_200)], "t1199", 2)


async def test_a_token_of_a_sidecar_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path) as served:
        for number in range(3):
            await served.stub.StartTurn(pb.StartTurnRequest(session_id=f"s{number}", turn_id=f"t{number}"), timeout=60)
        _, lines, _ = await said(capsys, served, "turns", "list", "-n", "1", "--json")
        token = json.loads("\n".join(lines))["next_page_token"]
        _, lines, _ = await said(capsys, served, "turns", "list", "--page-token", token)
        assert [line.split()[2] for line in lines] == ["t1", "t0"]
