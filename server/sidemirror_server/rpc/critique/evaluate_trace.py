"""The calls of CritiqueService about traces, kept critiques and their figures."""

from sidemirror.v1 import critique_pb2 as pb
from sidemirror_server.critique.asking import Asking
from sidemirror_server.critique.evaluate import evaluate
from sidemirror_server.critique.record import Outcome
from sidemirror_server.critique.statistics import DAY_US, HOUR_US
from sidemirror_server.critique.store import CritiqueKey, Critiques
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, size_of, token_for
from sidemirror_server.rpc.boundary.recorded_turns import TurnMaterial
from sidemirror_server.rpc.critique.critique import ANSWER_S
from sidemirror_server.rpc.wire.common import OUTCOME_NAMES, microseconds
from sidemirror_server.rpc.wire.critiques import evaluation_to_wire, figures_to_wire, kept_to_wire
from sidemirror_server.rpc.wire.events import event_of
from sidemirror_server.trace.event import Event
from sidemirror_server.vocabulary.budget import model_timeout_s
from sidemirror_server.vocabulary.errors import BadInput, NotFound
from sidemirror_server.vocabulary.text import enter

# Interval → its length, the span when no start is given, and the longest span; in the contract's comments. Chosen here:
# a month of days or two days of hours at a glance, and at most some thousand buckets in an answer.
_SPANS = {
    pb.STATISTICS_INTERVAL_HOUR: (HOUR_US, 2 * DAY_US, 92 * DAY_US),
    pb.STATISTICS_INTERVAL_DAY: (DAY_US, 30 * DAY_US, 1_100 * DAY_US),
}
# A page of kept critiques holds at most this much, so that it fits into a message of 4 MiB.
_PAGE_BYTES = 2 * 1024 * 1024


class KeptCritiqueCalls:
    """Evaluates traces, and shows what is kept of critiques."""

    def __init__(self, model: Asking, store: Critiques, turns: TurnMaterial) -> None:
        self._model = model
        self._store = store
        self._turns = turns

    async def EvaluateTrace(self, request: pb.EvaluateTraceRequest, call: Call) -> pb.EvaluateTraceResponse:
        events = await self._events(request, call)
        left_s = call.remaining_s()
        deadline_s = model_timeout_s(None, None if left_s is None else max(0.0, left_s - ANSWER_S))
        checklist = [enter(item) for item in request.checklist]
        evaluation = await evaluate(self._model, call.scope, events, checklist, deadline_s)
        return pb.EvaluateTraceResponse(evaluation=evaluation_to_wire(evaluation))

    async def _events(self, request: pb.EvaluateTraceRequest, call: Call) -> tuple[Event, ...]:
        if bool(request.turn_id) == bool(request.events):
            raise BadInput([("turn_id", "either a turn_id or events, and not both")])
        if request.events:
            now_us = call.clock.now_us()
            return tuple(event_of(wire, f"event-{place}", now_us) for place, wire in enumerate(request.events))
        events = await self._turns.events(call.scope, request.turn_id)
        if events is None:
            raise NotFound("turn", request.turn_id)
        return events

    async def ListCritiques(self, request: pb.ListCritiquesRequest, call: Call) -> pb.ListCritiquesResponse:
        size = size_of(request.page_size, 50)
        query = (call.scope, "critiques", request.turn_id, request.session_id)
        after = place_in(request.page_token, CritiqueKey, "page_token", *query)
        records = await self._store.list(
            call.scope, request.turn_id or None, request.session_id or None, after, size + 1
        )
        shown, room = 0, _PAGE_BYTES
        while shown < min(size, len(records)) and (shown == 0 or room >= len(records[shown].body)):
            room -= len(records[shown].body)
            shown += 1
        last = records[shown - 1] if shown < len(records) else None
        return pb.ListCritiquesResponse(
            critiques=[kept_to_wire(record) for record in records[:shown]],
            next_page_token=token_for(CritiqueKey(last.created_us, last.critique_id), *query) if last else "",
        )

    async def GetCritiqueStatistics(
        self, request: pb.GetCritiqueStatisticsRequest, call: Call
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
        buckets = await self._store.figures(call.scope, start_us, end_us, bucket_us, provider)
        totals = await self._store.figures(call.scope, start_us, end_us, None, provider)
        return pb.GetCritiqueStatisticsResponse(
            buckets=[figures_to_wire(figures) for figures in buckets],
            totals=[figures_to_wire(figures) for figures in totals],
        )

    async def ReportCritiqueOutcome(
        self, request: pb.ReportCritiqueOutcomeRequest, call: Call
    ) -> pb.ReportCritiqueOutcomeResponse:
        outcome = OUTCOME_NAMES[request.outcome]
        if not outcome:
            raise BadInput([("outcome", "required")])
        score = request.score if request.HasField("score") else None
        await self._store.report(call.scope, request.critique_id, Outcome(outcome, score, call.clock.now_us()))
        return pb.ReportCritiqueOutcomeResponse()
