"""What lives in the world come to, as tables."""

import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from bench.world.agent import Met, Role
from bench.world.conventions import CHANGES_AT, CONVENTIONS
from bench.world.running import Arm, Lived, Trials

AT_ENDS: Final = 20
"""Episodes at the beginning and at the end that are compared."""
MOST_REPAIRED: Final = 8
MOST_FAILURES_AFTER: Final = 10
MOST_FOLLOWED_AFTER: Final = 2
"""The issue's bounds: repaired episodes until advice; after a change, failures until silence, and advice followed."""
_DRAWS: Final = 1_000

T = TypeVar("T")


class Interval(NamedTuple):
    """A mean over seeds with its 95 % interval, by bootstrap."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ({self.low:+.2f} to {self.high:+.2f})"


class Taught(NamedTuple):
    """How soon a convention was told in one world, anew once it has changed. `repaired`: episodes in which the right
    option had repaired it before; `told`: the right option was named at last."""

    seed: int
    convention: str
    repaired: int
    told: bool


class After(NamedTuple):
    """What was told in one world after a convention had changed. `last`: the number of the last failure, counted from
    the change, at which the outdated option was named; 0 if at none. `followed`: failures at which it was done."""

    seed: int
    last: int
    followed: int


def by_episode(met: Iterable[Met]) -> dict[tuple[int, int], list[Met]]:
    """The calls of each episode, by seed and episode."""
    found: dict[tuple[int, int], list[Met]] = defaultdict(list)
    for one in met:
        found[one.seed, one.episode].append(one)
    return found


def curve(met: Sequence[Met], what: Callable[[Sequence[Met]], float], width: int = 10) -> list[float]:
    """The mean of something over the episodes of all seeds, in bins of `width` episodes."""
    bins: dict[int, list[float]] = defaultdict(list)
    for (_, episode), calls in by_episode(met).items():
        bins[episode // width].append(what(calls))
    return [statistics.fmean(bins[at]) for at in sorted(bins)]


def success(calls: Sequence[Met]) -> float:
    return float(all(one.true for one in calls))


def number_of_calls(calls: Sequence[Met]) -> float:
    return float(sum(one.calls for one in calls))


def taught(met: Iterable[Met]) -> list[Taught]:
    """Of each seed and convention, how soon it was told."""
    found = []
    epochs: dict[tuple[int, str, bool], list[Met]] = defaultdict(list)
    for (seed, convention), calls in _by_convention(met).items():
        for one in calls:
            epochs[seed, convention, convention.startswith("moved") and one.episode >= CHANGES_AT].append(one)
    for (seed, convention, _), calls in epochs.items():
        repaired, told = 0, False
        for one in calls:
            if Role.RIGHT in one.told:
                told = True
                break
            repaired += one.passed and Role.RIGHT in one.tried
        found.append(Taught(seed, convention, repaired, told))
    return found


def after_change(met: Iterable[Met]) -> list[After]:
    """Of each seed in which the convention was told before it changed, what was told afterwards."""
    found = []
    for (seed, convention), calls in _by_convention(met).items():
        before = [one for one in calls if one.episode < CHANGES_AT]
        if convention != "moved_flag" or not any(Role.RIGHT in one.told for one in before):
            continue
        failures = [one for one in calls if one.episode >= CHANGES_AT]
        named = [at for at, one in enumerate(failures, 1) if Role.OUTDATED in one.told]
        followed = sum(Role.OUTDATED in one.told and one.tried[:1] == (Role.OUTDATED,) for one in failures)
        found.append(After(seed, max(named, default=0), followed))
    return found


def _by_convention(met: Iterable[Met]) -> dict[tuple[int, str], list[Met]]:
    """The calls that failed, by seed and convention, in the order of the episodes."""
    found: dict[tuple[int, str], list[Met]] = defaultdict(list)
    for one in sorted(met):
        if one.failed:
            found[one.seed, one.convention].append(one)
    return found


def lift(trials: Sequence[Trials]) -> Interval:
    """The rate at which the next attempt worked after advice, minus that where it was withheld; seeds are resampled."""

    def of(some: Sequence[Trials]) -> float:
        shown = sum(one.shown_worked for one in some) / max(1, sum(one.shown for one in some))
        held_back = sum(one.held_back_worked for one in some) / max(1, sum(one.held_back for one in some))
        return shown - held_back

    return _interval(trials, of)


def gain(ours: Sequence[Met], theirs: Sequence[Met], last: int) -> Interval:
    """How many more of the last episodes succeed, seed by seed."""
    shares = [_share_by_seed(met, last) for met in (ours, theirs)]
    return _interval(
        [shares[0][seed] - shares[1][seed] for seed in sorted(shares[0].keys() & shares[1].keys())], statistics.fmean
    )


def _share_by_seed(met: Sequence[Met], last: int) -> dict[int, float]:
    end = max(one.episode for one in met) + 1
    found: dict[int, list[float]] = defaultdict(list)
    for (seed, episode), calls in by_episode(met).items():
        if episode >= end - last:
            found[seed].append(success(calls))
    return {seed: statistics.fmean(values) for seed, values in found.items()}


def _interval(values: Sequence[T], of: Callable[[Sequence[T]], float]) -> Interval:
    rng = random.Random(1)
    drawn = sorted(of(rng.choices(values, k=len(values))) for _ in range(_DRAWS))
    return Interval(of(values), drawn[int(_DRAWS * 0.025)], drawn[int(_DRAWS * 0.975)])


def table_of_arms(lives: Mapping[Arm, Lived]) -> list[str]:
    """Success and calls at both ends, by arm."""
    lines = [
        f"| arm | seeds | success: first {AT_ENDS} | last {AT_ENDS} | calls: first {AT_ENDS} | last {AT_ENDS} |",
        "|---|---|---|---|---|---|",
    ]
    for arm, one in lives.items():
        cells = []
        for what, form in ((success, "{:.2f}"), (number_of_calls, "{:.1f}")):
            values = curve(one.met, what, AT_ENDS)
            cells += [form.format(values[0]), form.format(values[-1])]
        lines.append(f"| {arm} | {len({met.seed for met in one.met})} | {' | '.join(cells)} |")
    return lines


def table_of_conventions(met: Sequence[Met]) -> list[str]:
    """What was told of each convention, and what it was worth."""
    lines = [
        "| convention | told in | repaired before: median, most | next attempt worked: told | not told | wrong |",
        "|---|---|---|---|---|---|",
    ]
    seeds = len({one.seed for one in met})
    for name in CONVENTIONS:
        of = [one for one in met if one.convention == name and one.failed]
        told = [one for one in taught(of) if one.told]
        soon = [one.repaired for one in told]
        rates = [
            _rate([one.repaired for one in of if (Role.RIGHT in one.told) is is_told]) for is_told in (True, False)
        ]
        wrong = sum(bool({Role.FALSE, Role.PLANTED} & set(one.told)) for one in of)
        spread = f"{statistics.median(soon):g}, {max(soon)}" if soon else "-"
        lines.append(
            f"| {name} | {len({one.seed for one in told})} of {seeds} | {spread} | {' | '.join(rates)} | {wrong} |"
        )
    return lines


def _rate(values: Sequence[bool]) -> str:
    return f"{sum(values) / len(values):.2f} ({len(values)})" if values else "-"


def goals(lives: Mapping[Arm, Lived], told: Arm = Arm.RECOVERIES) -> list[str]:
    """The issue's bounds, as what, wanted, figure and whether it is met. `told`: the arm that is looked at."""
    met = lives[told].met
    soon = [one for one in taught(met) if one.told]
    late = sum(one.repaired > MOST_REPAIRED for one in soon)
    after = after_change(met)
    wrong = sum(bool({Role.FALSE, Role.PLANTED} & set(one.told)) for one in met)
    rows = [
        ("told after repaired episodes, where it is told", f"≤ {MOST_REPAIRED}", f"{len(soon) - late} of {len(soon)}"),
        ("faked and planted repairs that were told", "0", str(wrong)),
    ]
    held = [late == 0, wrong == 0]
    if any(one.episode >= CHANGES_AT for one in met):
        last, followed = [one.last for one in after], [one.followed for one in after]
        rows[1:1] = [
            ("failures until silence after the change", f"≤ {MOST_FAILURES_AFTER}", _most(last)),
            ("outdated advice that was followed", f"≤ {MOST_FOLLOWED_AFTER}", _most(followed)),
        ]
        held[1:1] = [
            bool(after) and max(last) <= MOST_FAILURES_AFTER,
            bool(after) and max(followed) <= MOST_FOLLOWED_AFTER,
        ]
    for arm in (Arm.NONE, Arm.TEMPLATES):
        if arm in lives:
            found = gain(met, lives[arm].met, AT_ENDS)
            rows.append((f"success of the last {AT_ENDS} episodes, minus {arm}", "interval above 0", str(found)))
            held.append(found.low > 0)
    if Arm.WITHHELD in lives:
        found = lift(lives[Arm.WITHHELD].trials)
        rows.append(("lift of advice, against what was withheld", "interval above 0", str(found)))
        held.append(found.low > 0)
    lines = ["| what | wanted | figure | |", "|---|---|---|---|"]
    for (what, wanted, figure), is_met in zip(rows, held, strict=True):
        lines.append(f"| {what} | {wanted} | {figure} | {'met' if is_met else '**missed**'} |")
    return lines


def _most(values: Iterable[int]) -> str:
    every = sorted(values)
    return f"{every[-1]} at most, of {len(every)} worlds" if every else "never told before"
