"""Two sidecars write the same goal at once: it has as many reflections as it should, and is among the recent ones
once."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sidemirror_server.storage.redis import keys
from sidemirror_server.storage.redis.database import RedisDatabase, Scripts
from sidemirror_server.storage.redis.goal_reflections import SCRIPTS, RedisGoalReflections
from sidemirror_server.vocabulary.clock import SystemClock
from tests.architecture.repository import ROOT
from tests.conformance.goal_reflections import ONE, T0, goals, ids, reflection
from tests.faults.figures import show
from tests.redis.server import RedisServer

pytestmark = pytest.mark.usefixtures("patiently")

ROUNDS = 1_000
# For what takes a few seconds, on a machine that is busy with something else.
PATIENCE_S = 100.0


async def rounds(server: RedisServer, scripts: Scripts) -> list[str]:
    """What is wrong after each of 1,000 rounds, five of them for a goal, in which both write it at once."""
    wrong = []
    databases = [await RedisDatabase.open(server.url, scripts) for _ in range(2)]
    try:
        one, other = (RedisGoalReflections(database) for database in databases)
        for number in range(ROUNDS):
            goal_id, turn = f"g{number // 5}", number % 5
            at_us = T0 + number * 10
            made = [reflection(f"{number:04}{name}", goal_id, at_us) for name in "ab"]
            new = await asyncio.gather(one.put(ONE, made[0], at_us), other.put(ONE, made[1], at_us))
            expected = [f"{number - back // 2:04}{'ba'[back % 2]}" for back in range(min(3, 2 * turn + 2))]
            if not all(new) or ids(await one.of_goal(ONE, goal_id, at_us)) != expected:
                wrong.append(f"round {number}")
            recent = goals(await other.recent(ONE, at_us))
            if recent != [f"g{number // 5 - back}" for back in range(min(10, number // 5 + 1))]:
                wrong.append(f"recent goals in round {number}")
    finally:
        for database in databases:
            await database.close()
    return wrong


async def test_both_at_once(either_server: RedisServer) -> None:
    """Seen to fail with the script of the next test."""
    assert await rounds(either_server, SCRIPTS) == []


async def test_a_step_that_is_two_steps_would_be_noticed(valkey_itself: RedisServer, tmp_path: Path) -> None:
    """Seen to fail on it: the same with a script that reads the goal's list of a moment ago."""
    valkey_itself.ask("FLUSHALL")
    text = (Path(keys.__file__).parent / "goal_reflections.lua").read_text(encoding="utf-8")
    step = "local entries, is_new = entries_of(KEYS[1]), 1"
    old = "redis.call('COPY', KEYS[1], KEYS[1] .. 'x')\nlocal entries, is_new = entries_of(KEYS[1] .. 'x'), 1"
    stale = text.replace(step, old)
    assert stale != text
    broken = tmp_path / "broken.lua"
    broken.write_text(stale, encoding="utf-8")
    assert await rounds(valkey_itself, Scripts(broken)) != []


def writing(url: str, name: str) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "server")])}
    command = [sys.executable, "-m", "tests.redis.writer", url, name, str(ROUNDS // 2)]
    return subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE)


async def test_two_processes(either_server: RedisServer) -> None:
    """Whoever looks meanwhile sees at most three, never fewer than before, and the goal once. Seen to fail with
    the script of the test above."""
    writers = [writing(either_server.url, name) for name in "ab"]
    looks, most = 0, 0
    database = await RedisDatabase.open(either_server.url, SCRIPTS)
    try:
        reflections = RedisGoalReflections(database)
        deadline_s = time.monotonic() + PATIENCE_S
        while any(writer.poll() is None for writer in writers):
            assert time.monotonic() < deadline_s, f"the writers do not end; looked {looks} times, {most} are there"
            there = await reflections.of_goal(ONE, "g", SystemClock().now_us())
            assert most <= len(there) <= 3
            most = len(there)
            listed = await database.ask("LRANGE", keys.recent_goals(ONE), 0, -1)
            assert listed in ([], [b"g"])
            looks += 1
        there = await reflections.of_goal(ONE, "g", SystemClock().now_us())
        told = [writer.communicate()[0].decode().split("\n") for writer in writers]
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
        await database.close()
    put = sorted(((int(line.split()[0]), line.split()[1]) for lines in told for line in lines if line), reverse=True)
    assert len(put) == ROUNDS
    assert ids(there) == [name for _, name in put[:3]]
    show(f"{ROUNDS} puts by two processes, looked at {looks} times: {ids(there)}")
