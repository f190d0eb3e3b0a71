"""Measures of what is learned and what it costs: repairs, a harmful lesson, a turn."""

import random
import re
import statistics
from collections.abc import Iterator

from bench.scoreboard.made import FAILURES, episode, topics
from bench.scoreboard.rows import Found, Scale
from bench.scoreboard.running import Place

_EPISODES, _REPAIRED = 12, 8
_CHARS_PER_TOKEN = 4
_SILENT = 20
# How a task goes without the harmful lesson, and with it.
_SUCCEEDS, _HARMED = 0.8, 0.3


def repair(place: Place, _scale: Scale) -> Iterator[Found]:
    """Of each failure twelve episodes are lived: in eight the right step repaired it, in four a wrong one did not. Then
    it comes back in three wordings, and what is told names the right step, or the wrong one."""
    right = wrong = 0
    tokens = list[float]()
    with place.opened() as running:
        for number in range(_EPISODES):
            for failure in FAILURES:
                repaired = number % 3 != 2
                steps = episode(failure, number // 3, repaired=repaired)
                outcome = "success" if repaired else "failure"
                running("live", user="user", task=failure.task, steps=steps, outcome=outcome)
        running("settle", user="user")
        for failure in FAILURES:
            for at in range(len(failure.cases)):
                said = running("repair", user="user", task=failure.task, step=episode(failure, at, repaired=True)[0])
                right += _names(said, failure.named)
                wrong += _names(said, failure.wrong)
                tokens.append(len(said) / _CHARS_PER_TOKEN)
    yield Found("repair-right", right)
    yield Found("repair-wrong", wrong)
    yield Found("repair-tokens", statistics.median(tokens), "by characters / 4")


def _names(said: str, step: str) -> bool:
    return re.search(rf"\b{re.escape(step)}\b", said) is not None


def harm(place: Place, scale: Scale) -> Iterator[Found]:
    """A task succeeds in 80 of 100 cases, with the lesson in 30. Each task asks for its block and reports its outcome,
    until the lesson is told no more: in 20 tasks in a row with the holdout of a half."""
    lesson, task = topics()[8].false, topics()[8].shared
    ends = list[int]()
    with place.opened() as running:
        for life in range(scale.lives):
            chance, user, silent, tasks = random.Random(life), f"user{life}", 0, 0
            running("keep", user=user, texts=[lesson])
            running("settle", user=user)
            while silent < _SILENT and tasks < scale.tasks:
                tasks += 1
                text, receipt = running("advised", user=user, task=task)
                told = lesson in text
                silent = 0 if told else silent + 1
                if receipt:
                    succeeded = chance.random() < (_HARMED if told else _SUCCEEDS)
                    running("report", user=user, receipt=receipt, succeeded=succeeded)
            ends.append(tasks - silent)
    yield Found("harm-tasks", statistics.median(ends), f"{scale.lives} lives, {min(ends)} to {max(ends)}")


def cost(place: Place, scale: Scale) -> Iterator[Found]:
    """With some hundred texts kept, an agent is told something for a task, and its episode is kept. Both were
    done once before, so that the sentence model has all vectors at hand for every contender."""
    some = topics()
    texts = [f"{some[at % len(some)].lesson} Seen in case {at}." for at in range(scale.kept)]
    with place.opened() as running:
        for at in range(0, len(texts), 200):
            running("keep", user="user", texts=texts[at : at + 200])
        running("settle", user="user")
        turns = [
            (f"{some[at % len(some)].shared} Case {at}.", episode(FAILURES[at % len(FAILURES)], at, repaired=True))
            for at in range(scale.turns)
        ]
        for task, steps in turns:
            running("find", user="user", text=task, k=1)
            running("live", user="before", task=task, steps=steps, outcome="success")
        asked, lived, tokens = list[float](), list[float](), list[float]()
        for task, steps in turns:
            told = running.ask("told", user="user", task=task)
            asked.append(told.took_s * 1_000)
            tokens.append(len(told.value) / _CHARS_PER_TOKEN)
            lived.append(running.ask("live", user="user", task=task, steps=steps, outcome="success").took_s * 1_000)
        resident = running.resident_mb()
    yield Found("cost-asked", statistics.median(asked), f"p99 {_p99(asked):.1f} ms, {scale.kept} texts kept")
    yield Found("cost-lived", statistics.median(lived), f"p99 {_p99(lived):.1f} ms")
    yield Found("cost-tokens", statistics.median(tokens), "by characters / 4")
    yield Found("cost-resident", resident)


def _p99(took: list[float]) -> float:
    return sorted(took)[-max(1, len(took) // 100)]
