"""What advice would have been right: figures over recorded failures that saw none, for `bench/recoveries.py`.

Moves are learned in one half. In the other, a failure with a signature for which a recovery may be told counts as
advised, and done as advised where the agent did by itself what would have been said. So agents that heed are compared
with agents that did not, which is no experiment: lift is taken within the same agent, over those that did both.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bench.recovery_runs import Run
from sidemirror_server.memory.recoveries.moves import FEWEST_SESSIONS, Recovery, recovery_of
from sidemirror_server.memory.recoveries.observation import MoveKind, Observation, follows
from sidemirror_server.memory.recoveries.sentences import said

_NO_ATTEMPT = (MoveKind.WENT_ON, MoveKind.STOPPED)


class Counted(NamedTuple):
    """One observation of the test half. `worked`: the next attempt, in a turn that did not fail; `passed`: in any turn.
    `promised`: None where nothing would have been said."""

    agent: str
    signature: str
    worked: bool
    passed: bool
    attempted: bool
    done: bool
    promised: float | None
    kind: MoveKind | None


class Rate(NamedTuple):
    """How many of how many."""

    worked: int
    tries: int

    @property
    def share(self) -> float:
        return self.worked / self.tries if self.tries else 0.0

    def __str__(self) -> str:
        return f"{self.share:.2f} ({self.worked} of {self.tries})" if self.tries else "none"


def rows_by_signature(runs: Iterable[Run]) -> dict[str, list[Observation]]:
    """The observations of runs."""
    found: dict[str, list[Observation]] = defaultdict(list)
    for run in runs:
        for row in run.observations:
            found[row.signature].append(row)
    return found


def learned(runs: Iterable[Run]) -> dict[str, Recovery]:
    """The recoveries that may be told after these runs, and have a sentence."""
    rows = rows_by_signature(runs)
    found = {signature: recovery_of(signature, of) for signature, of in rows.items()}
    return {signature: one for signature, one in found.items() if one is not None and said(one) is not None}


def lookup_signatures(runs: Iterable[Run]) -> set[str]:
    """The signatures that look-ups, whichever, repaired in as many sessions as the gate asks for. Of no other one can a
    rule tell a look-up that counts what worked."""
    sessions: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        for row in run.observations:
            if row.worked and row.move.kind is MoveKind.LOOKED_UP:
                sessions[row.signature].add(row.where.session_id)
    return {signature for signature, of in sessions.items() if len(of) >= FEWEST_SESSIONS}


def counted(recoveries: Mapping[str, Recovery], test: Iterable[Run]) -> list[Counted]:
    """The failures of the test half."""
    found = []
    for run in test:
        for row in run.observations:
            recovery = recoveries.get(row.signature)
            found.append(
                Counted(
                    *(run.agent, row.signature, row.worked, row.worked or row.turn_failed),
                    row.move.kind not in _NO_ATTEMPT,
                    recovery is not None and follows(recovery.move, row.move),
                    None if recovery is None or recovery.move.kind is MoveKind.WENT_ON else recovery.told.rate,
                    None if recovery is None else recovery.move.kind,
                )
            )
    return found


def coverage(rows: Sequence[Counted]) -> Rate:
    """Of the failures that the next attempt repaired, those with advice."""
    repaired = [row for row in rows if row.worked]
    return Rate(sum(row.promised is not None for row in repaired), len(repaired))


def done(rows: Iterable[Counted]) -> Rate:
    """Of what was done as advised, what worked."""
    return _rate(row for row in rows if row.promised is not None and row.done)


def done_and_passed(rows: Iterable[Counted]) -> Rate:
    """Of what was done as advised, what worked, whatever became of its turn."""
    of = [row for row in rows if row.promised is not None and row.done]
    return Rate(sum(row.passed for row in of), len(of))


def otherwise(rows: Iterable[Counted]) -> Rate:
    """Of the other attempts where there was advice, what worked."""
    return _rate(row for row in rows if row.promised is not None and row.attempted and not row.done)


def bins(rows: Iterable[Counted], parts: int = 10) -> list[tuple[float, Rate]]:
    """What was promised on average against what was observed, in bins of equal width."""
    found: dict[int, list[Counted]] = defaultdict(list)
    for row in rows:
        if row.promised is not None and row.done:
            found[min(parts - 1, int(row.promised * parts + 1e-9))].append(row)
    return [(sum(row.promised or 0.0 for row in of) / len(of), _rate(of)) for _, of in sorted(found.items())]


def lift(rows: Iterable[Counted]) -> float | None:
    """The difference of done as advised and otherwise, within the same agent; weighted by Mantel and Haenszel."""
    by_agent: dict[str, list[Counted]] = defaultdict(list)
    for row in rows:
        by_agent[row.agent].append(row)
    parts = []
    for of in by_agent.values():
        with_it, without = done(of), otherwise(of)
        if with_it.tries and without.tries:
            weight = with_it.tries * without.tries / (with_it.tries + without.tries)
            parts.append((weight, with_it.worked / with_it.tries - without.worked / without.tries))
    return sum(weight * value for weight, value in parts) / sum(weight for weight, _ in parts) if parts else None


def by_signature(rows: Iterable[Counted]) -> dict[str, list[Counted]]:
    """The failures with advice, by their signature."""
    found: dict[str, list[Counted]] = defaultdict(list)
    for row in rows:
        if row.promised is not None:
            found[row.signature].append(row)
    return found


def _rate(rows: Iterable[Counted]) -> Rate:
    every = list(rows)
    return Rate(sum(row.worked for row in every), len(every))
