"""Measures of what is kept: writes over kills, growth, and what is left after an erasure."""

import random
import threading
from collections.abc import Iterator
from pathlib import Path

from bench.scoreboard.made import FAILURES, episode, topics
from bench.scoreboard.rows import Found, Scale
from bench.scoreboard.running import Ended, Place, Running

_KILLED_AFTER_S = (0.05, 1.0)
_ASKED_OF_LOST = 20
_ECHO_CHARS = 2_000


def lost(place: Place, scale: Scale) -> Iterator[Found]:
    """One caller keeps texts, one after the other, until the whole contender is killed at a moment drawn by chance."""
    chance, data = random.Random("kills"), place.new_folder()
    acknowledged: dict[str, str] = {}
    for kill in range(scale.kills):
        with place.opened(data) as running:
            running("kept", user="user")  # it is up
            killed = threading.Timer(chance.uniform(*_KILLED_AFTER_S), running.kill)
            killed.start()
            _keep_until_killed(running, kill, acknowledged)
            killed.join()
    with place.opened(data) as running:
        there = set(running("kept", user="user"))
        running("settle", user="user")
        asked = sorted(there & set(acknowledged))
        asked = random.Random("asked").sample(asked, min(_ASKED_OF_LOST, len(asked)))
        unfound = sum(_is_unfound(running, acknowledged[one]) for one in asked)
    yield Found("lost", len(set(acknowledged) - there), f"{scale.kills} kills, {len(acknowledged)} acknowledged")
    yield Found("unfound", unfound, f"{len(asked)} asked for")


def _keep_until_killed(running: Running, kill: int, acknowledged: dict[str, str]) -> None:
    for number in range(1_000_000):
        text = f"Ticket {kill}-{number} was closed by desk w{kill}x{number} on the second floor."
        try:
            (one,) = running("keep", user="user", texts=[text])
        except Ended:
            return
        acknowledged[one] = text


def _is_unfound(running: Running, text: str) -> bool:
    return text not in [found for _, found in running("find", user="user", text=text, k=5)]


def growth(place: Place, scale: Scale) -> Iterator[Found]:
    """An agent lives the same failing episode again and again. Of the echo each transcript begins with what the agent
    was told before it, at most 2,000 characters."""
    steps = episode(FAILURES[0], 0, repaired=False)
    task = FAILURES[0].task
    data = place.new_folder()
    with place.opened(data) as running:
        running("live", user="user", task=task, steps=steps, outcome="failure")
        running("settle", user="user")
        running.stop()
    before = _size(data)
    with place.opened(data) as running:
        for _ in range(scale.replays - 1):
            running("live", user="user", task=task, steps=steps, outcome="failure")
        running("settle", user="user")
        yield Found("grown", len(running("kept", user="user")), f"{scale.replays} replays")
        running.stop()
        yield Found("grown-bytes", (_size(data) - before) / (scale.replays - 1), f"{scale.replays} replays")
    with place.opened() as running:
        for _ in range(scale.echoes):
            echo = running("told", user="user", task=task)[:_ECHO_CHARS]
            running("live", user="user", task=f"{echo}\n{task}" if echo else task, steps=steps, outcome="failure")
        running("settle", user="user")
        yield Found("grown-echo", len(running("kept", user="user")), f"{scale.echoes} replays")


def _size(data: Path) -> int:
    return sum(path.stat().st_size for path in data.rglob("*") if path.is_file())


def erasure(place: Place, scale: Scale) -> Iterator[Found]:
    """One user's texts hold canaries and are deleted; another's stay. Then every file is read for their bytes."""
    data = place.new_folder()
    canaries = [f"zephyrquartz{number:03}kestrel" for number in range(scale.canaries)]
    with place.opened(data) as running:
        running("keep", user="stays", texts=[topic.lesson for topic in topics()])
        running("keep", user="goes", texts=[f"The badge of the visitor is {canary} today." for canary in canaries])
        running("settle", user="goes")
        for canary in canaries:
            running("find", user="goes", text=f"badge {canary}", k=5)
        seen = _found(data, canaries)
        if not seen:
            raise Ended("no canary was in any file before the deletion: this measures nothing")
        running("forget", user="goes")
        left = [running("read", user="goes", memory=one) for one in running("kept", user="goes")]
        detail = f"{len(seen)} of {len(canaries)} seen in files before; {len(left)} still listed"
        while_running = _found(data, canaries)
        yield Found("residue", len(while_running), f"{detail}; in {_names(while_running)}")
        running.stop()
    stopped = _found(data, canaries)
    yield Found("residue-stopped", len(stopped), f"in {_names(stopped)}")


def _found(data: Path, canaries: list[str]) -> dict[str, set[str]]:
    """Where the bytes of canaries are, whatever their case."""
    where: dict[str, set[str]] = {}
    for path in filter(Path.is_file, data.rglob("*")):
        read = path.read_bytes().lower()
        for canary in canaries:
            if canary.encode() in read:
                where.setdefault(canary, set()).add(path.name)
    return where


def _names(where: dict[str, set[str]]) -> str:
    return ", ".join(sorted(set().union(*where.values()))) or "no file"
