"""No customer's words or values in what the rules tell to others, over all recorded episodes of tau."""

import re
from collections.abc import Iterator

import pytest

from bench.recovery_runs import Run, runs
from bench.recovery_strangers import values_in, values_of
from bench.silence import lesson_of
from bench.split import Part
from sidemirror_server.memory.record import MemoryState
from sidemirror_server.trace.event import UserMessage
from tests.recorded import recordings

pytestmark = pytest.mark.slow("recorded episodes are read in full")

# Longer runs of a user's words are no accident. Chosen here.
_RUN_WORDS = 6


def told_of(run: Run) -> list[str]:
    """What the rules may tell to others of a run, without anybody's review. Blocks and recall take from these texts."""
    lesson = lesson_of(run)
    every = [] if lesson is None else [lesson.reflection, *([lesson.strategy] if lesson.strategy else [])]
    return [memory.content for memory in every if memory.state is MemoryState.ACTIVE]


def words_of(run: Run) -> set[tuple[str, ...]]:
    """The runs of words in what the customer said."""
    said = (event.what.text for event in run.events if isinstance(event.what, UserMessage))
    return {words for text in said for words in runs_in(text)}


def runs_in(text: str) -> Iterator[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return (tuple(words[at : at + _RUN_WORDS]) for at in range(len(words) - _RUN_WORDS + 1))


def test_nothing_of_one_customer_is_told_to_others() -> None:
    """Seen to fail when corrections are kept in force."""
    data = recordings()
    every = [run for part in Part for run in runs(data, "tau", part)]
    assert len(every) > 700
    told = 0
    leaks = []
    for run in every:
        own, said = set(values_of(run)), words_of(run)
        for text in told_of(run):
            told += 1
            found = [*values_in(text, own), *(" ".join(words) for words in runs_in(text) if words in said)]
            leaks += [f"{run.episode_id}: {one!r} in {text!r}" for one in found]
    assert told > 100
    assert leaks == []
