"""Hooks with the tokens of an access file: whose turns they are, who is told, and what `doctor --attach` says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server import cli
from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.http.hooks.sentences import CHECK, CHECKED, SWITCHED_OFF
from sidemirror_server.operations.attach import hosts as attached
from tests.http.hooks.learned import BAD, FAILURE, tell_at_once
from tests.http.hooks.players import PLAYERS, ClaudeCode, Player
from tests.http.hooks.recorded_turns import made
from tests.http.sidecars import door
from tests.wire.access import ACME, EVERYWHERE, INTRUDER, UNKNOWN, bearer, entry, write_access
from tests.wire.sidecar import SidecarThread, thinking

NO_REPOSITORY = "fatal: not a git repository (or any of the parent directories): .git"
LIMITS = {"limits__http_requests_per_second": "10000", "advice__starter_pack": "true"}
# Two tokens for one project each, of two tenants; one for all projects of the sidecar's own tenant, and one for all of
# another.
GRANTS = (
    entry("acme", ACME, ("acme", "shop"), admin=True),
    entry("globex", INTRUDER, ("globex", "shop"), admin=True),
    entry("own", EVERYWHERE, ("default", "*")),
    entry("initech", UNKNOWN),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    folder = tmp_path_factory.mktemp("tokens")
    access = write_access(folder / "access.json", GRANTS)
    with pytest.MonkeyPatch.context() as patched:
        tell_at_once(patched)
        with door(folder, {**LIMITS, "access_file": str(access)}) as running:
            yield running


def found(server: SidecarThread, token: str, tenant_id: str, project_id: str, session: str) -> list[tuple[str, int]]:
    """Task and number of events of each turn of a host's session, the oldest first."""
    request = pb.ListTurnsRequest(tenant_id=tenant_id, project_id=project_id, page_size=1000)
    with thinking(server) as stub:
        turns = stub.ListTurns(request, metadata=bearer(token)).turns
    return [(turn.task, turn.event_count) for turn in turns if turn.session_id.endswith(f":{session}")][::-1]


@pytest.mark.parametrize("kind", PLAYERS, ids=lambda kind: kind.host)
def test_one_session_id_of_two_tenants_is_two_sessions(
    kind: type[Player], server: SidecarThread, tmp_path: Path
) -> None:
    """In one folder, side by side. Seen to fail when a conversation is found by its session alone."""
    folder, session = made(tmp_path / "shop"), f"same-{kind.host}"
    one, other = (kind(server, session, folder, token=token) for token in (ACME, INTRUDER))
    for player, task in ((one, "Task of acme"), (other, "Task of globex")):
        player.asks(task)
    for player in (one, other, one):
        player.runs("true", "fine")
    for player in (one, other):
        player.answers("Done.", again=True)
    assert found(server, ACME, "acme", "shop", session) == [("Task of acme", 7)]
    assert found(server, INTRUDER, "globex", "shop", session) == [("Task of globex", 5)]
    # A token for all projects of a tenant keeps those of folders apart.
    project_id = project_of(str(folder))
    for tenant_id, token in (("default", EVERYWHERE), ("initech", UNKNOWN)):
        own = kind(server, session, folder, token=token)
        own.asks(f"Task of {tenant_id}")
        own.answers("Done.", again=True)
        assert found(server, token, tenant_id, project_id, session) == [(f"Task of {tenant_id}", 3)]


def test_what_one_tenant_switches_off_another_still_hears_of(server: SidecarThread, tmp_path: Path) -> None:
    one, other = (ClaudeCode(server, "switch", tmp_path, token=token) for token in (ACME, INTRUDER))
    assert one.heard(one.asks("sidemirror advice off")) == SWITCHED_OFF
    for player, hears in ((one, False), (other, True)):
        player.asks("Task")
        # The starter pack has a row for this.
        assert bool(player.heard(player.runs("git log", NO_REPOSITORY, 1))) is hears
        player.answers("Done.", again=True)


@pytest.mark.parametrize("kind", [one for one in PLAYERS if one.host != "cursor"], ids=lambda kind: kind.host)
def test_each_token_is_told_whether_it_is_recorded(kind: type[Player], server: SidecarThread, tmp_path: Path) -> None:
    """Cursor takes no words at a prompt."""
    for token, told in ((ACME, CHECKED), (EVERYWHERE, CHECKED)):
        player = kind(server, "check", tmp_path, token=token)
        assert player.heard(player.asks(CHECK)) == told


def test_doctor_goes_through_each_token(
    server: SidecarThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each user's home has another token. Seen to fail with a token of a third tenant."""
    for name in ("TOOL_S", "WORDS_S"):
        monkeypatch.setattr(attached, name, 20.0)
    monkeypatch.setenv("SIDEMIRROR_DATA_DIR", str(server.folder / "data"))
    monkeypatch.setenv("SIDEMIRROR_HTTP_ADDRESS", f"127.0.0.1:{server.http_port}")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name, token in (("acme", ACME), ("globex", INTRUDER), ("own", EVERYWHERE)):
        home, secret = tmp_path / name, tmp_path / f"{name}.token"
        home.mkdir()
        secret.touch(0o600)
        secret.write_text(token)
        monkeypatch.setenv("HOME", str(home))
        for host in ("claude-code", "codex", "cursor"):
            assert cli.main(["attach", host, "--token-file", str(secret), "--yes"]) == 0
        capsys.readouterr()
        assert cli.main(["doctor", "--attach", "--json"]) == 0
        findings: list[Any] = json.loads(capsys.readouterr().out)["findings"]
        assert all(one["ok"] for one in findings)
        assert len(findings) > 10
    assert found(server, ACME, "acme", "shop", "doctor") == []


def test_a_call_with_anothers_token_reports_into_nobodys_turn(server: SidecarThread, tmp_path: Path) -> None:
    """The session and the ids of its calls are known to the other tenant."""
    folder = made(tmp_path / "shop")
    own = ClaudeCode(server, "stolen", folder, token=ACME)
    own.asks("Task")
    payload = own.ran(BAD, FAILURE, 1)
    own.sends(payload)
    thief = ClaudeCode(server, "stolen", folder, token=INTRUDER)
    thief.number = own.number
    thief.sends(payload)
    thief.answers("Stolen.", again=True)
    own.answers("Done.", again=True)
    assert found(server, ACME, "acme", "shop", "stolen") == [("Task", 5)]
    assert found(server, INTRUDER, "globex", "shop", "stolen") == [("", 5)]
