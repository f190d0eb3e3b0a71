"""Two calls with the same request_id at the same time: the second waits for the first one's answer."""

import asyncio
from pathlib import Path

import pytest

from sidemirror_server.rpc.boundary.requests import Once, Served
from sidemirror_server.storage.sqlite.requests import SqliteRequests
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import StoreFull
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from tests.adapters.sqlite_store import sqlite_database


@pytest.mark.parametrize(
    ("error", "served"), [pytest.param(TimeoutError(), 2, id="deadline"), pytest.param(StoreFull(), 1, id="other")]
)
async def test_the_deadline_of_the_first_call_is_not_that_of_the_second(
    error: Exception, served: int, tmp_path: Path
) -> None:
    """Every other error is both calls'. Seen to fail when the second call gets the first one's TimeoutError."""
    times, begun, failing = 0, asyncio.Event(), asyncio.Event()

    async def serve() -> Served:
        nonlocal times
        times += 1
        if times == 1:
            begun.set()
            await failing.wait()
            raise error
        return b"done", True, ()

    async with sqlite_database(tmp_path) as database:
        once = Once(SqliteRequests(database), SystemClock())
        calls = [asyncio.create_task(once.answer(DEFAULT_SCOPE, "Erase", "r", b"d", serve)) for _ in range(2)]
        await begun.wait()
        failing.set()
        first, second = await asyncio.gather(*calls, return_exceptions=True)
    assert first is error
    assert second == (b"done" if served == 2 else error)
    assert times == served
