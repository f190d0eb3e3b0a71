"""Look-ups that an agent does in its shell are learned through hooks: those of databases' clients, and `npm run`."""

from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server import cli
from sidemirror_server.http.hooks.projects import project_of
from tests.http.hooks.learned import tell_at_once
from tests.http.hooks.players import ClaudeCode
from tests.http.sidecars import door
from tests.wire.sidecar import SidecarThread
from tests.wire.waiting import until

SESSIONS = 5
# The command that fails, its error, the look-up with its result, the command that works, and the name of the look-up.
REPAIRS = (
    (
        *("sqlite3 shop.db 'SELECT * FROM orderz'", "Error: in prepare, no such table: orderz"),
        *(
            "sqlite3 shop.db .tables",
            "customers  orders_2026",
            "sqlite3 shop.db 'SELECT * FROM orders_2026'",
            ".tables",
        ),
    ),
    (
        *("psql -c 'SELECT nam FROM orders'", 'ERROR:  column "nam" does not exist'),
        *(r"psql -c '\d orders'", "customer_name | text", "psql -c 'SELECT customer_name FROM orders'", r"\d"),
    ),
    (
        *("npm run biuld", 'npm error Missing script: "biuld"'),
        *("npm run", "available via `npm run`:\n  build_all\n    tsc", "npm run build_all", "npm run"),
    ),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with pytest.MonkeyPatch.context() as patched:
        tell_at_once(patched)
        given = {"advice__starter_pack": "false", "limits__http_requests_per_second": "10000"}
        with door(tmp_path_factory.mktemp("lookups"), given) as running:
            yield running


def heard_after(
    server: SidecarThread, folder: Path, bad: str, error: str, look: Callable[[ClaudeCode], object], good: str
) -> str:
    """What an agent is told when the call fails, once sessions have repaired it by a look-up."""
    for number in range(SESSIONS):
        player = ClaudeCode(server, f"learn{number}", folder)
        player.asks("Count the orders")
        assert player.heard(player.runs(bad, error, 1)) == ""
        look(player)
        player.runs(good, "17")
        player.answers("There are 17.", again=True)
    request = pb.ListRecoveriesRequest(project_id=project_of(str(folder)))
    with grpc.insecure_channel(server.address) as channel:
        stub = ReflectiveMemoryServiceStub(channel)
        until(lambda: any(m.is_told for found in stub.ListRecoveries(request).signatures for m in found.moves))
    # Each folder has sessions of its own, as in a host: this turn stays open.
    player = ClaudeCode(server, f"told in {folder.name}", folder)
    player.asks("Count the orders")
    return player.heard(player.runs(bad, error, 1))


@pytest.mark.parametrize(("bad", "error", "look_up", "result", "good", "name"), REPAIRS, ids=("sqlite3", "psql", "npm"))
def test_what_repaired_it_is_told(
    bad: str, error: str, look_up: str, result: str, good: str, name: str, server: SidecarThread, tmp_path: Path
) -> None:
    heard = heard_after(server, tmp_path, bad, error, lambda player: player.runs(look_up, result), good)
    assert f"In {SESSIONS} of {SESSIONS} earlier tries the call worked after `{name}`." in heard


def test_a_tool_of_mcp_that_repaired_it_is_told(server: SidecarThread, tmp_path: Path) -> None:
    """Seen to fail with names of tools that hold no `__`."""
    bad, error, _, result, good, _ = REPAIRS[0]

    def looks(player: ClaudeCode) -> None:
        asked = {
            "tool_name": "mcp__db__describe_table",
            "tool_use_id": player.session,
            "tool_input": {"name": "orders"},
        }
        answered = {"tool_response": [{"type": "text", "text": result}]}
        player.sends(player.common("PostToolUse") | asked | answered)

    heard = heard_after(server, tmp_path, bad, error, looks, good)
    assert f"In {SESSIONS} of {SESSIONS} earlier tries the call worked after `mcp__db__describe_table`." in heard


def test_a_person_in_the_folder_is_told_where_its_turns_and_recoveries_are(
    server: SidecarThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)
    asked = ["memory", "recoveries", "--address", server.address]
    listed = ["turns", "list", "--address", server.address]
    for command, said in (
        (asked, "No failure is counted.\n"),
        (listed, "No turn fits.\nLooked in default/default; "),
    ):
        assert cli.main(command) == 0
        assert capsys.readouterr().out.startswith(said)
    player = ClaudeCode(server, "person", folder)
    player.asks("Count the orders")
    player.runs("cat nope.txt", "cat: nope.txt: No such file or directory", 1)
    player.runs("cat note.txt", "fine")
    player.answers("Read.", again=True)
    project = project_of(str(folder))
    with grpc.insecure_channel(server.address) as channel:
        stub = ReflectiveMemoryServiceStub(channel)
        until(lambda: bool(stub.ListRecoveries(pb.ListRecoveriesRequest(project_id=project)).signatures))
    for command, said in ((asked, "missing_file"), (listed, "Count the orders")):
        assert cli.main(command) == 0
        printed = capsys.readouterr().out
        # The id that the tools of MCP are given.
        assert f"project {project}:" in printed
        named = printed.splitlines()[-1].split()
        assert named == ["sidemirror", *command[:2], "--scope", "."]
        assert cli.main([*command, *named[3:]]) == 0
        assert said in capsys.readouterr().out
        monkeypatch.chdir(tmp_path)
        assert cli.main([*command, "--scope", str(folder)]) == 0
        assert said in capsys.readouterr().out
        monkeypatch.chdir(folder)


def test_a_failure_that_nothing_has_followed_is_told_of(
    server: SidecarThread, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is learned from with the session's next turn. Seen to fail with "No failure was observed" alone."""
    folder = tmp_path / "shop"
    folder.mkdir()
    player = ClaudeCode(server, "first", folder)
    player.asks("Run sqlite3 none.db 'SELECT * FROM orders'")
    player.runs("sqlite3 none.db 'SELECT * FROM orders'", "Error: in prepare, no such table: orders", 1)
    player.answers("There is no such table.", again=True)
    asked = ["memory", "recoveries", "--address", server.address, "--scope", str(folder)]
    assert cli.main(asked) == 0
    assert capsys.readouterr().out.endswith(
        "1 call failed in turns of the last hour. A failure is counted when its turn has ended;\n"
        "one that nothing has followed yet, when the session's next turn has, or after an hour.\n"
    )
    player.number += 1
    player.asks("Go on")
    player.answers("Done.", again=True)

    def is_told() -> bool:
        return cli.main(asked) == 0 and "missing_table" in capsys.readouterr().out

    until(is_told)
