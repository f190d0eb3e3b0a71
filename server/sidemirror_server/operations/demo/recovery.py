"""The demonstration's recoveries: sessions of an agent that meets the same error, and what the sidecar learns of it.

The agent calls RunTurn alone. It takes a table's name for granted, tries another one, and only then looks which tables
there are; once it is told what helped before, it looks at once.
"""

import asyncio
import sqlite3
from pathlib import Path

import grpc
import msgspec

from sidemirror.v1 import common_pb2, reflective_memory_pb2_grpc, thinking_pb2_grpc
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import thinking_pb2 as thinking_pb
from sidemirror_server.operations.demo.books import query_books, write_books
from sidemirror_server.operations.turn_stream import TurnStream

# More than the gate asks for: one showing in ten is held back.
_MOST_SESSIONS = 12
_PATIENCE_S = 10.0
_QUERY = "SELECT count(*) FROM {} WHERE customer = 'Ortega' AND state = 'open'"
_GUESSES = (_QUERY.format("invoice"), _QUERY.format("bills"))
_LOOK_UP = "SELECT name FROM sqlite_master"
_RIGHT = _QUERY.format("invoices")


class Lived(msgspec.Struct, frozen=True):
    """One session: how many calls it took and how many failed, and what it was told at the failing call (or empty)."""

    number: int
    calls: int
    failed: int
    advice: str


async def sessions(channel: grpc.aio.Channel, folder: Path) -> list[Lived]:
    """Sessions until one was told, each of which is learned from before the next begins."""
    write_books(folder / "books.sqlite")
    lived: list[Lived] = []
    while len(lived) < _MOST_SESSIONS and not (lived and lived[-1].advice):
        async with TurnStream(thinking_pb2_grpc.ThinkingServiceStub(channel)) as stream:
            one = await _session(stream, folder / "books.sqlite", len(lived) + 1)
        lived.append(one)
        await _until_learned(channel, sum(each.failed for each in lived))
    return lived


async def _session(stream: TurnStream, books: Path, number: int) -> Lived:
    started = thinking_pb.TurnStarted(
        session_id=f"demo-recovery-{number}", task="How many invoices has Ortega left open?"
    )
    await stream.report([thinking_pb.TurnEvent(turn_started=started)])
    advice, calls, failed = "", 0, 0
    steps = [*_GUESSES, _LOOK_UP, _RIGHT]
    while steps:
        statement = steps.pop(0)
        calls += 1
        event, is_error = _asked(books, statement)
        failed += is_error
        call = thinking_pb.ToolCalled(name="sql", arguments=statement)
        said = await stream.report([thinking_pb.TurnEvent(tool_called=call), event])
        told = "".join(item.text for one in said for item in one.advice.block.items)
        if told:
            advice, steps = told, [_LOOK_UP, _RIGHT]
    end = thinking_pb.TurnFinished(outcome=common_pb2.TASK_OUTCOME_SUCCESS)
    await stream.report([thinking_pb.TurnEvent(turn_finished=end)])
    return Lived(number, calls, failed, advice)


def _asked(books: Path, statement: str) -> tuple[thinking_pb.TurnEvent, bool]:
    """What the database answers, as an event, and whether that is an error."""
    try:
        rows = query_books(books, statement)
    except sqlite3.Error as error:
        return thinking_pb.TurnEvent(tool_failed=thinking_pb.ToolFailed(error=str(error))), True
    found = ", ".join(str(value) for row in rows for value in row)
    return thinking_pb.TurnEvent(tool_returned=thinking_pb.ToolReturned(content=found)), False


async def _until_learned(channel: grpc.aio.Channel, failures: int) -> None:
    """Returns when so many failures are observed."""
    stub = reflective_memory_pb2_grpc.ReflectiveMemoryServiceStub(channel)
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            known = await stub.ListRecoveries(pb.ListRecoveriesRequest(), timeout=_PATIENCE_S)
            if sum(one.observation_count for one in known.signatures) >= failures:
                return
            await asyncio.sleep(0.05)
