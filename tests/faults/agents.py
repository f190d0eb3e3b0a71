"""An agent on RunTurn that survives broken streams: it resumes by turn id and sequence, and sends again what it was not
told is durable."""

import asyncio
import contextlib
from collections.abc import Sequence

import grpc

from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.journal import Journal
from tests.faults.sidecars import Stub, connected

# How long the summary of a turn takes whose end is durable: milliseconds, and more on a busy machine.
_SUMMARY_S = 5.0


def is_break(error: grpc.aio.AioRpcError) -> bool:
    """Whether the stream broke, as against being refused. A client whose connection goes while it writes tells itself
    INTERNAL, in gRPC's own words."""
    if error.code() is grpc.StatusCode.INTERNAL:
        return error.details() == "Internal error from Core"
    return error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


def started(turn_id: str, session_id: str, *, reflections: int = 4, level: int = pb.THINK_LEVEL_MEDIUM) -> pb.TurnEvent:
    """The first event of a turn that reflects by itself."""
    what = pb.TurnStarted(
        session_id=session_id,
        config=pb.ThinkingConfig(level=level),  # type: ignore[arg-type]
        budget=pb.TurnBudget(max_reflections=reflections),
    )
    return pb.TurnEvent(event_id=f"{turn_id}/0", turn_id=turn_id, turn_started=what)


def failing_calls(turn_id: str, count: int, first: int = 1) -> list[pb.TurnEvent]:
    """`count` events: calls of tools, every third of which fails."""
    events = []
    for number in range(first, first + count):
        if number % 2:
            what = pb.TurnEvent(tool_called=pb.ToolCalled(name=f"tool-{number % 7}", arguments=f'{{"n": {number}}}'))
        elif number % 3 == 0:
            what = pb.TurnEvent(tool_failed=pb.ToolFailed(error=f"connection refused ({number})"))
        else:
            what = pb.TurnEvent(tool_returned=pb.ToolReturned(content=f"result {number}"))
        what.event_id = f"{turn_id}/{number}"
        events.append(what)
    return events


def a_turn(turn_id: str, session_id: str, events: int) -> list[pb.TurnEvent]:
    """A whole turn of so many events, the first and the last included."""
    last = pb.TurnEvent(event_id=f"{turn_id}/{events - 1}", turn_finished=pb.TurnFinished())
    return [started(turn_id, session_id), *failing_calls(turn_id, events - 2), last]


class Agent:
    """Runs one turn to its end, over as many streams as it takes."""

    def __init__(self, turn_id: str, events: Sequence[pb.TurnEvent], journal: Journal, *, batch: int = 10) -> None:
        """`batch`: how many events a message carries. Two messages are on their way at most."""
        self.turn_id = turn_id
        self.events = events
        self.durable = 0
        self.seen = 0
        self.directives: list[pb.TurnDirective] = []
        self.breaks = 0
        self.closings = 0
        self.over = False
        self._journal = journal
        self._batch = batch
        self._received = 0
        self._base = 0
        self._told = asyncio.Event()
        self._stopped = False

    async def run(self, stub: Stub, *, deadline_s: float | None = None) -> None:
        """One stream: until it breaks, or says that the server goes away, or the turn is over."""
        self._base = self._received = self.durable
        self._stopped = False
        # With nothing left to send, only the summary is waited for: it comes at once, or the end of the turn was lost.
        only_summary = self.durable == len(self.events)
        stream = stub.RunTurn(timeout=_SUMMARY_S if only_summary else deadline_s)
        sending = asyncio.create_task(self._send(stream))
        try:
            while (response := await stream.read()) is not grpc.aio.EOF:
                for directive in response.directives:
                    self._hear(directive)
        except grpc.aio.AioRpcError as error:
            self.breaks += 1
            if error.code() is grpc.StatusCode.NOT_FOUND:
                self.durable = self.seen = 0  # the turn had not become durable: it starts again
            elif only_summary and error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                raise AssertionError(f"lost: {self.turn_id} was called durable to its end, and is open") from error
            elif not (is_break(error) or (deadline_s and error.code() is grpc.StatusCode.DEADLINE_EXCEEDED)):
                raise
        except asyncio.CancelledError:
            stream.cancel()
            raise
        finally:
            sending.cancel()
            with contextlib.suppress(asyncio.CancelledError, grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await sending

    async def run_on(self, address: str) -> None:
        """One stream on a connection of its own; one that cannot be made is one that breaks."""
        async with connected(address) as stub:
            await self.run(stub)

    def _hear(self, directive: pb.TurnDirective) -> None:
        kind = directive.WhichOneof("kind")
        if kind == "ack":
            self._settle(self._base + directive.ack.durable)
            self._received = self._base + directive.ack.received
            self._told.set()
        elif kind == "closing":
            self.closings += 1
            self._stopped = True
            self._told.set()
        elif directive.sequence:
            self.seen = max(self.seen, directive.sequence)
            self.directives.append(directive)
            if kind == "turn_summary":
                # It comes when the turn's end is durable, and events become durable in the order in which they came.
                self.over = True
                self._settle(len(self.events))

    def _settle(self, durable: int) -> None:
        for event in self.events[self.durable : durable]:
            self._journal.ok(event.event_id)
        self.durable = max(self.durable, durable)

    async def _send(self, stream: "grpc.aio.StreamStreamCall[pb.RunTurnRequest, pb.RunTurnResponse]") -> None:
        first = pb.RunTurnRequest()
        if self.durable:
            first.resume.turn_id, first.resume.after_sequence = self.turn_id, self.seen
        sent = self.durable
        request = first
        try:
            # A write that is cancelled would take its stream with it: the loop ends by itself.
            while (sent < len(self.events) or request.HasField("resume")) and not self._stopped:
                part = self.events[sent : sent + self._batch]
                for event in part:
                    self._journal.begin(event.event_id)
                request.events.extend(part)
                await stream.write(request)
                sent += len(part)
                request = pb.RunTurnRequest()
                while sent - self._received >= 2 * self._batch and not self._stopped:
                    self._told.clear()
                    await self._told.wait()
        finally:
            # Half-closing also when the server goes away: what was sent becomes durable before the stream ends.
            if not stream.done():
                with contextlib.suppress(asyncio.InvalidStateError, grpc.aio.AioRpcError):
                    await stream.done_writing()


async def record_of(stub: Stub, turn_id: str) -> tuple[pb.Turn, list[pb.TurnEntry]]:
    """A turn and all of its record, page by page."""
    entries: list[pb.TurnEntry] = []
    token = ""
    while True:
        page = await stub.GetTurn(pb.GetTurnRequest(turn_id=turn_id, page_size=1000, page_token=token))
        entries.extend(page.entries)
        token = page.next_page_token
        if not token:
            return page.turn, entries


def check_record(entries: Sequence[pb.TurnEntry], events: Sequence[pb.TurnEvent], most_slots: int = 4) -> list[str]:
    """What is wrong with the record of a turn that was sent `events`: holes, order, claims without a result."""
    wrong = []
    if [entry.sequence for entry in entries] != list(range(1, len(entries) + 1)):
        wrong.append("the sequence has holes")
    recorded = [entry.event.event_id for entry in entries if entry.HasField("event")]
    if recorded != [event.event_id for event in events[: len(recorded)]]:
        wrong.append("the events are not in the order in which they were sent")
    claims = [entry.claim.directive_id for entry in entries if entry.HasField("claim")]
    made = [entry.directive.directive_id for entry in entries if entry.directive.HasField("reflection")]
    if len(claims) > most_slots:
        wrong.append(f"{len(claims)} slots of {most_slots} were taken")
    wrong.extend(f"claim {claim} has {made.count(claim)} results" for claim in claims if made.count(claim) != 1)
    return wrong
