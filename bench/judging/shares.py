"""From judgements to figures: how far two judges agree, and which share of what was said is useful and wrong."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from sidemirror_server.memory.trials.evidence import wilson

JUDGEMENTS: Final = Path(__file__).parent / "judgements"


class Verdict(StrEnum):
    USEFUL = "useful"
    NEITHER = "neither"
    WRONG = "wrong"


class Agreement(NamedTuple):
    """Of what both judged: how much they judged alike, and Cohen's kappa (1960), which is 0 for agreement by chance and
    1 for full agreement."""

    both: int
    alike: int
    kappa: float


def read(path: Path) -> dict[str, Verdict]:
    """The verdicts of one judge, by the entry's id. Raises ValueError, which names the line, for what is no judgement
    and for an entry that is judged twice."""
    found: dict[str, Verdict] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            name, verdict = str(row["id"]), Verdict(row["verdict"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path.name}, line {number}: no judgement: {error}") from error
        if name in found:
            raise ValueError(f"{path.name}, line {number}: {name} is judged twice")
        found[name] = verdict
    return found


def agreement(one: Mapping[str, Verdict], other: Mapping[str, Verdict]) -> Agreement:
    both = sorted(one.keys() & other.keys())
    if not both:
        return Agreement(0, 0, 0.0)
    alike = sum(one[name] is other[name] for name in both)
    first, second = (Counter(of[name] for name in both) for of in (one, other))
    by_chance = sum(first[verdict] * second[verdict] for verdict in Verdict) / len(both) ** 2
    share = alike / len(both)
    return Agreement(len(both), alike, 1.0 if by_chance == 1 else (share - by_chance) / (1 - by_chance))


def row(title: str, verdicts: Sequence[Verdict]) -> str:
    """A line of the table: counts, and shares with their 95 % interval (Wilson)."""
    cells = [_share(sum(one is verdict for one in verdicts), len(verdicts)) for verdict in Verdict]
    return f"| {title} | {len(verdicts)} | {' | '.join(cells)} |"


def _share(part: int, of: int) -> str:
    if not of:
        return "none"
    interval = wilson(part, of)
    return f"{part / of:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def report(name: str, one: Mapping[str, Verdict], other: Mapping[str, Verdict]) -> list[str]:
    """What two judges found of one drawn file. Kinds are part of the ids."""
    found = agreement(one, other)
    alike = f"{found.alike} of {found.both} alike" if found.both else "nothing judged by both"
    lines = [f"## {name}", "", f"Agreement: {alike}, Cohen's kappa {found.kappa:.2f}.", ""]
    lines += ["| judged | entries | useful | neither | wrong |", "|---|---|---|---|---|"]
    for number, verdicts in enumerate((one, other), 1):
        lines.append(row(f"judge {number}", list(verdicts.values())))
    pooled = [(entry, verdict) for verdicts in (one, other) for entry, verdict in verdicts.items()]
    lines += [
        row(f"both, {kind}", [verdict for entry, verdict in pooled if kind_of(entry) == kind])
        for kind in sorted({kind_of(entry) for entry, _ in pooled})
    ]
    return lines


def kind_of(entry: str) -> str:
    """What spoke, by the entry's id, with where it did."""
    _, at, kind = entry.rsplit("/", 2)
    word = kind.split("-", 1)[0]
    return f"{word} at a start" if at == "start" else word
