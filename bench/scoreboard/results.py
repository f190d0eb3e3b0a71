"""What a run found, as JSON, and the tables that are printed of it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench.scoreboard.rows import MEASURES, ROWS, Row

OWN: Final = ("sidemirror", "sidemirror-vectors")


class Cell(msgspec.Struct, frozen=True, omit_defaults=True):
    """`value` None: there is none, and `detail` says why."""

    row: str
    contender: str
    value: float | None = None
    detail: str = ""


class Results(msgspec.Struct, frozen=True):
    """A run. `contenders`: what they are called, with their versions, in the order of the columns. `apart`: those that
    were measured later than the others, and on which day."""

    day: str
    machine: str
    quick: bool
    contenders: dict[str, str]
    cells: tuple[Cell, ...]
    apart: dict[str, str] = {}

    def cell(self, row: str, contender: str) -> Cell | None:
        return next((one for one in self.cells if (one.row, one.contender) == (row, contender)), None)


def read(path: Path) -> Results:
    """Raises OSError and msgspec.DecodeError."""
    return msgspec.json.decode(path.read_bytes(), type=Results)


def write(results: Results, path: Path) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")


def with_earlier(results: Results, earlier: Results, measures: Sequence[str], contenders: Sequence[str]) -> Results:
    """The earlier cells that are not about to be measured again, and their contenders. The day is that of the earlier
    run, as long as it has a contender that is not measured again."""
    kept = [one for one in earlier.cells if ROWS[one.row].measure not in measures or one.contender not in contenders]
    everyone = earlier.contenders | results.contenders
    apart = {name: day for name, day in earlier.apart.items() if name not in contenders}
    if set(earlier.contenders) - set(contenders):
        apart |= dict.fromkeys(contenders, results.day)
        results = msgspec.structs.replace(results, day=earlier.day, machine=earlier.machine)
    return msgspec.structs.replace(results, contenders=everyone, cells=tuple(kept), apart=apart)


def table(results: Results) -> str:
    """A table for each measure, and what Sidemirror has not won."""
    apart = [f"- {results.contenders[name]}: {day}, the others: {results.day}" for name, day in results.apart.items()]
    told = ["\n".join(["**Run on a day of its own**", "", *apart])] if apart else []
    return "\n\n".join([*_tables(results), "\n".join(_unwon(results)), *told])


def _tables(results: Results) -> Iterator[str]:
    for measure, title in MEASURES.items():
        rows = {name: row for name, row in ROWS.items() if row.measure == measure}
        shown = {name: row for name, row in rows.items() if any(results.cell(name, who) for who in results.contenders)}
        if not shown:
            continue
        lines = [f"**{title}**", "", f"| | {' | '.join(results.contenders.values())} |"]
        lines.append("|---" * (len(results.contenders) + 1) + "|")
        for name, row in shown.items():
            lines.append(f"| {row.title} ({row.way}) | {' | '.join(_cells(results, name, row))} |")
        yield "\n".join(lines)


def _cells(results: Results, name: str, row: Row) -> Iterator[str]:
    best = best_of(results, name, row)
    for who in results.contenders:
        one = results.cell(name, who)
        if one is None or one.value is None:
            yield one.detail if one is not None else "not measured"
        else:
            figure = figure_of(one.value, row)
            yield f"**{figure}**" if figure == best else figure


def figure_of(value: float, row: Row) -> str:
    """A figure as it is printed."""
    return f"{value:,.{row.digits}f}"


def best_of(results: Results, name: str, row: Row) -> str:
    """The best figure of a row, as it is printed; empty if there is none."""
    found = [results.cell(name, who) for who in results.contenders]
    values = [one.value for one in found if one is not None and one.value is not None]
    return figure_of((min if row.less else max)(values), row) if values else ""


def _unwon(results: Results) -> Iterator[str]:
    """Where a peer is better than Sidemirror with its defaults, and where the best of them is as good."""
    lost, tied = list[str](), list[str]()
    for name, row in ROWS.items():
        own = results.cell(name, OWN[0])
        peers = [results.cell(name, who) for who in results.contenders if who not in OWN]
        values = [round(one.value, row.digits) for one in peers if one is not None and one.value is not None]
        if own is None or own.value is None or not values:
            continue
        mine, best = round(own.value, row.digits), (min if row.less else max)(values)
        if mine == best:
            tied.append(f"- {row.title}: {mine:,.{row.digits}f}")
        elif (mine > best) is row.less:
            lost.append(f"- {row.title}: {mine:,.{row.digits}f} against {best:,.{row.digits}f}")
    yield from ("**A peer is better than Sidemirror with its defaults**", "", *(lost or ["- nowhere"]), "")
    yield from ("**The best peer is as good**", "", *(tied or ["- nowhere"]))


def differences(first: Results, second: Results) -> str:
    """The cells whose figures differ between two runs, as printed; how many do not, and how many only one run has."""
    differing, alone, same = list[str](), len(second.cells), 0
    for one in first.cells:
        other, row = second.cell(one.row, one.contender), ROWS[one.row]
        alone += 1 if other is None else -1
        if other is None:
            continue
        if one.value is None or other.value is None:
            pair: Sequence[str] = [str(one.value), str(other.value)]
        else:
            pair = [f"{value:,.{row.digits}f}" for value in (one.value, other.value)]
        if pair[0] != pair[1]:
            differing.append(f"| {row.title} | {first.contenders[one.contender]} | {' | '.join(pair)} |")
        else:
            same += 1
    told = ["| | | first | second |", "|---|---|---|---|", *differing]
    told.append(f"\nThe same in both: {same} of {same + len(differing)} cells.")
    return "\n".join([*told, *([f"\nMeasured in one of the runs only: {alone} cells."] if alone else [])])
