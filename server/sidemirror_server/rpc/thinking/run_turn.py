"""RunTurn: a whole turn on one stream.

Reading and writing go on side by side: a task takes events into the turn, while the generator says what there is to
say. A reader that is slow holds back only its own responses, and those are cumulative (acks) or kept with the turn.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

import msgspec

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.requests import digest_of
from sidemirror_server.rpc.boundary.streams import Streams, StreamTimes
from sidemirror_server.rpc.thinking.directives import directive_to_wire, with_own_prompt, write_ack
from sidemirror_server.rpc.thinking.turn_events import events_of, start_event
from sidemirror_server.rpc.wire.common import duration, write_time
from sidemirror_server.thinking.record import TurnPlan, TurnSummary
from sidemirror_server.trace.event import TurnStarted
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.live import LiveTurn, Said
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.ids import TurnId
from sidemirror_server.vocabulary.telemetry import GAPS

# How many turns of the loop pass between the news that there is something to say and saying it. On an idle loop they
# take microseconds; on a busy one the events that arrive meanwhile share the acknowledgement.
_GATHER = 2
# How long the news that events are durable may wait to be said together with something else. Chosen here: a fifth of
# the time in which an acknowledgement is promised (design section 5).
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
    """Starts the turn, or takes it up again, with the first request of the stream."""
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
        event, started = start_event(wire, call)
        turn_id = TurnId(call.make_id(wire.turn_id))
        is_new = not (wire.turn_id or call.request_id)
        rest = first.events[1:]
        # Checked before anything is kept: a request is taken whole or not at all.
        events_of(rest, turn_id, call, 1)
        conductor.check_start(turn_id, len(first.events))
        try:
            turn = await conductor.start(call.scope, turn_id, event, started, is_new=is_new, wait_for_store=False)
        except BadInput as error:
            raise BadInput([(f"events[0].turn_started.{field}", what) for field, what in error.violations]) from error
        stream = _TurnStream(conductor, turn, call, streams, 0)
        stream.started(started, own_prompt)
    try:
        stream.take(rest, call, len(first.events) - len(rest))
    except BaseException:
        stream.close()  # else its timer and its place among the turn's listeners would stay for ever
        raise
    return stream


class _TurnStream:
    """One stream on a turn: what it has taken, and what it has told."""

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
        self._told: tuple[int, int, tuple[str, ...]] | None = None
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
        """Takes in what the agent sends until it closes its side."""
        scope = self._call.scope
        async for request in requests:
            if request.HasField("resume"):
                raise BadInput([("resume", "only in the first request of a stream")])
            if (request.tenant_id or scope.tenant_id) != scope.tenant_id:
                raise BadInput([("tenant_id", "the stream has begun with another one")])
            if (request.project_id or scope.project_id) != scope.project_id:
                raise BadInput([("project_id", "the stream has begun with another one")])
            self._times.heard()
            self.take(request.events, _of_batch(self._call, request), 0)

    def take(self, wires: Sequence[pb.TurnEvent], call: Call, first: int) -> None:
        """Takes in the events of one request; the first stands at place `first` of it."""
        if not wires:
            return
        places = self._conductor.report(self._turn, events_of(wires, self._turn.state.turn_id, call, first))
        self._places.extend(places)
        self._received += len(places)
        # Here too, not only when something is said: an agent that reads nothing would let them pile up.
        self._count_durable()
        # Events that the turn already has wake nobody else, and are to be acknowledged all the same.
        self._listener.wake()

    def compose(self, *, half_closed: bool) -> pb.RunTurnResponse | None:
        """What there is to say now, or None. `half_closed`: the agent has nothing more to send."""
        missed, said = self._listener.take()
        if said and isinstance(said[-1].directive.what, TurnSummary):
            self._summary = said.pop()
        response = pb.RunTurnResponse()
        directives = response.directives
        if missed is not None:
            GAPS.add(1)
            self._unrecorded(response).gap.CopyFrom(_gap(missed))
        directives.extend([self._directive(item) for item in said])
        times = self._times
        closes = times.ends
        if self._has_news(at_once=bool(directives) or half_closed or self._turn.over or closes):
            ack = self._unrecorded(response).ack
            write_ack(ack, self._turn, self._received, self._durable, self._call.clock.now_us())
        if closes and times.closing_due():
            self._unrecorded(response).closing.CopyFrom(_closing(times.closing_reason, times.grace_s))
        elif not directives and times.heartbeat_due():
            self._unrecorded(response).heartbeat.SetInParent()
        # The summary is the last directive: it waits until all of the turn is durable, and so acknowledged.
        over = self._turn.over and self._turn.durable == self._turn.state.last_sequence
        if over and self._summary is not None:
            directives.append(self._directive(self._summary))
        self.ended = over or times.idle
        if not directives:
            return None
        times.said()
        return response

    def _has_news(self, *, at_once: bool) -> bool:
        """Whether to say what was received and is durable: when that has changed. That more is durable is said at once
        only where something else is said too, or `at_once`."""
        self._count_durable()
        told = (self._received, self._durable, tuple(self._turn.state.claims))
        if told == self._told:
            return False
        alone = self._told is not None and told[0] == self._told[0] and told[2] == self._told[2]
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
        """After the agent has closed its side: everything it sent is durable and nothing is being made. Raises what
        reading has raised."""
        error = reader.exception()
        if error is not None:
            raise error
        return not self._places and not self._turn.state.claims and self._turn.finishing is None

    async def wait(self) -> None:
        """Returns once there may be something to say."""
        await self._listener.wait()
        for _ in range(_GATHER):
            await asyncio.sleep(0)

    def check(self) -> None:
        """Raises when the stream cannot go on: the turn is another server's now, the token is not good any more, or
        this server goes away or the stream is too old, and what the agent sent is safe."""
        if self._turn.lost is not None:
            raise self._turn.lost
        if self._times.told_closing and (self._times.barred or self._durable == self._received):
            raise self._times.end()

    def read_ended(self, reader: "asyncio.Task[None]") -> None:
        """Nothing more is read. What reading has raised is looked at here too: a stream that is cancelled first does
        not ask for it, and it would be logged as an error that nobody has seen."""
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
        """A new directive of the response that is not in the turn's record. It is filled in its place: what is made by
        itself would be copied into it."""
        wire = response.directives.add(turn_id=self._turn.state.turn_id)
        write_time(wire.time, self._call.clock.now_us())
        return wire


def _of_batch(call: Call, request: pb.RunTurnRequest) -> Call:
    """The call as it is about one request of the stream: events without an id get one that derives from its request_id
    and its events. The same batch makes the same events again, and another one under that id makes others."""
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
