"""Every command that reads what is stored, while that cannot be read: none says that there is nothing."""

import argparse
import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.cli import command_line, main
from sidemirror_server.operations.watch import follow
from sidemirror_server.rpc.sidecar import get_server_info
from tests.faults.process import Process
from tests.faults.sidecars import running, server_info
from tests.faults.stores import Fault, Switch
from tests.faults.waiting import until
from tests.goals.agents import a_report, connected, until_ended
from tests.postgres.databases import Databases
from tests.redis.server import RedisServer

UNREACHABLE = 69
# By command and verb, what it is called with. `usage` has a part of its answer from elsewhere.
READ = {
    "usage": ("usage",),
    "goals list": ("goals", "list"),
    "goals dead": ("goals", "dead"),
    "goals show": ("goals", "show"),
    "goals retry": ("goals", "retry", "--all"),
    "memory search": ("memory", "search", "anything"),
    "memory show": ("memory", "show", "m"),
    "memory lessons": ("memory", "lessons"),
    "memory review": ("memory", "review", "m", "active", "--reason", "because"),
    "memory export": ("memory", "export"),
    "memory dreams": ("memory", "dreams"),
    "memory prunings": ("memory", "prunings"),
    "memory recoveries": ("memory", "recoveries"),
    "turns list": ("turns", "list"),
    "turns show": ("turns", "show", "t"),
    "turns why": ("turns", "why"),
    "policy show": ("policy", "show"),
    "advice show": ("advice", "show"),
}
# Commands that say nothing of what is stored, or are tested elsewhere.
OTHERS = {
    "memory import": "it reads a file, and writes",
    "mcp": "tests/http/test_mcp_stdio.py",
    "watch": "it waits, and says why: test_a_watch_says_what_it_waits_for",
    "health": "it tells the health of services: tests/faults/test_full_disk.py",
    "doctor": "it looks at the store itself: tests/operations/test_doctor_shared.py",
    "backup": "tests/storage/test_sqlite_backup.py",
    "erase": "it writes: tests/operations/test_erase.py",
    "policy set": "it writes: tests/operations/test_policy.py",
    "advice off": "it writes: tests/operations/test_policy.py",
    "advice on": "it writes: tests/operations/test_policy.py",
    "restore": "tests/storage/test_sqlite_backup.py",
    **dict.fromkeys(("serve", "demo", "replay", "migrate"), "it shows nothing that was stored before"),
    **dict.fromkeys(
        ("console", "service install", "service update", "service status", "service remove"),
        "it asks no store: tests/operations/test_console.py and test_service.py",
    ),
    "fingerprint": "it asks nobody: tests/operations/test_fingerprint.py",
    **dict.fromkeys(("attach", "detach"), "it asks no store: tests/operations/attach"),
}


def verbs() -> Iterator[str]:
    """Every command of the command line, with each of its verbs."""

    def inner(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
        found = [one.choices for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
        return {name: each for choices in found for name, each in choices.items()}

    for name, command in inner(command_line()).items():
        yield from [f"{name} {verb}" for verb in inner(command)] or [name]


def test_every_command_is_here() -> None:
    assert set(verbs()) == {*READ, *OTHERS}


async def said(capsys: pytest.CaptureFixture[str], address: str, *arguments: str) -> tuple[int, str, str]:
    """A command's exit code, and what it prints on either side."""
    capsys.readouterr()
    code = await asyncio.to_thread(main, [*arguments, "--address", address])
    told = capsys.readouterr()
    return code, told.out, told.err


@pytest.mark.parametrize("fault", [Fault.AWAY, Fault.HANGS])
async def test_while_the_store_is_away(
    fault: Fault, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail when GetServerInfo does not say that spending is unknown, and when it waits for a store that stands
    still: `usage` said that no model was asked and no cap is set, with exit code 0."""
    monkeypatch.setattr(get_server_info, "_SOON_S", 0.1)
    switch = Switch()
    asked = READ if fault is Fault.AWAY else {"usage": READ["usage"]}
    async with running(tmp_path, switch=switch) as served:
        before = {name: await said(capsys, served.address, *asked[name]) for name in asked}
        switch.turn(fault)
        try:
            found = {name: await said(capsys, served.address, *arguments) for name, arguments in asked.items()}
            in_json = await said(capsys, served.address, "usage", "--json")
            costs = await said(capsys, served.address, "usage", "--by", "project", "--json")
            info = await server_info(served.address)
        finally:
            switch.turn(Fault.NONE)
    assert {name: code for name, (code, _, _) in found.items()} == dict.fromkeys(asked, UNREACHABLE)
    assert {name: out for name, (_, out, _) in found.items() if out and name != "usage"} == {}
    models = before["usage"][1].partition("Who sent most")[0]
    assert found["usage"][1].partition("Who sent most")[0] == models, "the models are known all the same"
    assert "critique" in models
    assert "No " not in found["usage"][1]
    assert found["usage"][2].endswith("sidemirror: the store does not answer: spending and caps are not known\n")
    assert in_json[0] == UNREACHABLE
    assert costs == (UNREACHABLE, "", "sidemirror: the store does not answer: what was spent is not known\n")
    assert {**json.loads(in_json[1]), "models": 0, "traffic": 0} == {"models": 0, "traffic": 0, "spend_unknown": True}
    assert info.spend_unknown
    assert (len(info.spend), len(info.spend_caps)) == (0, 0)


async def test_while_the_sidecar_is_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in READ.values():
        code, out, err = await said(capsys, f"unix:{tmp_path}/none", *arguments)
        assert (code, out) == (UNREACHABLE, ""), arguments
        assert "nothing can be reached at unix:" in err


async def test_a_failed_export_leaves_the_last_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail when the file is opened before the sidecar has answered."""
    switch, file = Switch(), tmp_path / "memories"
    async with running(tmp_path, switch=switch) as served:
        file.write_text("the last one")
        switch.turn(Fault.AWAY)
        assert (await said(capsys, served.address, "memory", "export", str(file)))[0] == UNREACHABLE
        assert file.read_text() == "the last one"
        switch.turn(Fault.NONE)
        assert (await said(capsys, served.address, "memory", "export", str(file)))[0] == 0
    assert file.read_text() == ""


async def test_a_watch_says_what_it_waits_for(tmp_path: Path) -> None:
    """Seen to fail when every break is told as a lost connection."""
    switch, told = Switch(), list[str]()
    async with running(tmp_path, switch=switch) as served:
        switch.turn(Fault.AWAY)

        async def first() -> pb.TurnEntry:
            return await anext(follow(served.address, pb.WatchTurnsRequest(), told.append))

        watching = asyncio.create_task(first())
        await until(lambda: bool(told))
        switch.turn(Fault.NONE)
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="t"), timeout=60)
        assert (await watching).sequence == 1
    assert told[0].startswith(f"the sidecar at {served.address} answers, but not its store: The store did not answer")
    assert told[1:] == [f"{served.address} answers again"]


@pytest.mark.slow("stores are stopped and killed")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("fault", [signal.SIGSTOP, signal.SIGKILL])
async def test_while_postgres_and_redis_are_away(
    fault: signal.Signals,
    durable: Databases,
    own_server: RedisServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Redis first, then Postgres. Seen to fail when GetServerInfo does not say that spending is unknown."""
    name = await durable.create()
    settings = {"database_url": durable.cluster.url("sidecar", name), "redis_url": own_server.url}
    async with Process(tmp_path, settings) as process:
        address = process.address
        async with connected(address) as stub:
            await stub.ReportGoal(a_report("g"), timeout=60)
            await until_ended(stub, 1, within_s=60)
        assert (await said(capsys, address, "goals", "show", "g"))[0] == 0
        own_server.send(fault)
        try:
            # What Redis has is not known; reports and spending are.
            code, out, _ = await said(capsys, address, "goals", "show", "g")
            assert (code != 0, out) == (True, "")
            code, out, _ = await said(capsys, address, "goals", "list")
            assert (code, " g failed" in out) == (0, True)
            assert (await said(capsys, address, "usage"))[0] == 0
            durable.cluster.send(fault)
            try:
                for arguments in READ.values():
                    code, out, _ = await said(capsys, address, *arguments)
                    assert code != 0, arguments
                    assert out == "" or arguments[0] == "usage"
                assert (await said(capsys, address, "usage"))[0] == UNREACHABLE
            finally:
                durable.cluster.send(signal.SIGCONT)
        finally:
            own_server.send(signal.SIGCONT)
