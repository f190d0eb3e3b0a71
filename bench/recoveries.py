"""`uv run python -m bench.recoveries`: recoveries against simple baselines, on recorded runs.

Without an option, everything within the tuning part of the data: five seeded halves of its task groups, each learned
from in one direction and the other, so that each failure is asked about five times. `--aside` learns from the whole
tuning part and scores the reserved one, once, at the end (`bench/split.py`). `--classifier`, `--next`, `--advice` and
`--strangers` print one part only.
"""

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bench.recovery_advice import (
    Counted,
    Rate,
    bins,
    by_signature,
    counted,
    coverage,
    done,
    done_and_passed,
    learned,
    lift,
    lookup_signatures,
    otherwise,
)
from bench.recovery_next import METHODS, Scores, cases_of, difference, scores_of
from bench.recovery_runs import CORPORA, Run, results, runs
from bench.recovery_strangers import strangers
from bench.split import Part
from sidemirror_server.memory.recoveries.observation import MoveKind
from sidemirror_server.trace.failed import reports_failure
from tests.recorded import DATA

_SEEDS = 5
_FEWEST_IN_BIN = 30
_LOOKUP_SIGNATURES = 5

Halves = Iterator[tuple[list[Run], list[Run]]]


class Goal(NamedTuple):
    """What was wanted of a figure, and whether it is reached."""

    what: str
    wanted: str
    figure: str
    met: bool


def splits(every: Sequence[Run], aside: Sequence[Run]) -> Halves:
    """What is learned from, and what is asked about: both ways in each seeded half, or the part that is set aside."""
    if aside:
        yield list(every), list(aside)
        return
    for seed in range(_SEEDS):
        groups = sorted({run.group for run in every})
        random.Random(seed).shuffle(groups)
        first = set(groups[::2])
        one, other = [run for run in every if run.group in first], [run for run in every if run.group not in first]
        yield one, other
        yield other, one


def classifier(part: Part) -> None:
    """Precision and recall of `failed.py`, as if no tool had said that it failed."""
    print("\n## What failed, if no tool said so\n")
    print("| set | results | failed | precision | recall | with a text | failed by their wording: recall |")
    print("|---|---|---|---|---|---|---|")
    every: list[tuple[bool, str]] = []
    for name, (recorded, worded) in results(DATA, part).items():
        every += recorded
        print(f"| {name} | {_classified(recorded)} | {_recall(worded)} |")
    print(f"| all | {_classified(every)} | |")


def _classified(pairs: Sequence[tuple[bool, str]]) -> str:
    told = [(failed, reports_failure(text)) for failed, text in pairs]
    hits = sum(failed and found for failed, found in told)
    precision = _share(hits, sum(found for _, found in told))
    said = _recall([(failed, text) for failed, text in pairs if text.strip()])
    return f"{len(pairs)} | {sum(failed for failed, _ in told)} | {precision} | {_recall(pairs)} | {said}"


def _recall(pairs: Sequence[tuple[bool, str]]) -> str:
    failures = [text for failed, text in pairs if failed]
    return _share(sum(map(reports_failure, failures)), len(failures))


def next_step(every: Sequence[Run], aside: Sequence[Run]) -> list[Goal]:
    """The next step where it differs from the failed call, InterCode."""
    scores: dict[str, list[Scores]] = defaultdict(list)
    for train, test in splits(every, aside):
        learned_from = cases_of(train)
        asked = [case for case in cases_of(test) if case.is_recovered]
        rows = [row for run in train for row in run.observations]
        for name, method in METHODS.items():
            scores[name] += scores_of(method(learned_from, rows), asked)
    print("\n## Next step where it differs, InterCode\n")
    print("| method | at 1 | in 3 | by kind at 1 | in 3 |\n|---|---|---|---|---|")
    for name, of in scores.items():
        print(f"| {name} | {' | '.join(f'{share:.3f}' for share in _hits(of))} |")
    ours = scores["recoveries"]
    groups = len({one.group for one in ours})
    print(f"\n{len(ours)} questions about failures of {groups} task groups. Recoveries minus, with the interval:")
    goals = [
        Goal(f"next step {what}", f"≥ {wanted:.2f}", f"{share:.3f}", share >= wanted)
        for what, wanted, share in zip(
            ("at 1", "in 3", "by kind at 1", "by kind in 3"), (0.5, 0.6, 0.6, 0.7), _hits(ours), strict=True
        )
    ]
    for name in ("nearest five episodes", "nearest five failures"):
        differences = [difference(ours, scores[name], at) for at in (0, 1)]
        one, three = (f"{mean:+.3f} ({low:+.3f} to {high:+.3f})" for mean, low, high in differences)
        print(f"- {name}: at 1 {one}, in 3 {three}")
        goals += [
            Goal(f"at 1, minus {name}", "interval above 0", one, differences[0][1] > 0),
            Goal(f"in 3, minus {name}", "≥ 0", three, differences[1][0] >= 0),
        ]
    return goals


def _hits(scores: Sequence[Scores]) -> list[float]:
    return [sum(one.hits[at] for one in scores) / len(scores) for at in range(4)]


def _worked(what: str, rate: Rate) -> Goal:
    return Goal(what, "≥ 0.75", str(rate), rate.share >= 0.75)


def advice(corpora: dict[str, Sequence[Run]], asides: dict[str, Sequence[Run]]) -> list[Goal]:
    """Coverage, what worked, calibration and lift."""
    found = {
        name: [row for train, test in splits(every, asides[name]) for row in counted(learned(train), test)]
        for name, every in corpora.items()
    }
    every = [row for rows in found.values() for row in rows]
    print("\n## Advice\n\n| corpus | failures | repaired: with advice | done as advised: worked | otherwise | lift |")
    print("|---|---|---|---|---|---|")
    for name, of in (*found.items(), ("all", every)):
        print(f"| {name} | {len(of)} | {coverage(of)} | {done(of)} | {otherwise(of)} | {_lift(of)} |")
    apart = _calibration(found)
    lookups = _signatures(found)
    there = sum(len(lookup_signatures(every)) for every in corpora.values())
    print(f"\nIn what was learned from, look-ups repaired {there} signatures in two sessions or more.")
    goals = []
    for name, of in (("InterCode", found["intercode"]), ("all", every)):
        goals += [
            Goal(f"{name}: repaired calls with advice", "≥ 0.50", str(coverage(of)), coverage(of).share >= 0.5),
            _worked(f"{name}: done as advised, worked", done_and_passed(of)),
            _worked(f"{name}: done as advised, worked in a turn that did not fail", done(of)),
            Goal(f"{name}: lift within the same agent", "≥ 0.40", _lift(of), (lift(of) or 0.0) >= 0.4),
        ]
    farthest = max(apart, default=1.0)
    return [
        *goals,
        Goal(f"promised against observed, bins of {_FEWEST_IN_BIN}", "≤ 0.10", f"{farthest:.2f}", farthest <= 0.1),
        Goal(
            "signatures of look-up advice",
            f"≥ {_LOOKUP_SIGNATURES}",
            f"{lookups} of {there} there are",
            lookups >= _LOOKUP_SIGNATURES,
        ),
    ]


def _lift(rows: Sequence[Counted]) -> str:
    within = lift(rows)
    return "none" if within is None else f"{within:+.2f}"


def _calibration(found: dict[str, list[Counted]]) -> list[float]:
    """Prints what was promised against what was observed; how far apart they are in bins that are large enough."""
    print("\n| corpus | promised | observed | apart |\n|---|---|---|---|")
    distances = []
    for name, rows in found.items():
        for promised, rate in bins(rows):
            distance = abs(promised - rate.share)
            is_large = rate.tries >= _FEWEST_IN_BIN
            distances += [distance] if is_large else []
            print(f"| {name} | {promised:.2f} | {rate} | {f'{distance:.2f}' if is_large else 'too few'} |")
        for promised, rate in bins(rows, parts=1):
            print(f"| {name}, all bins | {promised:.2f} | {rate} | {abs(promised - rate.share):.2f} |")
    return distances


def _signatures(found: dict[str, list[Counted]]) -> int:
    """Prints each signature with advice; how many of them have look-up advice."""
    print("\n| signature | kind | done as advised: worked | otherwise |\n|---|---|---|---|")
    macro, lookups = [], set()
    for rows in found.values():
        for signature, of in sorted(by_signature(rows).items()):
            kinds = sorted({row.kind for row in of if row.kind is not None})
            print(f"| `{signature.replace('|', ' / ')}` | {', '.join(kinds)} | {done(of)} | {otherwise(of)} |")
            macro += [done(of).share] if done(of).tries else []
            lookups |= {signature} if MoveKind.LOOKED_UP in kinds else set()
    mean = f"{sum(macro) / len(macro):.2f}" if macro else "none"
    print(f"\nMacro-averaged over {len(macro)} signatures, {mean} worked.")
    return len(lookups)


def customers(every: Sequence[Run]) -> None:
    """Whether a sentence learned from tau episodes holds what belongs to one customer."""
    leaks, sentences, values = strangers(every)
    print("\n## Customers' values\n")
    found = f"{len(leaks)} of {values} ids, names, orders and payments stand in a row"
    print(f"{found} or in one of {len(sentences)} sentences.")
    for leak in leaks:
        print(f"- {leak}")


def _share(part: int, of: int) -> str:
    return f"{part / of:.3f}" if of else "none"


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.recoveries")
    parser.add_argument("--aside", action="store_true", help="score the reserved part, learned from the tuning part")
    for part in ("classifier", "next", "advice", "strangers"):
        parser.add_argument(f"--{part}", action="store_true", help="this part only")
    options = parser.parse_args(None if arguments is None else list(arguments))
    if not DATA.is_dir():
        sys.stdout.write("skipped: no recorded data in ../shared/data\n")
        return
    everything = not (options.classifier or options.next or options.advice or options.strangers)
    print("Learned from the tuning part, asked about", "the reserved part." if options.aside else "its other half.")
    if everything or options.classifier:
        classifier(Part.RESERVED if options.aside else Part.TUNING)
    if not (everything or options.next or options.advice or options.strangers):
        return
    corpora: dict[str, Sequence[Run]] = {name: runs(DATA, name, Part.TUNING) for name in CORPORA}
    asides: dict[str, Sequence[Run]] = {
        name: runs(DATA, name, Part.RESERVED) if options.aside else () for name in CORPORA
    }
    goals: list[Goal] = []
    if everything or options.next:
        goals += next_step(corpora["intercode"], asides["intercode"])
    if everything or options.advice:
        goals += advice(corpora, asides)
    if everything or options.strangers:
        customers([*corpora["tau"], *asides["tau"]])
    if goals:
        print("\n## What was wanted\n\n| what | wanted | figure | |\n|---|---|---|---|")
        for goal in goals:
            print(f"| {goal.what} | {goal.wanted} | {goal.figure} | {'met' if goal.met else '**missed**'} |")


if __name__ == "__main__":
    main()
