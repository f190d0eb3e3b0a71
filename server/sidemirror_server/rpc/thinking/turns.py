"""The turn calls of ThinkingService: a turn without a stream."""

import asyncio
from collections.abc import Sequence

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.interceptors import Complete
from sidemirror_server.rpc.boundary.pages import place_in, size_of, token_for
from sidemirror_server.rpc.boundary.recent import given_a_moment
from sidemirror_server.rpc.thinking.directives import (
    directive_to_wire,
    entry_to_wire,
    left_to_wire,
    own_prompt,
    plan_to_wire,
    summary_to_wire,
    write_left,
)
from sidemirror_server.rpc.wire.common import OUTCOME_NAMES, OUTCOMES, seconds, timestamp
from sidemirror_server.rpc.wire.events import event_of
from sidemirror_server.thinking.record import TurnSummary, recorded_in
from sidemirror_server.thinking.turn import left
from sidemirror_server.trace.event import Event, TurnFinished, TurnStarted, origin_of
from sidemirror_server.trace.log import HeadKey, TurnHead, TurnLog, TurnStanding
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.head import head_in
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.vocabulary.budget import budget_left
from sidemirror_server.vocabulary.errors import BadInput, NotFound
from sidemirror_server.vocabulary.ids import EventId, SessionId, TurnId, derived_id
from sidemirror_server.vocabulary.text import enter

_STATES = {
    TurnStanding.OPEN: pb.TURN_STATE_OPEN,
    TurnStanding.FINISHED: pb.TURN_STATE_FINISHED,
    TurnStanding.ABANDONED: pb.TURN_STATE_ABANDONED,
}
_STANDINGS = {state: standing for standing, state in _STATES.items()}
# A page of a turn's record holds at most this much, so that it fits into a message of 4 MiB.
_PAGE_BYTES = 2 * 1024 * 1024
# What an answer needs after the last wait. Chosen here: several times what it takes.
_ANSWER_S = 0.05


class TurnCalls:
    """Starts, feeds, ends and shows turns."""

    @property
    def complete(self) -> dict[str, Complete]:
        """What an answer is sent with and not kept with: a start's answer is kept under its request_id, without the
        secrets that the agent's own prompt may hold."""
        return {"StartTurn": _with_own_prompt}

    def __init__(self, log: TurnLog, conductor: Conductor, recorder: Recorder) -> None:
        self._log = log
        self._conductor = conductor
        self._recorder = recorder

    async def StartTurn(self, request: pb.StartTurnRequest, call: Call) -> pb.StartTurnResponse:
        turn_id = TurnId(call.make_id(request.turn_id))
        wire = pb.TurnEvent(
            turn_id=request.turn_id,
            turn_started=pb.TurnStarted(
                session_id=request.session_id,
                task=request.task,
                messages=_said_by_user(request.user_message),
                base_prompt=request.base_prompt,
                provider=request.provider,
                model=request.model,
                config=request.config,
                budget=request.budget,
                reflection_mode=request.reflection_mode or pb.REFLECTION_MODE_ON_REQUEST,
                critique_mode=request.critique_mode,
                context=request.context if request.HasField("context") else None,
            ),
        )
        event, started = start_event(wire, call)
        is_new = not (request.turn_id or call.request_id)
        turn = await self._conductor.start(call.scope, turn_id, event, started, is_new=is_new, wait_for_store=True)
        await self._recorder.wait_durable(turn, 2)
        return pb.StartTurnResponse(plan=plan_to_wire(turn.plan))

    async def ReportEvents(self, request: pb.ReportEventsRequest, call: Call) -> pb.ReportEventsResponse:
        turn = await self._conductor.take_up(call.scope, TurnId(request.turn_id))
        events = events_of(request.events, request.turn_id, call)
        # Without events the call waits for what is pending, and answers with what that came to.
        before = turn.state.last_sequence
        places = self._conductor.report(turn, events)
        await self._recorder.wait_durable(turn, max(places, default=0))
        await _nothing_pending(turn, _patience_s(seconds(request.wait), call.remaining_s()))
        first = min(places, default=before)
        said = [item for item in turn.said if item.sequence > first and item.directive.what is not turn.plan]
        if said:
            await self._recorder.wait_durable(turn, said[-1].sequence)
        response = pb.ReportEventsResponse(
            directives=[directive_to_wire(item.directive, turn.state.turn_id, item.sequence) for item in said]
        )
        write_ack(response.ack, turn, len(events), len(events), call.clock.now_us())
        return response

    async def FinishTurn(self, request: pb.FinishTurnRequest, call: Call) -> pb.FinishTurnResponse:
        turn = await self._conductor.take_up(call.scope, TurnId(request.turn_id))
        score = request.score if request.HasField("score") else None
        what = TurnFinished(OUTCOME_NAMES[request.outcome], score)
        event = Event(EventId(call.make_id()), call.clock.now_us(), what, origin_of(what))
        self._conductor.report(turn, [event])
        summary = await _summary(turn)
        await self._recorder.wait_durable(turn, turn.state.last_sequence)
        return pb.FinishTurnResponse(summary=summary_to_wire(summary))

    async def GetTurn(self, request: pb.GetTurnRequest, call: Call) -> pb.GetTurnResponse:
        turn_id = TurnId(request.turn_id)
        live = self._conductor.in_memory(call.scope, turn_id) or await self._conductor.completed(call.scope, turn_id)
        if live is not None:
            await given_a_moment(self._recorder.wait_durable(live, live.state.last_sequence))
        head = await self._log.head(call.scope, turn_id)
        if head is None:
            raise NotFound("turn", turn_id)
        query = (call.scope, "turn", turn_id, request.after_sequence)
        after = place_in(request.page_token, int, "page_token", *query)
        after = request.after_sequence if after is None else after
        size = size_of(request.page_size, 100)
        entries = await self._log.read(call.scope, turn_id, after, size, _PAGE_BYTES)
        last = entries[-1].sequence if entries else after
        return pb.GetTurnResponse(
            turn=_turn_to_wire(head, call.clock.now_us(), tuple(live.state.claims) if live else ()),
            entries=[
                entry_to_wire(recorded_in(entry), turn_id, entry.sequence, token_for(entry.position, call.scope))
                for entry in entries
            ],
            next_page_token=token_for(last, *query) if entries and last < head.last_sequence else "",
        )

    async def ListTurns(self, request: pb.ListTurnsRequest, call: Call) -> pb.ListTurnsResponse:
        size = size_of(request.page_size, 50)
        query = (call.scope, "turns", request.session_id, request.state)
        after = place_in(request.page_token, HeadKey, "page_token", *query)
        session_id = SessionId(request.session_id) if request.session_id else None
        heads = await self._log.heads(call.scope, session_id, _STANDINGS.get(request.state), after, size + 1)
        more = heads[size - 1] if len(heads) > size else None
        now_us = call.clock.now_us()
        return pb.ListTurnsResponse(
            turns=[_turn_to_wire(head, now_us, ()) for head in heads[:size]],
            next_page_token=token_for(HeadKey(more.started_us, more.turn_id), *query) if more else "",
        )


def _with_own_prompt(request: pb.StartTurnRequest, answer: bytes) -> bytes:
    """The answer to a start, with the agent's base prompt as it came."""
    entered = enter(request.base_prompt)
    if entered == request.base_prompt:
        return answer
    response = pb.StartTurnResponse.FromString(answer)
    response.plan.system_prompt = own_prompt(response.plan.system_prompt, entered, request.base_prompt)
    return response.SerializeToString(deterministic=True)


def start_event(wire: pb.TurnEvent, call: Call) -> tuple[Event, TurnStarted]:
    """The record of a `turn_started` event, in a session of its own when it names none: the same for the same turn."""
    if not wire.turn_started.session_id:
        own = derived_id(call.scope, "session of turn", wire.turn_id) if wire.turn_id else call.make_id(part="/session")
        wire.turn_started.session_id = own
    event = event_of(wire, call.make_id(part="/started"), call.clock.now_us())
    if not isinstance(event.what, TurnStarted):
        raise BadInput([("events[0]", "a turn starts with turn_started")])
    return event, event.what


def events_of(wires: Sequence[pb.TurnEvent], turn_id: str, call: Call, first: int = 0) -> list[Event]:
    """The records of a turn's events but the first. `first`: the place of `wires[0]` in its request."""
    now_us = call.clock.now_us()
    events: list[Event] = []
    for index, wire in enumerate(wires, start=first):
        if wire.turn_id and wire.turn_id != turn_id:
            raise BadInput([(f"events[{index}].turn_id", "the call is about another turn")])
        if wire.HasField("turn_started"):
            raise BadInput([(f"events[{index}].turn_started", "only as the first event of a turn")])
        if events and isinstance(events[-1].what, TurnFinished):
            raise BadInput([(f"events[{index}]", "no event may follow turn_finished")])
        events.append(event_of(wire, call.make_id(wire.event_id, f"/{index}"), now_us))
    return events


def write_ack(wire: pb.TurnAck, turn: LiveTurn, received: int, durable: int, now_us: int) -> None:
    """What was received and is durable, and what is still being made, into an empty message."""
    wire.received = received
    wire.durable = durable
    if turn.state.claims:
        wire.pending_ids.extend(turn.state.claims)
    write_left(wire.budget_left, left(turn.state, now_us))


def _said_by_user(text: str) -> list[common_pb2.Message]:
    return [common_pb2.Message(role=common_pb2.MESSAGE_ROLE_USER, content=text)] if text else []


def _patience_s(wait_s: float, remaining_s: float | None) -> float:
    """How long to wait for directives: never so long that the answer would miss the call's deadline."""
    return wait_s if remaining_s is None else max(0.0, min(wait_s, remaining_s - _ANSWER_S))


async def _nothing_pending(turn: LiveTurn, patience_s: float) -> None:
    """Returns when no directive is being made, or after `patience_s`."""
    listener = turn.listen(turn.state.last_sequence)
    try:
        async with asyncio.timeout(patience_s):
            while turn.state.claims and turn.lost is None:
                await listener.wait()
                listener.take()
    except TimeoutError:
        pass
    finally:
        listener.close()


async def _summary(turn: LiveTurn) -> TurnSummary:
    """The turn's summary, once it has been finished."""
    listener = turn.listen(turn.state.last_sequence)
    try:
        while turn.state.summary is None:
            await listener.wait()
            listener.take()
        return turn.state.summary
    finally:
        listener.close()


def _turn_to_wire(head: TurnHead, now_us: int, pending_ids: Sequence[str]) -> pb.Turn:
    body = head_in(head.body)
    until_us = now_us if head.standing is TurnStanding.OPEN else head.updated_us
    return pb.Turn(
        turn_id=head.turn_id,
        session_id=head.session_id,
        turn_count=head.turn_count,
        state=_STATES[head.standing],
        task=body.task,
        outcome=OUTCOMES[body.outcome],
        score=body.score,
        last_sequence=head.last_sequence,
        event_count=body.event_count,
        budget_left=left_to_wire(budget_left(body.budget, body.spent, max(0, until_us - head.started_us) / 1e6)),
        pending_ids=pending_ids,
        start_time=timestamp(head.started_us),
        update_time=timestamp(head.updated_us),
    )
