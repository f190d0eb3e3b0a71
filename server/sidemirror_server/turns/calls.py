"""The calls of one turn in memory: which failed last, and what was looked up. A fold of the turn's entries."""

from sidemirror_server.memory.recoveries.moves import Tally
from sidemirror_server.memory.recoveries.observation import Where
from sidemirror_server.memory.recoveries.trail import Failure, Trail, apply, begin
from sidemirror_server.thinking.record import Advised, Directive, Recorded
from sidemirror_server.trace.event import Event
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE

# Nothing that is kept comes of this fold: observations are made from the log, when the turn has ended.
_NOWHERE = Where(DEFAULT_SCOPE, TurnId(""), SessionId(""), "")


class TurnCalls:
    """`failed`: the failure that the latest entry is, else None. `told`: the signatures of which the turn was told.
    `repeats`: by signature, how often such a call worked when it was sent again, where it hardly ever did."""

    def __init__(self) -> None:
        self._trail = Trail()
        begin(self._trail, _NOWHERE)
        self.failed: Failure | None = None
        self.told: set[str] = set()
        self.repeats: dict[str, Tally] = {}

    @property
    def looked_up(self) -> tuple[str, ...]:
        """The labels of the look-ups that the turn has done."""
        return tuple(self._trail.looked_up)

    def take(self, recorded: Recorded) -> None:
        """Takes the next entry of the turn."""
        self.failed = None
        if isinstance(recorded, Event):
            self.failed = apply(self._trail, recorded)
            # What only observations need is not kept.
            self._trail.waiting.clear()
            self._trail.texts.clear()
            self._trail.seen.clear()
        elif isinstance(recorded, Directive) and isinstance(recorded.what, Advised):
            self.told.add(recorded.what.signature)
