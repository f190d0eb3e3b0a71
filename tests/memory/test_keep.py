"""Judging a lesson holds up no other call."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.lessons import keeping as keep
from sidemirror_server.memory.lessons.keeping import Ids, Keeper, Trust, judged_by_episode
from sidemirror_server.memory.lessons.trust import steering, steering_of_own
from sidemirror_server.rpc.memory.results import result_of
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database


async def test_a_lesson_is_judged_beside_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """4 MiB of what tools said take most of a second. Seen to fail when `keep`, or `judged_by_episode`, calls
    `steering` itself."""
    threads: list[int] = []

    def watched(judge: Callable[..., str]) -> Callable[..., str]:
        def judged(*texts: list[str]) -> str:
            threads.append(threading.get_ident())
            return judge(*texts)

        return judged

    monkeypatch.setattr(keep, "steering", watched(steering))
    monkeypatch.setattr(keep, "steering_of_own", watched(steering_of_own))
    result, _ = result_of(pb.ReflectionResult(reflection_text="Add an index."), "", (), 0)
    async with sqlite_database(tmp_path) as database:
        keeper = Keeper(SqliteMemories(database), SystemClock(), Trust())
        await keeper.keep(Scope("acme", "shop"), result, Ids("r", "s"))
    await judged_by_episode(result, ["said " * 100], ())
    assert len(threads) == 2
    assert threading.get_ident() not in threads
