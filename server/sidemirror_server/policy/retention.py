"""Which records are removed by which retention: from the stored policies and what a sidecar proposes. Pure.

`in_force.py` asks before each sweep of `assembly/retention.py`.
"""

from collections.abc import Mapping

import msgspec

from sidemirror_server.policy.record import RetentionPeriods, retention_in_force
from sidemirror_server.vocabulary.scope import Served, Serves


class KeptAlike(msgspec.Struct, frozen=True):
    """Scopes whose records are kept for the same time. `but`: entries within `serves` that are kept for another time;
    each has a `KeptAlike` of its own, unless its records are kept for ever."""

    serves: Serves
    but: tuple[Served, ...]
    periods: RetentionPeriods


def kept_alike(
    stored: Mapping[Served, RetentionPeriods], proposed: RetentionPeriods, serves: Serves
) -> tuple[KeptAlike, ...]:
    """The retention of the scopes served, without those whose records are all kept for ever; the widest entries first.
    `stored`: what policies set, by tenant and by project. `proposed`: by the sidecar's settings."""
    # Entry → its periods, and the entry around it from which they differ.
    kept: dict[Served, tuple[RetentionPeriods, Served | None]] = {}
    entries = {*serves.entries, *(one for one in stored if serves.covers(one))}
    # A tenant's policy where only some of its projects are served holds for these, which are entries already.
    for entry in sorted(entries, key=_order):
        periods = _periods(entry, stored, proposed)
        around = next((one for one in (Served(entry.tenant_id), Served()) if one != entry and one in kept), None)
        if around is None or kept[around][0] != periods:
            kept[entry] = (periods, around)
    alike: dict[tuple[int, RetentionPeriods], list[Served]] = {}
    for entry, (periods, _) in kept.items():
        if periods.removes:
            alike.setdefault((_width(entry), periods), []).append(entry)
    return tuple(
        KeptAlike(
            Serves(tuple(group), said=serves.said),
            tuple(one for one, (_, around) in kept.items() if around in group),
            periods,
        )
        for (_, periods), group in alike.items()
    )


def _periods(entry: Served, stored: Mapping[Served, RetentionPeriods], proposed: RetentionPeriods) -> RetentionPeriods:
    """The project's policy goes before the tenant's, and both before what the sidecar proposes."""
    unset = RetentionPeriods()
    of_tenant = stored.get(Served(entry.tenant_id), unset) if entry.tenant_id is not None else unset
    return retention_in_force(stored.get(entry, unset), of_tenant, proposed)


def _width(entry: Served) -> int:
    return (entry.tenant_id is not None) + (entry.project_id is not None)


def _order(entry: Served) -> tuple[int, str, str]:
    return _width(entry), entry.tenant_id or "", entry.project_id or ""
