"""The result of a replay: figures by domain, as a table or as JSON."""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from sidemirror_server.operations.episodes import BadEpisode

_ALL = "all"
# The most problems printed; `--json` has all.
_MOST_SHOWN = 20


class ReplayTally(msgspec.Struct):
    """Numbers of events and directives. Counters have keys such as `ok`, `repeated call`, `tool error`, `success`."""

    episodes: int = 0
    turns: int = 0
    sent: int = 0
    acknowledged: int = 0
    left_out: int = 0
    gaps: int = 0
    nudges: Counter[str] = msgspec.field(default_factory=Counter)
    reflections: Counter[str] = msgspec.field(default_factory=Counter)
    reasons: Counter[str] = msgspec.field(default_factory=Counter)
    outcomes: Counter[str] = msgspec.field(default_factory=Counter)

    @property
    def lost(self) -> int:
        """The number of events sent and not acknowledged as durable."""
        return self.sent - self.acknowledged

    def add(self, other: "ReplayTally") -> None:
        """Adds the other's figures to these."""
        for name in ("episodes", "turns", "sent", "acknowledged", "left_out", "gaps"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("nudges", "reflections", "reasons", "outcomes"):
            getattr(self, name).update(getattr(other, name))


class Refused(msgspec.Struct, frozen=True):
    """An episode that failed before its end."""

    episode_id: str
    reason: str


class Played(msgspec.Struct, frozen=True):
    """One played episode."""

    domain: str
    tally: ReplayTally
    refused: Refused | None


class ReplayReport(msgspec.Struct, frozen=True):
    """The replay of one file. `address` is empty for a temporary sidecar."""

    file: str
    address: str
    played: tuple[Played, ...]
    bad_lines: tuple[BadEpisode, ...]
    took_s: float

    @property
    def total(self) -> ReplayTally:
        return _sum(played.tally for played in self.played)

    @property
    def by_domain(self) -> Mapping[str, ReplayTally]:
        """Sorted by name."""
        domains = sorted({played.domain for played in self.played})
        return {name: _sum(played.tally for played in self.played if played.domain == name) for name in domains}

    @property
    def refused(self) -> tuple[Refused, ...]:
        return tuple(played.refused for played in self.played if played.refused is not None)

    @property
    def complete(self) -> bool:
        """Every line was an episode, every episode was played, and every event is durable."""
        return not (self.bad_lines or self.refused or self.total.lost or self.total.gaps)


def show_report(report: ReplayReport, *, as_json: bool) -> None:
    """Prints the result on stdout. If it is a table, also prints the problems on stderr."""
    if as_json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(_plain(report)), indent=2).decode() + "\n")
        return
    _show_table(report)
    wrong = [f"{report.file}, line {line.number}: {line.reason}" for line in report.bad_lines]
    wrong += [f"{refused.episode_id}: {refused.reason}" for refused in report.refused]
    for text in wrong[:_MOST_SHOWN]:
        sys.stderr.write(f"sidemirror: {text}\n")
    if len(wrong) > _MOST_SHOWN:
        sys.stderr.write(f"sidemirror: and {len(wrong) - _MOST_SHOWN} more, which --json lists\n")


def _plain(report: ReplayReport) -> dict[str, Any]:
    def figures(tally: ReplayTally) -> dict[str, Any]:
        known = {**msgspec.structs.asdict(tally), "lost": tally.lost}
        return {name: dict(sorted(it.items())) if isinstance(it, Counter) else it for name, it in known.items()}

    return {
        "file": report.file,
        "complete": report.complete,
        "seconds": round(report.took_s, 2),
        "total": figures(report.total),
        "domains": {name: figures(tally) for name, tally in report.by_domain.items()},
        "bad_lines": report.bad_lines,
        "refused": report.refused,
    }


def _show_table(report: ReplayReport) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    columns = {**report.by_domain, _ALL: report.total}
    where = report.address or "a sidecar of its own, which kept nothing"
    table = Table(box=box.SIMPLE)
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right", style="bold" if name == _ALL else "")
    for label, figures in _rows(columns):
        table.add_row(label, *figures)
    console = Console(highlight=False)
    console.print(f"{report.file} through {where}:")
    console.print(table)
    console.print(f"Played in {report.took_s:.1f} s.")


def _rows(columns: Mapping[str, ReplayTally]) -> Iterable[tuple[str, list[str]]]:
    plain = {
        "episodes": "episodes",
        "turns": "turns",
        "events sent": "sent",
        "  acknowledged as durable": "acknowledged",
        "  lost": "lost",
        "customer's tools, left out": "left_out",
    }
    for label, name in plain.items():
        yield label, [f"{getattr(tally, name):,}" for tally in columns.values()]
    groups = {"reflections": "reflections", "  because of": "reasons", "nudges": "nudges", "outcome": "outcomes"}
    for label, name in groups.items():
        counts: list[Counter[str]] = [getattr(tally, name) for tally in columns.values()]
        for value in sorted(counts[-1], key=lambda value: (-counts[-1][value], value)):
            yield f"{label}: {value}", [f"{count[value]:,}" for count in counts]
        if not counts[-1]:
            yield f"{label}: none", ["" for _ in counts]


def _sum(tallies: Iterable[ReplayTally]) -> ReplayTally:
    total = ReplayTally()
    for tally in tallies:
        total.add(tally)
    return total
