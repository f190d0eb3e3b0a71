"""What a turn has reported and the sidecar does not have yet: put in on any thread, taken out on our loop."""

import itertools
import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum

from google.protobuf.message import Message

from sidemirror.v1 import common_pb2, goal_reflection_pb2, reflective_memory_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_client.advice import is_advice
from sidemirror_client.link import Link
from sidemirror_client.losses import Losses

_log = logging.getLogger("sidemirror_client")

# What the sidecar takes of a turn.
MOST_EVENTS = 10_000
# What waits for a sidecar that is away. Beyond that it is dropped, and counted.
MOST_BYTES = 16 * 1024 * 1024
# The same of all turns of a client, and how many turns may be open: one that begins beyond that is not reported.
MOST_BYTES_IN_ALL = 64 * 1024 * 1024
MOST_TURNS = 10_000
# The longest text that the sidecar takes; of a longer one the beginning is reported.
LONGEST_TEXT_BYTES = 256 * 1024
_CUT = " … [cut]"
# The same of a tool's name, in characters, and what a call without one is reported as: the sidecar would refuse its
# turn.
_LONGEST_NAME = 256
_UNNAMED = "unnamed"
# What would not fit the sidecar's 4 MiB a message, texts cut: a goal's tasks, or the messages of a turn's beginning.
# What the sidecar takes of an event, which is less, it says itself when it refuses the turn.
_MOST_MESSAGE_BYTES = 4 * 1024 * 1024 - 64 * 1024
# Events to which the sidecar says nothing, and behind which others come soon.
_GATHERED = frozenset({"model_started", "model_returned", "tool_called"})
# Directives that nobody takes: the oldest go.
_MOST_DIRECTIVES = 1_000


class Wakes(IntEnum):
    """How our loop is woken for an event."""

    NOT = 0
    SOON = 1
    NOW = 2


@dataclass(frozen=True)
class End:
    """What follows a turn's end: its outcome, for each receipt that it has by then, and its goal."""

    outcome: common_pb2.TaskOutcome
    score: float | None
    goal: goal_reflection_pb2.ReportGoalRequest | None


@dataclass(frozen=True)
class Report:
    """A call that follows the turn: an outcome or a goal, as `what` says."""

    what: str
    request: reflective_memory_pb2.ReportOutcomeRequest | goal_reflection_pb2.ReportGoalRequest


class Queue:
    """Events, reports and directives of one turn."""

    def __init__(self, turn_id: str, agent: str, link: Link, losses: Losses) -> None:
        self.turn_id = turn_id
        self._agent = agent
        self._link = link
        self._losses = losses
        self._lock = threading.Lock()
        # An event's id is this one and a number. A UUID for each would take longer, and the agent waits for it.
        self._id = str(uuid.uuid4())
        self._numbers = itertools.count(1)
        self.events: deque[pb.TurnEvent] = deque()
        self._reports: deque[Report] = deque()
        self._bytes = 0
        # Events that were taken in.
        self.count = 0
        self._receipts: dict[str, None] = {}
        self._directives: deque[pb.TurnDirective] = deque(maxlen=_MOST_DIRECTIVES)
        self.is_finished = False
        self._is_late = False
        self._is_over = False
        # Of these, how many the sidecar has received, as far as it has said on the stream that is open.
        self.received_count = 0
        # How our loop knows that there is something.
        self.woken = Wakes.NOT
        self.dropped = 0

    def renew_lock(self) -> None:
        """In a child after a fork."""
        self._lock = threading.Lock()

    # --- the agent ---------------------------------------------------------------------------------------------------

    def put(self, event: pb.TurnEvent, *, can_wait: bool = False, end: End | None = None) -> Wakes:
        """Takes an event, cut to what the sidecar takes, and fills in what it lacks. `can_wait`: of whatever kind it
        is, the sidecar says nothing to it. `end`: what follows it, which is the turn's end. Returns how our loop has to
        be woken."""
        event.event_id = event.event_id or f"{self._id}-{next(self._numbers)}"
        event.agent = event.agent or self._agent
        if not event.HasField("time"):
            event.time.FromNanoseconds(time.time_ns())
        kind = event.WhichOneof("kind")
        if kind == "tool_called":
            event.tool_called.name = event.tool_called.name[:_LONGEST_NAME] or _UNNAMED
        ends = kind == "turn_finished"
        size = event.ByteSize()
        if size > LONGEST_TEXT_BYTES:
            cut(event)
            size = event.ByteSize()
        with self._lock:
            if end is not None and not self.is_finished:
                self._put_end(end)
            if not (self.is_finished or self._is_over or (not ends and self._is_full(size))):
                return self._take_in(event, size, kind, can_wait or kind in _GATHERED)
            is_again = ends and self.is_finished
            is_late = self.is_finished and not ends and not self._is_late
            self._is_late = self._is_late or is_late
            if not is_again:
                self._drop_events(1)
            self.is_finished = self.is_finished or ends
        if is_again:
            _log.warning("turn %s is finished: another finish changes nothing", self.turn_id)
        elif is_late:
            _log.warning("turn %s is finished: what is reported after that is not delivered", self.turn_id)
        elif size > _MOST_MESSAGE_BYTES:
            _log.warning("turn %s: an event that is too large for a message is not delivered", self.turn_id)
        return Wakes.NOT

    def _take_in(self, event: pb.TurnEvent, size: int, kind: str | None, can_wait: bool) -> Wakes:
        self.is_finished = kind == "turn_finished"
        self.count += 1
        self._keep(size)
        self.events.append(event)
        wakes = Wakes.SOON if can_wait else Wakes.NOW
        if wakes <= self.woken:
            return Wakes.NOT
        self.woken = wakes
        return wakes

    def _put_end(self, end: End) -> None:
        if self._is_over:
            self._losses.add(self.turn_id, goals=end.goal is not None)
            return
        self._outcome = (end.outcome, end.score)
        if end.goal is not None:
            self._add(Report("the goal", end.goal))

    def shown(self, receipt_id: str) -> None:
        """The turn was given a block with this receipt."""
        if receipt_id:
            with self._lock:
                self._receipts[receipt_id] = None

    def take(self, *, advice_only: bool = False) -> list[pb.TurnDirective]:
        """The directives that have come, in their order."""
        with self._lock:
            taken = [one for one in self._directives if not advice_only or is_advice(one)]
            left = [one for one in self._directives if advice_only and not is_advice(one)]
            self._directives.clear()
            self._directives.extend(left)
            return taken

    def take_one(self) -> pb.TurnDirective | None:
        """The first directive that has come."""
        with self._lock:
            return self._directives.popleft() if self._directives else None

    @property
    def has_directives(self) -> bool:
        """Whether a directive has come that nobody has taken."""
        return bool(self._directives)

    # --- our loop ----------------------------------------------------------------------------------------------------

    @property
    def is_delivered(self) -> bool:
        """Nothing waits: neither an event nor, after the end, the end of the reports."""
        return not (self.events or self._reports or self.is_finished)

    def after(self, count: int) -> list[pb.TurnEvent]:
        """The events after the first `count`."""
        with self._lock:
            return list(itertools.islice(self.events, count, count + 501))

    def received(self, count: int) -> None:
        """The sidecar has received the first `count` events that wait."""
        with self._lock:
            self.received_count = self.count - len(self.events) + count

    def forget(self, count: int) -> None:
        """The first `count` events are durable."""
        with self._lock:
            for _ in range(max(0, count)):
                self._keep(-self.events.popleft().ByteSize())

    def say(self, directive: pb.TurnDirective) -> None:
        """Keeps a directive for the agent."""
        with self._lock:
            self._directives.append(directive)

    def withdraw(self, directive_ids: Collection[str]) -> None:
        """What nobody needs to be told any more: what was not taken was not shown."""
        with self._lock:
            gone = [one for one in self._directives if one.directive_id in directive_ids]
            for one in gone:
                self._directives.remove(one)
                self._receipts.pop(one.reflection.lessons.receipt_id, None)

    def next_report(self) -> Report | None:
        """What is to be reported next, once the turn is durable; None when there is nothing."""
        with self._lock:
            outcome, score = self._outcome
            if outcome != common_pb2.TASK_OUTCOME_UNSPECIFIED:
                # The first block that told a lesson is reported first: its error came up again if it came behind that.
                for receipt_id in reversed(self._receipts):
                    request = reflective_memory_pb2.ReportOutcomeRequest(
                        request_id=str(uuid.uuid4()), receipt_id=receipt_id, outcome=outcome, score=score
                    )
                    self._reports.appendleft(Report("the outcome", request))
                    self._keep(request.ByteSize())
            self._receipts.clear()
            return self._reports[0] if self._reports else None

    def forget_report(self) -> None:
        """The first report is made."""
        with self._lock:
            self._keep(-self._reports.popleft().request.ByteSize())

    def drop_report(self) -> None:
        """The first report is not taken."""
        with self._lock:
            self._drop(self._reports.popleft())

    def drop_rest(self) -> None:
        """Nothing more is delivered."""
        with self._lock:
            self._is_over = True
            self._drop_events(len(self.events))
            self.events.clear()
            while self._reports:
                self._drop(self._reports.popleft())
            outcome, _ = self._outcome
            if outcome != common_pb2.TASK_OUTCOME_UNSPECIFIED:
                self._losses.add(self.turn_id, outcomes=len(self._receipts))
            self._receipts.clear()
            self._keep(-self._bytes)

    _outcome: tuple[common_pb2.TaskOutcome, float | None] = (common_pb2.TASK_OUTCOME_UNSPECIFIED, None)

    def _add(self, report: Report) -> None:
        size = report.request.ByteSize()
        if self._is_full(size):
            self._count_dropped(report)
            return
        self._reports.append(report)
        self._keep(size)

    def _drop(self, report: Report) -> None:
        self._keep(-report.request.ByteSize())
        self._count_dropped(report)

    def _count_dropped(self, report: Report) -> None:
        is_goal = isinstance(report.request, goal_reflection_pb2.ReportGoalRequest)
        self._losses.add(self.turn_id, outcomes=not is_goal, goals=is_goal)

    def _drop_events(self, count: int) -> None:
        self.dropped += count
        self._losses.add(self.turn_id, events=count)

    def _is_full(self, size: int) -> bool:
        """There is no room for so many bytes."""
        return (
            self.count >= MOST_EVENTS
            or size > _MOST_MESSAGE_BYTES
            or self._bytes + size > MOST_BYTES
            or self._link.waiting_bytes + size > MOST_BYTES_IN_ALL
        )

    def _keep(self, size: int) -> None:
        """So many bytes more wait, or fewer."""
        self._bytes += size
        self._link.wait_for(size)


def cut(message: Message) -> None:
    """Shortens the texts that the sidecar would refuse the turn for."""
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in (value,) if isinstance(value, Message) else value:
                cut(each)
        elif isinstance(value, str) and len(value) * 4 > LONGEST_TEXT_BYTES:
            text = value.encode()
            if len(text) > LONGEST_TEXT_BYTES:
                kept = text[: LONGEST_TEXT_BYTES - len(_CUT.encode())].decode(errors="ignore")
                setattr(message, field.name, kept + _CUT)
