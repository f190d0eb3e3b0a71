"""The harness itself: an oracle that sees nothing would let every fault pass."""

import asyncio
import contextlib
import inspect
from pathlib import Path

import pytest

from sidemirror_server.assembly import stores as opened
from sidemirror_server.assembly.stores import PORTS
from sidemirror_server.settings import load
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.storage.sqlite.work import SqliteWork
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import StoreFull, StoreUnavailable
from tests.faults.journal import Journal, Outcome
from tests.faults.proxy import FaultProxy
from tests.faults.stores import Fault, Switch, behind, put_before, writes


def journal() -> Journal:
    made = Journal()
    for operation in ("kept", "refused", "unknown"):
        made.begin(operation)
    made.ok("kept")
    made.fail("refused")
    return made


@pytest.mark.parametrize(
    ("found", "violations"),
    [
        (["kept"], []),
        (["kept", "unknown"], []),
        ([], ["lost: kept"]),
        (["kept", "kept"], ["2 times: kept"]),
        (["kept", "unknown", "unknown"], ["2 times: unknown"]),
        (["kept", "refused"], ["refused and there: refused"]),
        (["kept", "other"], ["never sent: other"]),
    ],
)
def test_the_oracle_sees(found: list[str], violations: list[str]) -> None:
    assert journal().violations(found) == violations


def test_what_was_ok_stays_ok_when_it_is_sent_again() -> None:
    made = journal()
    made.begin("kept")
    made.begin("refused")
    assert [made.count(outcome) for outcome in Outcome] == [1, 0, 2]


class Database:
    async def write(self, number: int) -> int:
        return number


class Port:
    _database = Database()

    async def append(self, number: int) -> int:
        return await self._kept(number)

    async def _kept(self, number: int) -> int:
        return await self._database.write(number)

    async def read(self, number: int) -> int:
        return -number


async def test_the_switch() -> None:
    switch = Switch()
    port = Port()
    put_before(port, switch)
    assert (await port.append(1), await port.read(1)) == (1, -1)
    switch.turn(Fault.FULL)
    assert await port.read(2) == -2
    with pytest.raises(StoreFull):
        await port.append(2)
    switch.turn(Fault.AWAY)
    with pytest.raises(StoreUnavailable):
        await port.read(3)
    switch.turn(Fault.HANGS)
    waiting = asyncio.ensure_future(port.append(4))
    done, _ = await asyncio.wait([waiting], timeout=0.02)
    assert not done
    switch.turn(Fault.NONE)
    assert await asyncio.wait_for(waiting, 1) == 4


async def test_the_switch_stands_before_every_port(tmp_path: Path) -> None:
    """Every verb of every port. Seen to fail when a port is left out."""
    switch = Switch()
    async with contextlib.AsyncExitStack() as stack:
        settings = load({"data_dir": str(tmp_path)}, {})
        stores = await behind(switch, opened._embedded)(settings, SystemClock(), stack)
        switch.turn(Fault.AWAY)
        for port in PORTS:
            adapter = getattr(stores, port)
            verbs = [name for name, verb in vars(type(adapter)).items() if inspect.iscoroutinefunction(verb)]
            assert verbs
            for verb in (name for name in verbs if not name.startswith("_")):
                with pytest.raises(StoreUnavailable):
                    await getattr(adapter, verb)()


def test_which_verbs_write() -> None:
    assert all(writes(SqliteMemories, verb) for verb in ("learn", "revise", "delete", "put", "report"))
    assert not any(writes(SqliteMemories, verb) for verb in ("get", "list", "versions", "outcome"))
    assert all(writes(SqliteWork, verb) for verb in ("put", "claim", "extend", "finish", "purge", "forget"))
    assert not any(writes(SqliteWork, verb) for verb in ("get", "list", "count", "waiting", "scopes"))
    assert all(writes(SqliteTurnLog, verb) is (verb == "append") for verb in ("append", "read", "tail", "heads"))


async def test_the_proxy() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, FaultProxy(f"127.0.0.1:{server.sockets[0].getsockname()[1]}") as proxy:
        host, _, port = proxy.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"hello")
        assert await reader.readexactly(5) == b"hello"
        proxy.swallow()
        writer.write(b"later")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.readexactly(5), 0.02)
        proxy.pass_on()
        assert await asyncio.wait_for(reader.readexactly(5), 1) == b"later"
        proxy.cut_after(5 + 3)
        writer.write(b"12345")
        assert await asyncio.wait_for(reader.read(), 1) == b"123"
        writer.close()
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"again")
        assert await reader.readexactly(5) == b"again"
        proxy.reset()
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(reader.read(), 1)
        writer.close()
