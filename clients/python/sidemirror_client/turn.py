"""A turn reported beside the agent: nothing waits, nothing is lost while the sidecar is away, nothing counts twice.

Every event has an id, and stays here until the sidecar has said that it is durable. When the stream breaks, another one
takes the turn up and sends again what is not known to be durable; the sidecar drops what it has.
"""

import asyncio
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import islice
from typing import Any, TypedDict

import grpc
from google.protobuf.message import Message

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_client.link import FIRST_PAUSE_S, LONGEST_PAUSE_S, Link
from sidemirror_client.problem import is_refused, problem_of

# What the sidecar takes: events a turn, and in one request; bytes are kept well below its 4 MiB a message.
MOST_EVENTS = 10_000
_BATCH_EVENTS = 500
_BATCH_BYTES = 1024 * 1024
# Events that wait for a sidecar that is away. Beyond that they are dropped, and counted.
MOST_BYTES = 16 * 1024 * 1024
# The same of all turns of a client, and how many turns may be open: one that begins beyond that is not reported.
MOST_BYTES_IN_ALL = 64 * 1024 * 1024
MOST_TURNS = 10_000
# The longest text that the sidecar takes; of a longer one the beginning is reported.
LONGEST_TEXT_BYTES = 256 * 1024
_CUT = " … [cut]"
# An event that would not fit the sidecar's 4 MiB a message, texts cut.
_MOST_EVENT_BYTES = 4 * 1024 * 1024 - 64 * 1024
# Directives that nobody takes: the oldest go.
_MOST_DIRECTIVES = 1_000
# A turn is lost when so many streams in a row have ended with INTERNAL and nothing more of it was durable after them.
MOST_TRIES = 10
# The sidecar has understood, and will say the same again.
_FINAL = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)
_HIDDEN = frozenset({"ack", "heartbeat", "closing"})


class Started(TypedDict, total=False):
    """Fields of `TurnStarted`: what is known when a turn begins."""

    session_id: str
    task: str
    messages: Sequence[common_pb2.Message]
    base_prompt: str
    provider: str
    model: str
    config: pb.ThinkingConfig
    budget: pb.TurnBudget
    reflection_mode: pb.ReflectionMode
    critique_mode: common_pb2.CritiqueMode


class Turn:
    """One turn. Made by `Sidemirror.begin_turn`; `id` is its turn id."""

    def __init__(self, thinking: Any, link: Link, turn_id: str, agent: str) -> None:
        self.id = turn_id
        self.agent = agent
        # Events that were not kept: there were too many, one was too large, or the turn is over. 0 unless the sidecar
        # was away for long.
        self.dropped = 0
        # Why nothing more of this turn is reported: the sidecar has refused it, or it is lost, because the sidecar has
        # failed with it ten times in a row; None otherwise.
        self.error: grpc.RpcError | None = None
        self._thinking = thinking
        self._link = link
        self._waiting: deque[pb.TurnEvent] = deque()
        self._waiting_bytes = 0
        self._events = 0
        self._last_sequence = 0
        self._told: set[str] = set()
        self._told_later = False
        self._directives: deque[pb.TurnDirective] = deque(maxlen=_MOST_DIRECTIVES)
        self._plan: pb.TurnPlan | None = None
        self._summary: pb.TurnSummary | None = None
        self._finishing = False
        self._over = False
        self._news = asyncio.Event()
        self._to_send = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    # --- what the agent says: never waits, never raises because of the sidecar ---------------------------------------

    def report(self, event: pb.TurnEvent | None = None, /, **kind: Any) -> str:
        """Takes an event: `report(tool_called=ToolCalled(...))`, or a whole TurnEvent. Returns its id.

        Of a text of more than 256 KiB, which is what the sidecar takes, the beginning is kept."""
        event = _copy(event) if event is not None else pb.TurnEvent(**kind)
        event.event_id = event.event_id or str(uuid.uuid4())
        event.agent = event.agent or self.agent
        if not event.HasField("time"):
            event.time.GetCurrentTime()
        ends = event.WhichOneof("kind") == "turn_finished"
        size = event.ByteSize()
        if size > LONGEST_TEXT_BYTES:
            _cut(event)
            size = event.ByteSize()
        if self._finishing or self._over or (not ends and self._is_full(size)):
            self.dropped += 1
            return event.event_id
        self._finishing = ends
        self._events += 1
        self._keep(size)
        self._waiting.append(event)
        self._to_send.set()
        return event.event_id

    def finish(
        self, outcome: common_pb2.TaskOutcome = common_pb2.TASK_OUTCOME_SUCCESS, score: float | None = None
    ) -> None:
        """The turn is over. What is on its way is still delivered, also after the sidecar was away."""
        self.report(turn_finished=pb.TurnFinished(outcome=outcome, score=score))

    # --- what the sidecar says ---------------------------------------------------------------------------------------

    def take(self) -> list[pb.TurnDirective]:
        """The directives that have come since the last time, in their order, without waiting."""
        taken = list(self._directives)
        self._directives.clear()
        return taken

    async def __aiter__(self) -> AsyncIterator[pb.TurnDirective]:
        """Directives as they come, until the turn is over."""
        while True:
            while self._directives:
                yield self._directives.popleft()
            if self._over:
                return
            await self._news.wait()

    async def plan(self, timeout_s: float = 1.0) -> pb.TurnPlan | None:
        """The plan; None when it has not come in time, or at once while the sidecar is away."""
        await self._wait(lambda: self._plan is not None, timeout_s)
        return self._plan

    async def summary(self, timeout_s: float = 1.0) -> pb.TurnSummary | None:
        """The summary, after `finish`; None when it has not come in time, or at once while the sidecar is away."""
        await self._wait(lambda: self._summary is not None, timeout_s)
        return self._summary

    async def delivered(self) -> None:
        """Returns once everything reported is durable with the sidecar, or the turn is given up."""
        while not self._over and (self._waiting or self._finishing):
            await self._news.wait()

    async def abandon(self) -> None:
        """Ends the reporting, with what it has not delivered. The sidecar abandons the turn after 30 idle minutes."""
        if self._task is not None:
            # First: a task that has not begun would end nothing, and one whose stream breaks in this moment is not
            # cancelled, since grpc.aio says what has become of the stream instead.
            self._end()
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _wait(self, there: Callable[[], bool], timeout_s: float) -> None:
        away = asyncio.create_task(self._link.wait_away())
        try:
            async with asyncio.timeout(timeout_s):
                while not (there() or self._over or self._link.away):
                    news = asyncio.create_task(self._news.wait())
                    try:
                        await asyncio.wait({news, away}, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        news.cancel()
        except TimeoutError:
            pass
        finally:
            away.cancel()

    def _is_full(self, size: int) -> bool:
        """There is no room for an event of so many bytes."""
        return (
            self._events >= MOST_EVENTS
            or size > _MOST_EVENT_BYTES
            or self._waiting_bytes + size > MOST_BYTES
            or self._link.waiting_bytes + size > MOST_BYTES_IN_ALL
        )

    def _keep(self, size: int) -> None:
        """So many bytes more wait, or fewer."""
        self._waiting_bytes += size
        self._link.waiting_bytes += size

    # --- the way between ---------------------------------------------------------------------------------------------

    def begin(self, started: pb.TurnStarted, done: Callable[["Turn"], None], *, room: bool) -> None:
        """The first event, and the delivery beside the agent. `done` is called when nothing is left to deliver. `room`:
        there are not too many turns."""
        self.report(pb.TurnEvent(turn_id=self.id, turn_started=started))
        # Without its beginning the sidecar would take nothing of it.
        if self._link.closed or not room or not self._waiting:
            self._end()
            done(self)
            return
        self._task = asyncio.create_task(self._deliver())
        self._task.add_done_callback(lambda _: done(self))

    async def _deliver(self) -> None:
        """One stream after the other, until the turn is over."""
        failures = tries = 0
        try:
            while not self._is_over():
                await self._link.there()
                outage, pause_s, stream = self._link.outages, 0.0, _Stream()
                try:
                    async with self._link.streams:
                        async with self._link.opening:
                            await asyncio.sleep(0)
                        outage = self._link.outages
                        await self._stream(stream, outage)
                except (grpc.RpcError, OSError, ValueError) as error:
                    if self._is_over():
                        return
                    tries += _is_internal(error) and not stream.durable
                    if self._gives_up(error, tries):
                        return
                    pause_s = self._pause_s(error, outage)
                else:
                    # Closed by the sidecar, because nothing was said for long: opened again when there is something.
                    await self._something_to_send()
                # One that is closed without a word is no better than one that breaks.
                failures, tries = (0, 0) if stream.durable else (failures + 1, tries)
                await asyncio.sleep(max(pause_s, min(FIRST_PAUSE_S * failures, LONGEST_PAUSE_S)))
        finally:
            self._end()

    def _gives_up(self, error: Exception, tries: int) -> bool:
        """Nothing more is tried after this error, of which the agent is told."""
        if not isinstance(error, grpc.aio.AioRpcError) or not (_is_final(error) or tries >= MOST_TRIES):
            return False
        self.error = error
        lost = f"turn {self.id} is lost, the sidecar has failed with it {tries} times"
        self._link.say(lost if tries >= MOST_TRIES else f"the sidecar has refused turn {self.id}", error)
        return True

    def _pause_s(self, error: Exception, outage: int) -> float:
        """How long the sidecar wants to be left alone. It is away where nobody says what the matter is."""
        if isinstance(error, grpc.aio.AioRpcError):
            problem = problem_of(error)
            if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and problem.retry_after_s is not None:
                if not self._told_later:
                    self._told_later = True
                    self._link.say(f"the sidecar refuses turn {self.id} for now", error)
                return problem.retry_after_s
            if (_is_internal(error) and problem.reason) or is_refused(error):
                return 0.0
        self._link.lost(error.code().name if isinstance(error, grpc.aio.AioRpcError) else str(error), outage)
        return 0.0

    def _is_over(self) -> bool:
        return self._over

    async def _something_to_send(self) -> None:
        if not (self._over or self._waiting):
            self._to_send.clear()
            await self._to_send.wait()

    async def _stream(self, stream: "_Stream", outage: int) -> None:
        """Returns when the sidecar has closed the stream. Raises AioRpcError; OSError and ValueError for the token's
        file."""
        call = self._thinking.RunTurn(self._requests(stream))
        try:
            async for response in call:
                self._link.answered(outage)
                for directive in response.directives:
                    self._hear(directive, stream)
        finally:
            call.cancel()
            # What reads the requests is a task of grpc's, which would wait for ever after a stream that broke.
            stream.ended = True
            self._to_send.set()
        if self._finishing and not self._waiting:
            self._over = True

    async def _requests(self, stream: "_Stream") -> AsyncIterator[pb.RunTurnRequest]:
        resume = None
        if not (self._waiting and self._waiting[0].HasField("turn_started")):
            resume = pb.TurnResume(turn_id=self.id, after_sequence=self._last_sequence)
        while not stream.ended:
            batch = self._batch(stream)
            if batch or resume is not None:
                yield pb.RunTurnRequest(events=batch, resume=resume)
                resume = None
                if batch and batch[-1].HasField("turn_finished"):
                    # Said, so that the stream just ends: one that is reset counts with the sidecar for a while.
                    return
            else:
                self._to_send.clear()
                await self._to_send.wait()

    def _batch(self, stream: "_Stream") -> list[pb.TurnEvent]:
        """What this stream has not sent yet, as far as it fits one request."""
        batch: list[pb.TurnEvent] = []
        size = 0
        for event in islice(self._waiting, stream.sent - stream.durable, None):
            size += event.ByteSize()
            if batch and (size > _BATCH_BYTES or len(batch) >= _BATCH_EVENTS):
                break
            batch.append(event)
        stream.sent += len(batch)
        return batch

    def _hear(self, directive: pb.TurnDirective, stream: "_Stream") -> None:
        kind = directive.WhichOneof("kind")
        if kind == "ack":
            self._settle(directive.ack.durable, stream)
        self._last_sequence = max(self._last_sequence, directive.sequence)
        if kind in _HIDDEN or (directive.directive_id and directive.directive_id in self._told):
            return
        self._told.add(directive.directive_id)
        if kind == "turn_plan":
            if self._plan is not None:
                return  # the turn was begun again, because the first beginning was lost in a crash
            self._plan = directive.turn_plan
        elif kind == "turn_summary":
            self._summary = directive.turn_summary
        self._directives.append(directive)
        self._tell()

    def _settle(self, durable: int, stream: "_Stream") -> None:
        """The first `durable` events of this stream are safe."""
        durable = min(durable, stream.sent)
        for _ in range(durable - stream.durable):
            self._keep(-self._waiting.popleft().ByteSize())
        stream.durable = max(durable, stream.durable)
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _end(self) -> None:
        self._over = True
        self.dropped += len(self._waiting)
        self._waiting.clear()
        self._keep(-self._waiting_bytes)
        self._tell()


class _Stream:
    """How many events one stream has sent, and how many of these are durable."""

    def __init__(self) -> None:
        self.sent = 0
        self.durable = 0
        self.ended = False


def _is_internal(error: Exception) -> bool:
    if not isinstance(error, grpc.aio.AioRpcError) or is_refused(error):
        return False
    return error.code() is grpc.StatusCode.INTERNAL


def _is_final(error: grpc.aio.AioRpcError) -> bool:
    if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
        # A limit of the turn, such as its bytes. Where there will be room again the sidecar says when.
        problem = problem_of(error)
        return bool(problem.reason) and problem.retry_after_s is None
    return error.code() in _FINAL


def _cut(message: Message) -> None:
    """Shortens the texts that the sidecar would refuse the turn for."""
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in (value,) if isinstance(value, Message) else value:
                _cut(each)
        elif isinstance(value, str) and len(value) * 4 > LONGEST_TEXT_BYTES:
            text = value.encode()
            if len(text) > LONGEST_TEXT_BYTES:
                kept = text[: LONGEST_TEXT_BYTES - len(_CUT.encode())].decode(errors="ignore")
                setattr(message, field.name, kept + _CUT)


def _copy(event: pb.TurnEvent) -> pb.TurnEvent:
    copied = pb.TurnEvent()
    copied.CopyFrom(event)
    return copied
