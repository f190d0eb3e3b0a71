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

from bench.recovery_advice import bins, by_signature, counted, coverage, done, learned, lift, otherwise
from bench.recovery_next import METHODS, Scores, cases_of, difference, scores_of
from bench.recovery_runs import CORPORA, Run, results, runs
from bench.recovery_strangers import strangers
from bench.split import Part
from sidemirror_server.memory.recoveries.failed import reports_failure
from sidemirror_server.memory.recoveries.observation import MoveKind
from tests.recorded import DATA

_SEEDS = 5
_FEWEST_IN_BIN = 30

Halves = Iterator[tuple[list[Run], list[Run]]]


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


def next_step(every: Sequence[Run], aside: Sequence[Run]) -> None:
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
        print(f"| {name} | {' | '.join(f'{sum(one.hits[at] for one in of) / len(of):.3f}' for at in range(4))} |")
    ours = scores["recoveries"]
    print(
        f"\n{len(ours)} cases of {len({one.group for one in ours})} task groups. Recoveries minus, with the interval:"
    )
    for name in ("nearest five episodes", "nearest five failures"):
        told = []
        for at, what in ((0, "at 1"), (1, "in 3")):
            mean, low, high = difference(ours, scores[name], at)
            told.append(f"{what} {mean:+.3f} ({low:+.3f} to {high:+.3f})")
        print(f"- {name}: {', '.join(told)}")


def advice(corpora: dict[str, Sequence[Run]], asides: dict[str, Sequence[Run]]) -> None:
    """Coverage, what worked, calibration and lift."""
    found = {
        name: [row for train, test in splits(every, asides[name]) for row in counted(learned(train), test)]
        for name, every in corpora.items()
    }
    print("\n## Advice\n\n| corpus | failures | repaired: with advice | done as advised: worked | otherwise | lift |")
    print("|---|---|---|---|---|---|")
    for name, rows in (*found.items(), ("all", [row for of in found.values() for row in of])):
        within = lift(rows)
        told = "none" if within is None else f"{within:+.2f}"
        print(f"| {name} | {len(rows)} | {coverage(rows)} | {done(rows)} | {otherwise(rows)} | {told} |")
    print("\n| corpus | promised | observed | apart |\n|---|---|---|---|")
    for name, rows in found.items():
        for promised, rate in bins(rows):
            apart = f"{abs(promised - rate.worked / rate.tries):.2f}" if rate.tries >= _FEWEST_IN_BIN else "too few"
            print(f"| {name} | {promised:.2f} | {rate} | {apart} |")
    print("\n| signature | kind | done as advised: worked | otherwise |\n|---|---|---|---|")
    macro, lookups = [], set()
    for rows in found.values():
        for signature, of in sorted(by_signature(rows).items()):
            kinds = sorted({row.kind for row in of if row.kind is not None})
            print(f"| `{signature.replace('|', ' / ')}` | {', '.join(kinds)} | {done(of)} | {otherwise(of)} |")
            if done(of).tries:
                macro.append(done(of).worked / done(of).tries)
            if MoveKind.LOOKED_UP in kinds:
                lookups.add(signature)
    mean = f"{sum(macro) / len(macro):.2f}" if macro else "none"
    print(
        f"\nMacro-averaged over {len(macro)} signatures: {mean} worked. Signatures of look-up advice: {len(lookups)}."
    )


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
    if everything or options.next:
        next_step(corpora["intercode"], asides["intercode"])
    if everything or options.advice:
        advice(corpora, asides)
    if everything or options.strangers:
        customers([*corpora["tau"], *asides["tau"]])


if __name__ == "__main__":
    main()
