"""Every mechanism, in one table, and what they find together."""

from collections.abc import Callable, Iterator, Mapping

from sidemirror_server.models.adapters.rules.pointing.comparisons import comparisons
from sidemirror_server.models.adapters.rules.pointing.destructive import destructive
from sidemirror_server.models.adapters.rules.pointing.done import done
from sidemirror_server.models.adapters.rules.pointing.exchanged import exchanged
from sidemirror_server.models.adapters.rules.pointing.failures import failures
from sidemirror_server.models.adapters.rules.pointing.moments import moments
from sidemirror_server.models.adapters.rules.pointing.near_values import near_values
from sidemirror_server.models.adapters.rules.pointing.phrases import phrases
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading
from sidemirror_server.models.adapters.rules.pointing.row_states import row_states
from sidemirror_server.models.adapters.rules.pointing.rows import rows
from sidemirror_server.models.adapters.rules.pointing.sequences import sequences
from sidemirror_server.models.adapters.rules.pointing.sole_counts import sole_counts
from sidemirror_server.models.adapters.rules.pointing.states import states
from sidemirror_server.models.adapters.rules.pointing.sums import sums
from sidemirror_server.models.adapters.rules.pointing.units import units
from sidemirror_server.models.adapters.rules.pointing.weekdays import weekdays
from sidemirror_server.models.evidence import Evidence

Mechanism = Callable[[Reading], Iterator[Point]]

# By name, the surest first. Each stands for itself: one that is taken out changes nothing for the others.
MECHANISMS: Mapping[str, Mechanism] = {
    "sums": sums,
    "units": units,
    "near_values": near_values,
    "sole_counts": sole_counts,
    "weekdays": weekdays,
    "states": states,
    "failures": failures,
    "done": done,
    "destructive": destructive,
    "rows": rows,
    "row_states": row_states,
    "comparisons": comparisons,
    "moments": moments,
    "exchanged": exchanged,
    "phrases": phrases,
    "sequences": sequences,
}


def points_of(
    evidence: Evidence, answer: str, mechanisms: Mapping[str, Mechanism] = MECHANISMS
) -> list[tuple[str, Point]]:
    """The contradictions between an answer and the rest of the evidence, each with the name of its mechanism. Of
    those with the same quotes the first is kept."""
    reading = Reading(evidence, answer)
    found: dict[tuple[str, str], tuple[str, Point]] = {}
    for name, mechanism in mechanisms.items():
        for point in mechanism(reading):
            found.setdefault((point.quote, point.against if not point.quote else ""), (name, point))
    return list(found.values())
