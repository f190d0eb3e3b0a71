"""RunTurn: a whole turn on one stream.

Reading and writing run side by side: a task adds events to the turn while the generator sends responses. A slow client
delays only its own responses, which are cumulative (acks) or stored with the turn.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

import msgspec

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.requests import digest_of
from sidemirror_server.rpc.boundary.streams import Streams, StreamTimes
from sidemirror_server.rpc.thinking.directives import directive_to_wire, is_sent, with_own_prompt, write_ack
from sidemirror_server.rpc.thinking.turn_events import events_of, start_event
from sidemirror_server.rpc.wire.common import duration, write_time
from sidemirror_server.thinking.record import TurnPlan, TurnSummary
from sidemirror_server.trace.event import TurnStarted
from sidemirror_server.trace.given_secrets import GivenSecrets
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.live import LiveTurn, Said
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.ids import TurnId
from sidemirror_server.vocabulary.telemetry import GAPS

# Iterations of the event loop between waking up and sending. On an idle loop they take microseconds. On a busy one the
# events that arrive meanwhile share one ack.
_GATHER = 2
# Seconds that an ack of newly durable events waits for another reason to send. Chosen here: a fifth of the time in
# which an ack is promised (decision 012).
_DURABLE_S = 0.01


async def run_turn(
    conductor: Conductor,
    streams: Streams,
    requests: AsyncIterator[pb.RunTurnRequest],
    begin: Callable[[pb.RunTurnRequest], Call],
) -> AsyncGenerator[pb.RunTurnResponse, None]:
    first = await anext(requests, None)
    if first is None:
        return
    stream = await _open(conductor, streams, first, _of_batch(begin(first), first))
    reader = asyncio.create_task(stream.read(requests))
    reader.add_done_callback(stream.read_ended)
    try:
        while True:
            if response := stream.compose(half_closed=reader.done()):
                yield response
            if stream.ended:
                return
            if reader.done() and stream.finished(reader):
                return
            stream.check()
            await stream.wait()
    finally:
        reader.cancel()
        stream.close()


async def _open(conductor: Conductor, streams: Streams, first: pb.RunTurnRequest, call: Call) -> "_TurnStream":
    """Starts or resumes the turn with the first request of the stream."""
    rest: Sequence[pb.TurnEvent]
    if first.HasField("resume"):
        turn = await conductor.take_up(call.scope, TurnId(first.resume.turn_id))
        after = turn.resume_after(first.resume.after_sequence)
        stream = _TurnStream(conductor, turn, call, streams, after)
        rest = first.events
    else:
        if not first.events or not first.events[0].HasField("turn_started"):
            raise BadInput([("events[0]", "a stream begins with turn_started or with resume")])
        wire = first.events[0]
        own_prompt = wire.turn_started.base_prompt
        event, started = await start_event(wire, call)
        turn_id = TurnId(call.make_id(wire.turn_id))
        is_new = not (wire.turn_id or call.request_id)
        rest = first.events[1:]
        # Checked before anything is recorded: a request is accepted whole or not at all.
        await events_of(rest, turn_id, call, GivenSecrets(), 1)
        conductor.check_start(call.scope, turn_id, len(first.events))
        try:
            turn = await conductor.start(call.scope, turn_id, event, started, is_new=is_new, wait_for_store=False)
        except BadInput as error:
            raise BadInput([(f"events[0].turn_started.{field}", what) for field, what in error.violations]) from error
        stream = _TurnStream(conductor, turn, call, streams, 0)
        stream.started(started, own_prompt)
    try:
        await stream.take(rest, call, len(first.events) - len(rest))
    except BaseException:
        stream.close()  # else its timer and its listener would stay for ever
        raise
    return stream


class _TurnStream:
    """One stream on a turn: the events that it received and the directives that it sent."""

    def __init__(self, conductor: Conductor, turn: LiveTurn, call: Call, streams: Streams, after_sequence: int) -> None:
        self._conductor = conductor
        self._turn = turn
        self._call = call
        self._listener = turn.listen(after_sequence)
        self._times = StreamTimes(streams, call.clock, self._listener.wake, barred=call.barred)
        self._started: tuple[TurnStarted, str] | None = None
        self._received = 0
        self._durable = 0
        self._places: deque[int] = deque()
        self._told: tuple[int, int, tuple[str, ...], int] | None = None
        self._withdrawn = 0
        self._summary: Said | None = None
        self._durable_news: asyncio.TimerHandle | None = None
        self._durable_due = False
        self._streams = streams
        self.ended = False

    def started(self, started: TurnStarted, own_prompt: str) -> None:
        """This stream's first event has started the turn."""
        self._started = (started, own_prompt)
        self._received = 1
        self._places.append(1)

    async def read(self, requests: AsyncIterator[pb.RunTurnRequest]) -> None:
        """Adds the agent's events to the turn until the agent closes its side."""
        async for request in requests:
            if request.HasField("resume"):
                raise BadInput([("resume", "only in the first request of a stream")])
            self._call.check_scope(request.tenant_id, request.project_id)
            self._times.heard()
            await self.take(request.events, _of_batch(self._call, request), 0)

    async def take(self, wires: Sequence[pb.TurnEvent], call: Call, first: int) -> None:
        """Adds the events of one request to the turn. `first`: the index of `wires[0]` in the request."""
        if not wires:
            return
        events = await events_of(wires, self._turn.state.turn_id, call, self._turn.given, first)
        places = await self._conductor.take_in(self._turn, events, first)
        self._places.extend(places)
        self._received += len(places)
        # Also counted here, not only in `compose`: places would pile up while the agent reads nothing.
        self._count_durable()
        # Events that the turn already has wake no other listener, but are acknowledged too.
        self._listener.wake()

    def compose(self, *, half_closed: bool) -> pb.RunTurnResponse | None:
        """The response to send now, or None. `half_closed`: the agent has closed its side."""
        missed, said = self._listener.take()
        if said and isinstance(said[-1].directive.what, TurnSummary):
            self._summary = said.pop()
        response = pb.RunTurnResponse()
        directives = response.directives
        if missed is not None:
            GAPS.add(1)
            self._unrecorded(response).gap.CopyFrom(_gap(missed))
        withdrawn = self._turn.state.withdrawn
        sent = [item for item in said if is_sent(item.directive) and item.directive.directive_id not in withdrawn]
        directives.extend(map(self._directive, sent))
        times = self._times
        closes = times.ends
        if self._has_news(at_once=bool(directives) or half_closed or self._turn.over or closes):
            ack = self._unrecorded(response).ack
            now_us = self._call.clock.now_us()
            write_ack(ack, self._turn, self._received, self._durable, now_us, self._withdrawn)
            self._withdrawn = len(withdrawn)
        if closes and times.closing_due():
            self._unrecorded(response).closing.CopyFrom(_closing(times.closing_reason, times.grace_s))
        elif not directives and times.heartbeat_due():
            self._unrecorded(response).heartbeat.SetInParent()
        # The summary is the last directive: it waits until the whole turn is durable, and so acknowledged.
        over = self._turn.over and self._turn.durable == self._turn.state.last_sequence
        if over and self._summary is not None:
            directives.append(self._directive(self._summary))
        self.ended = over or times.idle
        if not directives:
            return None
        times.said()
        return response

    def _has_news(self, *, at_once: bool) -> bool:
        """Whether to send an ack. An unchanged ack is not sent. One in which only `durable` has grown waits for another
        reason to send, or for `_DURABLE_S`, unless `at_once`."""
        self._count_durable()
        state = self._turn.state
        told = (self._received, self._durable, (*state.claims, *self._turn.telling), len(state.withdrawn))
        if told == self._told:
            return False
        alone = self._told is not None and told[0] == self._told[0] and told[2:] == self._told[2:]
        if alone and not (at_once or self._durable_due):
            if self._durable_news is None:
                self._durable_news = asyncio.get_running_loop().call_later(_DURABLE_S, self._tell_durable)
            return False
        self._told = told
        self._durable_due = False
        if self._durable_news is not None:
            self._durable_news.cancel()
            self._durable_news = None
        return True

    def _count_durable(self) -> None:
        while self._places and self._places[0] <= self._turn.durable:
            self._places.popleft()
            self._durable += 1

    def _tell_durable(self) -> None:
        self._durable_due = True
        self._listener.wake()

    def finished(self, reader: "asyncio.Task[None]") -> bool:
        """Whether the stream may end, once the agent has closed its side: all its events are durable and no directive
        is pending. The stream of a turn that is over ends with the summary, see `compose`. Raises the error of the
        reader."""
        error = reader.exception()
        if error is not None:
            raise error
        turn = self._turn
        return not (self._places or turn.state.claims or turn.telling or turn.finishing is not None or turn.over)

    async def wait(self) -> None:
        """Returns once there may be something to send."""
        await self._listener.wait()
        for _ in range(_GATHER):
            await asyncio.sleep(0)

    def check(self) -> None:
        """Raises when the stream cannot go on: the turn belongs to another server now, or the stream has sent
        `closing`. After `closing` it first waits until the agent's events are durable, unless the token was removed."""
        if self._turn.lost is not None:
            raise self._turn.lost
        if self._times.told_closing and (self._times.barred or self._durable == self._received):
            raise self._times.end()

    def read_ended(self, reader: "asyncio.Task[None]") -> None:
        """The reader has ended. Retrieves its exception, because a cancelled stream leaves it unread and asyncio would
        log it as never retrieved."""
        if not reader.cancelled():
            reader.exception()
        self._listener.wake()

    def close(self) -> None:
        if self._durable_news is not None:
            self._durable_news.cancel()
        self._times.close()
        self._listener.close()

    def _directive(self, said: Said) -> pb.TurnDirective:
        directive = said.directive
        if isinstance(directive.what, TurnPlan) and self._started is not None:
            plan = with_own_prompt(directive.what, *self._started)
            directive = msgspec.structs.replace(directive, what=plan)
        return directive_to_wire(directive, self._turn.state.turn_id, said.sequence)

    def _unrecorded(self, response: pb.RunTurnResponse) -> pb.TurnDirective:
        """Adds an unrecorded directive to the response. The directive is filled in place, which saves a copy."""
        wire = response.directives.add(turn_id=self._turn.state.turn_id)
        write_time(wire.time, self._call.clock.now_us())
        return wire


def _of_batch(call: Call, request: pb.RunTurnRequest) -> Call:
    """The call for one request of the stream. The ids of events without one derive from this request's id and events: a
    batch sent twice gets the same ids, another batch under that request_id gets others."""
    if not request.request_id:
        return call if not call.request_id else msgspec.structs.replace(call, request_id="", digest=b"")
    events = pb.RunTurnRequest(events=request.events).SerializeToString(deterministic=True)
    return msgspec.structs.replace(call, request_id=request.request_id, digest=digest_of(events))


def _gap(missed: tuple[int, int]) -> pb.Gap:
    return pb.Gap(
        first_sequence=missed[0], last_sequence=missed[1], reason="too far behind: GetTurn has what is missing"
    )


def _closing(reason: str, grace_s: float) -> pb.Closing:
    return pb.Closing(reason=reason, grace=duration(int(grace_s * 1e6)))
