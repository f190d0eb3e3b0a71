"""The plain recomputation of figures over critiques, which every store's own must equal."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from sidemirror_server.critique.statistics import Figures


class Counted(msgspec.Struct, frozen=True):
    """What of one critique is counted. `confidence_ppm` None: it gave none. `succeeded` None: no outcome was reported;
    else whether that was a success."""

    created_us: int
    provider: str
    confidence_ppm: int | None
    revise: bool
    succeeded: bool | None = None


def quantile_rank(percent: int, count: int) -> int:
    """The place, from 1, of the nearest-rank quantile among `count` values in order."""
    return max(1, -(-percent * count // 100))


def figures_of(counted: Iterable[Counted], start_us: int, bucket_us: int | None) -> tuple[Figures, ...]:
    """The figures by bucket and provider, in that order; by provider alone, all at `start_us`, without a bucket."""
    groups: defaultdict[tuple[int, str], list[Counted]] = defaultdict(list)
    for one in counted:
        at_us = start_us if bucket_us is None else one.created_us // bucket_us * bucket_us
        groups[at_us, one.provider].append(one)
    return tuple(_figures(*key, groups[key]) for key in sorted(groups))


def _figures(start_us: int, provider: str, group: Sequence[Counted]) -> Figures:
    ppm = sorted(one.confidence_ppm for one in group if one.confidence_ppm is not None)
    p10, p50, p90 = (ppm[quantile_rank(percent, len(ppm)) - 1] if ppm else None for percent in (10, 50, 90))
    reported = [one for one in group if one.succeeded is not None]
    return Figures(
        start_us=start_us,
        provider=provider,
        count=len(group),
        confident=len(ppm),
        confidence_sum_ppm=sum(ppm),
        p10_ppm=p10,
        p50_ppm=p50,
        p90_ppm=p90,
        revisions=sum(one.revise for one in group),
        reported=len(reported),
        agreed=sum(one.succeeded is not one.revise for one in reported),
    )
