"""The calls of one turn in memory: which failed last, and what was looked up. A fold of the turn's entries.

Nothing that is kept comes of it: observations are made from the log, when the turn has ended. It stands in the way of
every event, so a call that works is not read until somebody asks what was looked up.
"""

import msgspec

from sidemirror_server.memory.recoveries.asked import asked, look_up_of
from sidemirror_server.memory.recoveries.moves import Tally
from sidemirror_server.memory.recoveries.signed import failure_signature
from sidemirror_server.memory.recoveries.starter import dialect_of
from sidemirror_server.memory.recoveries.trail import MOST_LOOKED_UP, Failure
from sidemirror_server.thinking.record import Advised, Directive, Recorded
from sidemirror_server.trace.event import Event, ToolCalled, ToolFailed, ToolReturned
from sidemirror_server.trace.failed import call_failed
from sidemirror_server.trace.open_calls import opened, taken
from sidemirror_server.vocabulary.ids import EventId

# What a turn holds beside that; chosen here. Longer arguments are read at once, so that they need not be held.
_MOST_UNREAD = 100
_UNREAD_CHARS = 1_000


class _Call(msgspec.Struct, frozen=True, gc=False):
    event_id: EventId
    agent: str
    tool: str
    arguments: str
    polling: bool


class TurnCalls:
    """`failed`: the failure that the latest entry is, else None. `told`: the signatures of which the turn was told.
    `repeats`: by signature, how often such a call worked when it was sent again, where it hardly ever did."""

    def __init__(self) -> None:
        self._open: dict[str, _Call] = {}
        # Calls that worked and were not read so far.
        self._unread: list[_Call] = []
        self._looked_up: list[str] = []
        self.failed: Failure | None = None
        self.told: set[str] = set()
        self.repeats: dict[str, Tally] = {}

    @property
    def looked_up(self) -> tuple[str, ...]:
        """The labels of the look-ups that the turn has done, each once; the last hundred."""
        self._read()
        return tuple(self._looked_up)

    def take(self, recorded: Recorded) -> None:
        """Takes the next entry of the turn."""
        self.failed = None
        if isinstance(recorded, Event):
            self.failed = self._taken(recorded)
        elif isinstance(recorded, Directive) and isinstance(recorded.what, Advised):
            self.told.add(recorded.what.signature)

    def _taken(self, event: Event) -> Failure | None:
        match event.what:
            case ToolCalled() as call:
                began = _Call(event.event_id, event.agent, call.name, call.arguments, call.polling)
                opened(self._open, call.call_id or event.event_id, began)
            case ToolReturned(call_id=call_id, content=content, is_error=is_error, has_worked=has_worked):
                return self._ended(event, call_id, content, is_error=is_error, has_worked=has_worked)
            case ToolFailed(call_id=call_id, error=error):
                return self._ended(event, call_id, error, is_error=True, has_worked=False)
            case _:
                pass
        return None

    def _ended(self, event: Event, call_id: str, text: str, *, is_error: bool, has_worked: bool) -> Failure | None:
        call = taken(self._open, call_id, event.agent)
        if call is None or call.polling:
            return None
        if call_failed(text, is_error=is_error, has_worked=has_worked):
            what = asked(call.tool, call.arguments)
            signature = failure_signature(what, text)
            dialect = dialect_of(call.tool, text)
            failure = Failure(call.event_id, signature, what.is_json, what.label, dialect, what.values)
            return failure if signature else None
        self._unread.append(call)
        if len(self._unread) >= _MOST_UNREAD or len(call.arguments) > _UNREAD_CHARS:
            self._read()
        return None

    def _read(self) -> None:
        for call in self._unread:
            label = look_up_of(call.tool, call.arguments)
            if label and label not in self._looked_up:
                self._looked_up.append(label)
        self._unread.clear()
        del self._looked_up[:-MOST_LOOKED_UP]
