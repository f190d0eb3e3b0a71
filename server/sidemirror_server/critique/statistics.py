"""Figures over stored critiques: what they mean, and the plain recomputation that every store's own must equal. Pure.

Confidences count in millionths, so that sums are exact and equal on every store; a quantile is the nearest rank: the
smallest value that at least that part of all values does not exceed.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

PPM = 1_000_000
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US


class Counted(msgspec.Struct, frozen=True):
    """What of one critique is counted. `confidence_ppm` None: it gave none. `succeeded` None: no outcome was reported;
    else whether that was a success."""

    created_us: int
    provider: str
    confidence_ppm: int | None
    revise: bool
    succeeded: bool | None = None


class Figures(msgspec.Struct, frozen=True):
    """Figures of one provider over one span of time. Confidences are those of the critiques that gave one.

    `agreed`: of the `reported` outcomes, those where the verdict was right: success without a call for revision, or
    anything else with one. `start_us`: of the hour or day (UTC) that they are about, or of the whole span.
    """

    start_us: int
    provider: str
    count: int
    confident: int
    confidence_sum_ppm: int
    p10_ppm: int | None
    p50_ppm: int | None
    p90_ppm: int | None
    revisions: int
    reported: int
    agreed: int

    @property
    def mean(self) -> float | None:
        """The mean confidence; None when no critique gave one."""
        return self.confidence_sum_ppm / self.confident / PPM if self.confident else None

    @property
    def revision_rate(self) -> float:
        """The part of the critiques that called for a revision."""
        return self.revisions / self.count


def to_ppm(confidence: float | None) -> int | None:
    """A confidence as it is counted."""
    return None if confidence is None else round(confidence * PPM)


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
