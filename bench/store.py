"""Writes: one caller over gRPC against echo and fdatasync, and many at the port against one big transaction."""

import asyncio
import os
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import grpc

from bench import calls
from bench.figures import Figure, Scale, median, now, share, us
from bench.floor import ECHO
from bench.hot import timed
from bench.processes import Servers
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.trace.log import TURN_TOPIC, Batch, Draft, TurnHead, TurnStanding
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope

_BLOCK = 25
_WRITERS = 64
_SCOPE = Scope("t", "p")
_BODY = b'{"type":"event","text":"' + b"x" * 270 + b'"}'


async def durable_write(servers: Servers, scale: Scale) -> list[Figure]:
    """ReportEvents with one event; the disk's share is an append of a page and fdatasync beside the server's data."""
    floor, sidecar = await servers.floor(), await servers.sidecar()
    async with grpc.aio.insecure_channel(sidecar.address) as channel, grpc.aio.insecure_channel(floor.address) as bare:
        begin: Any = channel.unary_unary(calls.START_TURN)
        report: Any = channel.unary_unary(calls.REPORT_EVENTS)
        echo: Any = bare.unary_unary(ECHO)
        turn_id = calls.turn_of(await begin(calls.start_turn("written")))
        number = 0

        async def write() -> None:
            nonlocal number
            number += 1
            await report(calls.report_event(turn_id, number))

        payload = bytes(len(calls.report_event(turn_id, 1)))
        file = os.open(servers.folder / "appended", os.O_CREAT | os.O_WRONLY | os.O_APPEND)

        async def sync() -> None:
            os.write(file, bytes(4096))
            os.fdatasync(file)

        took: dict[str, list[float]] = {"write": [], "echo": [], "fdatasync": []}
        for round_ in range(scale.rounds * 4 + 1):
            for name, call in (("write", write), ("echo", lambda: echo(payload)), ("fdatasync", sync)):
                times = await timed(_BLOCK, call)
                if round_:
                    took[name].extend(times)
        os.close(file)
    own, floor_s = median(took["write"]), median(took["echo"]) + median(took["fdatasync"])
    p99 = share(took["write"], 0.99)
    detail = f"{us(own)} against {us(median(took['echo']))} + {us(median(took['fdatasync']))}"
    return [
        Figure("durable write, one caller: p50 / (echo + fdatasync)", own / floor_s, 1.5, True, "×", detail),
        Figure("durable write, one caller: p99 / its own p50", p99 / own, 2.0, True, "×",
               f"{us(p99)} against {us(own)}; fdatasync's p99 alone {us(share(took['fdatasync'], 0.99))}"),
    ]  # fmt: skip


async def writers(servers: Servers, scale: Scale) -> list[Figure]:
    """64 tasks, each appending entries to a turn of its own, against all the rows in one transaction of plain SQL."""
    rates: dict[str, list[float]] = {"one": [], "one append": [], "many": []}
    for _ in range(scale.rounds):
        for name, run in (("one", _one_transaction), ("one append", _one_append), ("many", _many_writers)):
            with tempfile.TemporaryDirectory(dir=servers.folder) as folder:
                database = await SqliteDatabase.open(Path(folder), now_us=0)
                try:
                    rates[name].append(await run(database, scale.writes))
                finally:
                    await database.close()
    ratio = median([many / one for many, one in zip(rates["many"], rates["one"], strict=True)])
    detail = f"{median(rates['many']):,.0f} entries/s against {median(rates['one']):,.0f}; "
    detail += f"all in one call of the port {median(rates['one append']):,.0f}"
    return [Figure("64 writers at the port: entries / one transaction's", ratio, 0.5, False, "×", detail)]


def _head(number: int, last: int) -> TurnHead:
    return TurnHead(
        TurnId(f"turn{number}"), SessionId(f"session{number}"), 1, TurnStanding.OPEN, last, 1, 1, b'{"task":"x"}'
    )


async def _many_writers(database: SqliteDatabase, each: int) -> float:
    log = SqliteTurnLog(database)

    async def writer(number: int) -> None:
        for sequence in range(1, each + 1):
            await log.append(_SCOPE, (Batch(_head(number, sequence), (Draft(sequence, 1, _BODY),)),))

    began = now()
    await asyncio.gather(*[writer(number) for number in range(_WRITERS)])
    return _WRITERS * each / (now() - began)


async def _one_append(database: SqliteDatabase, each: int) -> float:
    drafts = tuple(Draft(sequence, 1, _BODY) for sequence in range(1, each + 1))
    batches = tuple(Batch(_head(number, each), drafts) for number in range(_WRITERS))
    began = now()
    await SqliteTurnLog(database).append(_SCOPE, batches)
    return _WRITERS * each / (now() - began)


async def _one_transaction(database: SqliteDatabase, each: int) -> float:
    place = (_SCOPE.tenant_id, _SCOPE.project_id)
    entries = [
        (*place, TURN_TOPIC, f"turn{number}", f"session{number}", sequence, 1, _BODY)
        for sequence in range(1, each + 1)
        for number in range(_WRITERS)
    ]
    turns = [(*place, f"turn{n}", f"session{n}", 1, "open", each, 1, 1, b'{"task":"x"}') for n in range(_WRITERS)]

    def all_rows(connection: sqlite3.Connection) -> None:
        connection.executemany(
            "INSERT INTO log_entries (tenant_id, project_id, topic, key, group_id, sequence, at_us, body) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            entries,
        )
        connection.executemany("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '')", turns)

    began = now()
    await database.write(all_rows, long=True)
    return _WRITERS * each / (now() - began)
