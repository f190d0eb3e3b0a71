"""What the log keeps of a turn: events, directives and slot claims, and their JSON.

`thinking/turn.py` folds these into the turn's state. Field names are part of the stored format.
"""

import msgspec

from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.thinking.detectors import Pattern
from sidemirror_server.thinking.schedule import Reason
from sidemirror_server.trace.event import Event
from sidemirror_server.trace.log import Draft, Entry
from sidemirror_server.vocabulary.block import ContextBlock
from sidemirror_server.vocabulary.budget import BudgetLeft, TurnBudget
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.ids import DirectiveId, EventId, SessionId, TurnId
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.status import ResultStatus, Usage


class SeenError(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool error that no reflection has dealt with. `sequence` is 0 when an earlier turn left it."""

    event_id: EventId
    tool: str
    text: str
    sequence: int = 0


class Reflection(msgspec.Struct, frozen=True, omit_defaults=True, tag="reflection"):
    """One mid-turn reflection and what came of it. Texts and confidence are None where the model gave none. `lessons`:
    from earlier work, for what failed; None when there are none."""

    status: ResultStatus
    detail: str = ""
    reflection: str | None = None
    suggested_action: str | None = None
    confidence: float | None = None
    usage: Usage | None = None
    cited_event_ids: tuple[EventId, ...] = ()
    origin: Origin = Origin.TOOL
    lessons: ContextBlock | None = None


class Carry(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a turn hands to the next one of its session."""

    tool_errors: tuple[SeenError, ...] = ()
    last_reflection: Reflection | None = None


class TurnPlan(msgspec.Struct, frozen=True, omit_defaults=True, tag="turn_plan"):
    """How a turn is run; the second entry of every turn. `reflection_mode`: auto or on_request; `critique_mode`: off,
    gated or always; `context`: None when the turn asked for none, or it could not be read."""

    turn_id: TurnId
    session_id: SessionId
    turn_count: int
    system_prompt: str
    token_budget: int
    provider_parameters: dict[str, object]
    warnings: tuple[str, ...]
    config: ThinkingConfig
    reflection_mode: str
    budget: TurnBudget
    carried: Carry = Carry()
    critique_mode: str = "off"
    context: ContextBlock | None = None


class Nudge(msgspec.Struct, frozen=True, tag="nudge"):
    """A detector's finding."""

    pattern: Pattern
    message: str


class Critiqued(msgspec.Struct, frozen=True, omit_defaults=True, tag="critique"):
    """A verdict on a drafted response. `body` is the JSON of it, in the form of the room that makes critiques; this
    room only counts it. `reasons`: conditions of that room's gate."""

    status: ResultStatus
    body: msgspec.Raw
    reasons: tuple[str, ...] = ()
    usage: Usage | None = None


class TurnSummary(msgspec.Struct, frozen=True, omit_defaults=True, tag="turn_summary"):
    """What a turn came to; its last entry. `reflections` and `critiques` count by status."""

    outcome: str
    score: float | None
    duration_us: int
    event_count: int
    tool_call_count: int
    tool_error_count: int
    nudge_count: int
    reflections: dict[str, int]
    budget_left: BudgetLeft
    abandoned: bool = False
    critiques: dict[str, int] = {}


Said = TurnPlan | Nudge | Reflection | Critiqued | TurnSummary


class Directive(msgspec.Struct, frozen=True, omit_defaults=True, tag="directive"):
    """Something the sidecar says to the agent."""

    directive_id: DirectiveId
    at_us: int
    what: Said
    caused_by: tuple[EventId, ...] = ()
    reasons: tuple[Reason, ...] = ()


class SlotClaim(msgspec.Struct, frozen=True, omit_defaults=True, tag="claim"):
    """A slot of the budget is taken for the reflection that becomes `directive_id`; or with `critique` that is begun,
    which takes no slot. `critique_reasons`: why, in the words of that room's gate."""

    directive_id: DirectiveId
    at_us: int
    reasons: tuple[Reason, ...] = ()
    caused_by: tuple[EventId, ...] = ()
    critique: bool = False
    critique_reasons: tuple[str, ...] = ()


Recorded = Event | Directive | SlotClaim

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Recorded).decode


def draft(sequence: int, at_us: int, recorded: Recorded) -> Draft:
    """The log entry that keeps `recorded` in the given place."""
    return Draft(sequence, at_us, _encode(recorded))


def recorded_in(entry: Entry) -> Recorded:
    """What a log entry of a turn keeps. Raises StoreUnavailable for one that this server cannot read."""
    try:
        recorded: Recorded = _decode(entry.body)
    except msgspec.MsgspecError as error:
        raise StoreUnavailable(turn_id=entry.key, reason=f"entry {entry.sequence} cannot be read") from error
    return recorded
