"""The way of one turn to the sidecar: nothing is lost while it is away, and nothing counts twice. On our loop only.

Every event has an id, and stays in the turn's queue until the sidecar has said that it is durable. When the stream
breaks, another one takes the turn up and sends again what is not known to be durable; the sidecar drops what it has.
Outcomes and goals follow once the turn is durable, each under a request_id that stays the same.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_client.link import FIRST_PAUSE_S, LONGEST_PAUSE_S, Link
from sidemirror_client.pool import Pool
from sidemirror_client.problem import FINAL, is_answer, is_refused, is_unable, problem_of, reason_of
from sidemirror_client.turn_queue import Queue, Report, Wakes

# What the sidecar takes in one request; bytes are kept well below its 4 MiB a message.
_BATCH_EVENTS = 500
_BATCH_BYTES = 1024 * 1024
# A turn is lost when so many streams in a row have failed without a word that it passes, and nothing more of it was
# durable after them. A report is lost after as many calls.
MOST_TRIES = 10
# The longest that a report may take.
_REPORT_S = 10.0
# Between streams that are opened one after the other. Chosen here: a thousand turns are back in a second more.
_BREATH_S = 0.001
# How long an event that the sidecar says nothing to waits for those behind it (decision 109).
GATHER_S = 0.02
_HIDDEN = frozenset({"ack", "heartbeat", "closing"})


class Delivery:
    """Takes what is in a turn's queue to the sidecar, and brings back what it says."""

    def __init__(self, link: Link, pool: Pool, queue: Queue, send: Callable[[Any, float], Any]) -> None:
        """`send`: makes the call of a report, with a timeout in seconds."""
        self._link = link
        self._pool = pool
        self._queue = queue
        self._send = send
        self.error: grpc.RpcError | None = None
        self.plan: pb.TurnPlan | None = None
        self.summary: pb.TurnSummary | None = None
        self.over = False
        self._pending = False
        self._last_sequence = 0
        self._told: set[str] = set()
        self._told_later = False
        self._news = asyncio.Event()
        self._to_send = asyncio.Event()
        # How many wait for what the sidecar says.
        self._asked = 0
        self._gathering: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self, done: Callable[[], None]) -> None:
        """Starts. `done` is called when nothing is left to deliver."""
        self._queue.woken = Wakes.NOT
        if self._link.closed or not self._queue.events:
            self.end()
            done()
            return
        self._task = asyncio.create_task(self._deliver())
        self._task.add_done_callback(lambda _: done())

    def gather(self) -> None:
        """There is something in the queue that can wait for what comes behind it, unless somebody waits for answers."""
        if self._asked:
            self.send()
        elif self._gathering is None:
            self._gathering = asyncio.get_running_loop().call_later(GATHER_S, self.send)

    def send(self) -> None:
        """There is something in the queue that goes now."""
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        self._queue.woken = Wakes.NOT
        self._to_send.set()

    async def wait(self, there: Callable[[], bool], timeout_s: float) -> bool:
        """Whether it is there in time; False at once while the sidecar is away."""
        away = asyncio.create_task(self._link.wait_away())
        self._asked += 1
        self.send()
        try:
            async with asyncio.timeout(timeout_s):
                while not there():
                    if self.over or not self._link.reachable:
                        return False
                    news = asyncio.create_task(self._news.wait())
                    try:
                        await asyncio.wait({news, away}, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        news.cancel()
        except TimeoutError:
            return there()
        finally:
            self._asked -= 1
            away.cancel()
        return True

    def has(self, count: int) -> bool:
        """So many events were received."""
        return self._queue.received_count >= count

    def is_quiet(self, count: int) -> bool:
        """So many events were received, and nothing that the sidecar says to them is in progress."""
        return self.has(count) and not self._pending

    async def next_news(self) -> None:
        """Returns once something has changed."""
        await self._news.wait()

    async def delivered(self) -> None:
        """Returns once everything in the queue is durable with the sidecar, or the turn is given up."""
        self.send()
        while not self.over and not self._queue.is_delivered:
            await self._news.wait()

    async def abandon(self) -> None:
        """Ends it, with what it has not delivered. The sidecar abandons the turn after 30 idle minutes."""
        # First: a task that has not begun would end nothing, and one whose stream breaks in this moment is not
        # cancelled, since grpc.aio says what has become of the stream instead.
        self.end()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    def end(self) -> None:
        """Nothing more is delivered."""
        self._queue.drop_rest()
        self.over = True
        self._tell()

    # --- the stream --------------------------------------------------------------------------------------------------

    async def _deliver(self) -> None:
        """One stream after the other until the turn is over; then its reports."""
        try:
            if await self._deliver_events():
                await self._deliver_reports()
        finally:
            self._link.settled(self)
            self.end()

    async def _deliver_events(self) -> bool:
        """Returns True once the turn is durable with its end, False when it is given up."""
        failures = tries = 0
        while not self.over:
            await self._link.there()
            outage, pause_s, stream = self._link.outages, 0.0, _Stream()
            try:
                async with self._pool.stream() as thinking:
                    # After an outage all turns come at once: the agent's thread gets the interpreter's lock in between.
                    breath_s = _BREATH_S if self._link.opening.locked() else 0.0
                    async with self._link.opening:
                        await asyncio.sleep(breath_s)
                    outage = self._link.outages
                    await self._stream(thinking, stream, outage)
            except asyncio.CancelledError:
                if self._is_over() or self._link.reachable or _is_cancelled():
                    raise
                # The sidecar is silent, and the stream was given up.
                if self._has_ended():
                    return True
            except (grpc.RpcError, OSError, ValueError) as error:
                if self._has_ended():
                    return True
                # After another outage it was given up here.
                tries += outage == self._link.outages and _is_counted(error) and not stream.durable
                if self._is_over() or self._gives_up(error, tries):
                    return False
                pause_s = self._pause_s(error, outage)
            else:
                if self._has_ended() or (self._queue.is_finished and not self._queue.events):
                    return True
                # Closed by the sidecar, because nothing was said for long: opened again when there is something.
                await self._something_to_send()
            finally:
                self._link.settled(self)
            # One that is closed without a word is no better than one that breaks.
            failures, tries = (0, 0) if stream.durable else (failures + 1, tries)
            await asyncio.sleep(max(pause_s, min(FIRST_PAUSE_S * failures, LONGEST_PAUSE_S)))
        return False

    def _has_ended(self) -> bool:
        """The summary has come, which is the last that is said of a turn, and everything is durable: then it does not
        matter what has become of the stream. Of a turn that the agent does not finish it says that the sidecar has
        abandoned it."""
        return self.summary is not None and not self._queue.events

    def _is_over(self) -> bool:
        return self.over

    async def _stream(self, thinking: Any, stream: "_Stream", outage: int) -> None:
        """Returns when the sidecar has closed the stream. Raises AioRpcError, and CancelledError when the sidecar has
        gone away."""
        self._queue.received_count = 0
        call = thinking.RunTurn(self._requests(stream))
        guard = asyncio.create_task(self._cancel_when_away(call))
        try:
            async for response in call:
                self._link.answered(outage)
                for directive in response.directives:
                    self._hear(directive, stream)
        finally:
            guard.cancel()
            call.cancel()
            # What reads the requests is a task of grpc's, which would wait for ever after a stream that broke.
            stream.ended = True
            self._to_send.set()

    async def _cancel_when_away(self, call: Any) -> None:
        await self._link.wait_away()
        call.cancel()

    async def _requests(self, stream: "_Stream") -> AsyncIterator[pb.RunTurnRequest]:
        resume = None
        if not (self._queue.events and self._queue.events[0].HasField("turn_started")):
            resume = pb.TurnResume(turn_id=self._queue.turn_id, after_sequence=self._last_sequence)
        while not stream.ended:
            self._to_send.clear()
            batch = self._batch(stream)
            if batch or resume is not None:
                self._link.sent(self)
                yield pb.RunTurnRequest(events=batch, resume=resume)
                resume = None
                if batch and batch[-1].HasField("turn_finished"):
                    # Said, so that the stream just ends: one that is reset counts with the sidecar for a while.
                    return
            else:
                await self._to_send.wait()

    def _batch(self, stream: "_Stream") -> list[pb.TurnEvent]:
        """What this stream has not sent yet, as far as it fits one request."""
        batch: list[pb.TurnEvent] = []
        size = 0
        for event in self._queue.after(stream.sent - stream.durable):
            size += event.ByteSize()
            if batch and (size > _BATCH_BYTES or len(batch) >= _BATCH_EVENTS):
                break
            batch.append(event)
        stream.sent += len(batch)
        return batch

    async def _something_to_send(self) -> None:
        while not (self.over or self._queue.events):
            self._to_send.clear()
            if not self._queue.events:
                await self._to_send.wait()

    def _hear(self, directive: pb.TurnDirective, stream: "_Stream") -> None:
        kind = directive.WhichOneof("kind")
        if kind == "ack":
            self._settle(directive.ack, stream)
        self._last_sequence = max(self._last_sequence, directive.sequence)
        if kind in _HIDDEN or (directive.directive_id and directive.directive_id in self._told):
            return
        self._told.add(directive.directive_id)
        if kind == "turn_plan":
            if self.plan is not None:
                return  # the turn was begun again, because the first beginning was lost in a crash
            self.plan = directive.turn_plan
            self._queue.shown(self.plan.context.receipt_id)
        elif kind == "turn_summary":
            self.summary = directive.turn_summary
        elif kind == "reflection":
            self._queue.shown(directive.reflection.lessons.receipt_id)
        self._queue.say(directive)
        self._tell()

    def _settle(self, ack: pb.TurnAck, stream: "_Stream") -> None:
        """The first events of this stream are received, and some of them safe."""
        durable = min(ack.durable, stream.sent)
        self._queue.forget(durable - stream.durable)
        stream.durable = max(durable, stream.durable)
        if ack.received >= stream.sent:
            self._link.settled(self)
        self._pending = bool(ack.pending_ids)
        if ack.withdrawn_ids:
            self._queue.withdraw(ack.withdrawn_ids)
        self._queue.received(max(0, min(ack.received, stream.sent) - stream.durable))
        self._tell()

    # --- reports -----------------------------------------------------------------------------------------------------

    async def _deliver_reports(self) -> None:
        while (report := self._queue.next_report()) is not None:
            await self._deliver_report(report)
            self._tell()

    async def _deliver_report(self, report: Report) -> None:
        tries = 0
        while True:
            await self._link.there()
            outage, pause_s = self._link.outages, FIRST_PAUSE_S
            try:
                with self._link.waiting():
                    answer = await self._link.unless_away(self._send(report, _REPORT_S))
            except (grpc.RpcError, OSError, ValueError) as error:
                tries += outage == self._link.outages and _is_counted(error) and not _is_late(error)
                if isinstance(error, grpc.aio.AioRpcError) and (_is_final(error) or tries >= MOST_TRIES):
                    self._link.say(f"the sidecar has refused {report.what} of turn {self._queue.turn_id}", error)
                    self._queue.drop_report()
                    return
                pause_s = max(pause_s, self._report_pause_s(error, outage))
            else:
                if answer is not None:
                    self._link.answered(outage)
                    self._queue.forget_report()
                    return
            await asyncio.sleep(pause_s)

    # --- errors ------------------------------------------------------------------------------------------------------

    def _gives_up(self, error: Exception, tries: int) -> bool:
        """Nothing more is tried after this error, of which the agent is told."""
        if not isinstance(error, grpc.aio.AioRpcError) or not (_is_final(error) or tries >= MOST_TRIES):
            return False
        self.error = error
        turn_id = self._queue.turn_id
        if error.code() is grpc.StatusCode.PERMISSION_DENIED:
            self._link.not_permitted(error)
            return True
        lost = f"turn {turn_id} is lost, the sidecar has failed with it {tries} times"
        self._link.say(lost if tries >= MOST_TRIES else f"the sidecar has refused turn {turn_id}", error)
        return True

    def _report_pause_s(self, error: Exception, outage: int) -> float:
        """As of a stream; but a sidecar whose store is away takes the report later, and the agent goes on with it. One
        that has no answer in time is busy: whether it is silent is found otherwise."""
        if _is_late(error):
            return 0.0
        if isinstance(error, grpc.aio.AioRpcError) and is_unable(error):
            self._link.heard()
            return problem_of(error).retry_after_s or 0.0
        return self._pause_s(error, outage)

    def _pause_s(self, error: Exception, outage: int) -> float:
        """How long the sidecar wants to be left alone. It is away where nobody says what the matter is."""
        if isinstance(error, grpc.aio.AioRpcError):
            problem = problem_of(error)
            if error.code() is grpc.StatusCode.UNAUTHENTICATED:
                self._link.refused(error, outage)
                return 0.0
            if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and problem.retry_after_s is not None:
                self._link.heard()
                if not self._told_later:
                    self._told_later = True
                    self._link.say(f"the sidecar refuses turn {self._queue.turn_id} for now", error)
                return problem.retry_after_s
            # CANCELLED: somebody has given the call up. A connection that breaks is UNAVAILABLE.
            if is_answer(error) or is_refused(error) or error.code() is grpc.StatusCode.CANCELLED:
                return 0.0
        self._link.lost(reason_of(error) if isinstance(error, grpc.aio.AioRpcError) else str(error), outage)
        return 0.0

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class _Stream:
    """How many events one stream has sent, and how many of these are durable."""

    def __init__(self) -> None:
        self.sent = 0
        self.durable = 0
        self.ended = False


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _is_counted(error: Exception) -> bool:
    """Nobody says that it passes: it is not tried for ever."""
    if not isinstance(error, grpc.aio.AioRpcError) or is_refused(error):
        return False
    passes = error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED)
    return not passes and problem_of(error).retry_after_s is None


def _is_late(error: Exception) -> bool:
    return isinstance(error, grpc.aio.AioRpcError) and error.code() is grpc.StatusCode.DEADLINE_EXCEEDED


def _is_final(error: grpc.aio.AioRpcError) -> bool:
    if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
        # A limit of the turn, such as its bytes. Where there will be room again the sidecar says when.
        problem = problem_of(error)
        return bool(problem.reason) and problem.retry_after_s is None
    return error.code() in FINAL
