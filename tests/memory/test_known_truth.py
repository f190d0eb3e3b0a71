"""What the evidence says of lessons of which the truth is known: of a simulated agent, over many seeded lives."""

from collections import Counter
from collections.abc import Sequence

import pytest

from sidemirror_server.memory.trials.evidence import Interval, LessonVerdict
from tests.memory.simulated import LESSONS, Run, live

TASKS, FRACTION = 2_000, 0.25


def covered(runs: Sequence[Run], name: str, *, at_any_look: bool = False) -> float:
    intervals = [run.evidence[name].at_any_look if at_any_look else run.evidence[name].interval for run in runs]
    return sum(_holds(interval, LESSONS[name].lift) for interval in intervals) / len(runs)


def _holds(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval.low <= truth <= interval.high


def retired(runs: Sequence[Run], name: str) -> float:
    return sum(name in run.retired_after for run in runs) / len(runs)


def figures(runs: Sequence[Run]) -> str:
    lines = [f"{len(runs)} agents, {TASKS} tasks each, {FRACTION:.0%} held back:"]
    for name, truth in LESSONS.items():
        after = sorted(run.retired_after[name] for run in runs if name in run.retired_after)
        tasks = f", after {after[len(after) // 2]} tasks (median; 90 %: {after[9 * len(after) // 10]})" if after else ""
        verdicts = Counter(run.evidence[name].verdict for run in runs)
        said = ", ".join(f"{verdict} {count / len(runs):.1%}" for verdict, count in verdicts.most_common())
        lines.append(
            f"lesson {name} ({100 * truth.lift:+.0f} points; outcomes missing {truth.missing_shown:.0%} with it, "
            f"{truth.missing_held_back:.0%} without): the 95 % interval covers the truth in {covered(runs, name):.1%} "
            f"(at any look {covered(runs, name, at_any_look=True):.1%}); retired in {retired(runs, name):.1%}{tasks}; "
            f"verdicts: {said}"
        )
    return "\n".join(lines)


@pytest.mark.long
@pytest.mark.timeout(1_200)
def test_over_two_thousand_lives() -> None:
    """The interval is as sure as it says, what harms is retired, what helps and what does nothing is not.

    Seen to fail when missing outcomes count as failures (over 60 lives A is covered in 67 %), when verdicts rest on the
    interval that is meant for one look (over 100 lives C is retired in 11 %), and when the arms are swapped.
    """
    runs = [live(seed, TASKS, FRACTION) for seed in range(2_000)]
    print(figures(runs))  # noqa: T201  # the figures are what this is for
    for name in LESSONS:
        assert 0.93 <= covered(runs, name) <= 0.97, name
        assert covered(runs, name, at_any_look=True) >= 0.95, name
    assert retired(runs, "B") >= 0.98
    assert retired(runs, "A") == 0.0
    assert retired(runs, "C") <= 0.025, "the confidence sequence is wrong on this side in at most so many"


def test_over_some_lives() -> None:
    """The same in short."""
    runs = [live(seed, TASKS, FRACTION) for seed in range(60)]
    assert all(covered(runs, name) >= 0.85 for name in LESSONS)
    assert retired(runs, "B") >= 0.9
    assert retired(runs, "A") == 0.0
    assert retired(runs, "C") <= 0.1
    assert {run.evidence["A"].verdict for run in runs} == {LessonVerdict.HELPS}


def test_a_life_is_the_same_again() -> None:
    assert live(7, 300, 0.5) == live(7, 300, 0.5)
