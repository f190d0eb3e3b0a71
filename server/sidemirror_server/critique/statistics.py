"""Figures over stored critiques, and what they mean: every store computes them by itself.

Confidences count in millionths, so that sums are exact and equal on every store; a quantile is the nearest rank: the
smallest value that at least that part of all values does not exceed.
"""

import msgspec

PPM = 1_000_000
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US


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
