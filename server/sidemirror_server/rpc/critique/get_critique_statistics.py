"""GetCritiqueStatistics: figures of critiques over time."""

from collections.abc import AsyncIterator

from sidemirror.v1 import critique_pb2 as pb
from sidemirror_server.critique.flips import flips_of
from sidemirror_server.critique.keeping import MOST_OUTCOMES, OUTCOMES_FOR_US
from sidemirror_server.critique.statistics import DAY_US, HOUR_US, PPM, Figures
from sidemirror_server.critique.store import Critiques
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.wire.common import microseconds, timestamp
from sidemirror_server.vocabulary.errors import BadInput

# Interval → its length, the default span and the longest span, as the contract's comments say. Chosen here: a month of
# days or two days of hours fit one view, and an answer has about 2,200 buckets at most for each provider.
_SPANS = {
    pb.STATISTICS_INTERVAL_HOUR: (HOUR_US, 2 * DAY_US, 92 * DAY_US),
    pb.STATISTICS_INTERVAL_DAY: (DAY_US, 30 * DAY_US, 1_100 * DAY_US),
}


async def get_critique_statistics(
    store: Critiques, request: pb.GetCritiqueStatisticsRequest, call: Call
) -> pb.GetCritiqueStatisticsResponse:
    interval = request.interval or pb.STATISTICS_INTERVAL_DAY
    bucket_us, usual_us, longest_us = _SPANS[interval]
    end_us = microseconds(request.end_time) if request.HasField("end_time") else call.clock.now_us() + 1
    start_us = microseconds(request.start_time) if request.HasField("start_time") else max(0, end_us - usual_us)
    if not start_us < end_us:
        raise BadInput([("start_time", "before end_time")])
    if end_us - start_us > longest_us:
        raise BadInput([("start_time", f"at most {longest_us // DAY_US} days before end_time")])
    provider = request.provider or None
    buckets = await store.figures(call.scope, start_us, end_us, bucket_us, provider)
    totals = await store.figures(call.scope, start_us, end_us, None, provider)
    return pb.GetCritiqueStatisticsResponse(
        buckets=[_figures_to_wire(figures) for figures in buckets],
        totals=[_figures_to_wire(figures) for figures in totals],
        revisions=[one async for one in _revisions(store, call, provider)],
    )


async def _revisions(store: Critiques, call: Call, provider: str | None) -> AsyncIterator[pb.RevisionFigures]:
    """What revisions changed, by model, as verdicts are settled by it."""
    since_us = call.clock.now_us() - OUTCOMES_FOR_US
    for its_provider, model in await store.reported_models(call.scope, since_us):
        if provider is None or its_provider == provider:
            flips = flips_of(await store.reported(call.scope, its_provider, model, since_us, MOST_OUTCOMES))
            yield pb.RevisionFigures(
                provider=its_provider,
                model=model,
                reported_count=flips.both,
                made_right_count=flips.made_right,
                made_wrong_count=flips.made_wrong,
                withheld=flips.does_harm,
            )


def _figures_to_wire(figures: Figures) -> pb.CritiqueFigures:
    """Figures of one provider over one span."""
    return pb.CritiqueFigures(
        start_time=timestamp(figures.start_us),
        provider=figures.provider,
        count=figures.count,
        mean_confidence=figures.mean,
        p10_confidence=_ratio(figures.p10_ppm),
        p50_confidence=_ratio(figures.p50_ppm),
        p90_confidence=_ratio(figures.p90_ppm),
        revision_rate=figures.revision_rate,
        reported_count=figures.reported,
        agreement=figures.agreed / figures.reported if figures.reported else None,
    )


def _ratio(ppm: int | None) -> float | None:
    return None if ppm is None else ppm / PPM
