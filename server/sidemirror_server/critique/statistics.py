"""Definitions of the figures over stored critiques. Every store computes them itself.

Confidences are in millionths (ppm), so that sums are exact and equal on every store. Percentiles are by nearest rank:
percentile p is the smallest value that at least p % of all values do not exceed.
"""

import msgspec

PPM = 1_000_000
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US


class Figures(msgspec.Struct, frozen=True):
    """Figures of one provider over one span of time. `confident`: how many critiques have a confidence.

    `agreed`: how many of the `reported` outcomes fit the verdict. A success fits a verdict that calls for no revision;
    any other outcome fits one that does. `start_us`: the start of the hour or the day (UTC), or of the whole span.
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
        """The share of critiques that called for a revision."""
        return self.revisions / self.count


def to_ppm(confidence: float | None) -> int | None:
    """A confidence in millionths; None stays None."""
    return None if confidence is None else round(confidence * PPM)
