"""The entries of a turn's log (events, directives and slot claims) and their JSON.

`thinking/turn.py` folds them into the turn's state. Field names are part of the stored format.
"""

import msgspec

from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.thinking.detectors import Pattern
from sidemirror_server.thinking.schedule import Reason
from sidemirror_server.trace.event import Event
from sidemirror_server.trace.log import Draft, Entry
from sidemirror_server.trace.receipts import RECOVERY_ITEM
from sidemirror_server.vocabulary.block import BlockItem, ContextBlock
from sidemirror_server.vocabulary.budget import BudgetLeft, TurnBudget
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.ids import DirectiveId, EventId, SessionId, TurnId
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.silence import Silence
from sidemirror_server.vocabulary.status import ResultStatus, Usage


class SeenError(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool error that no reflection has dealt with. `sequence` is 0 for an error of an earlier turn."""

    event_id: EventId
    tool: str
    text: str
    sequence: int = 0


class Reflection(msgspec.Struct, frozen=True, omit_defaults=True, tag="reflection"):
    """One mid-turn reflection with its status. Texts and confidence are None if the model gave none. `lessons`: lessons
    from earlier work about the turn's failures, or None."""

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
    """State that a turn passes to the next turn of its session."""

    tool_errors: tuple[SeenError, ...] = ()
    last_reflection: Reflection | None = None


class TurnPlan(msgspec.Struct, frozen=True, omit_defaults=True, tag="turn_plan"):
    """How a turn runs; the second entry of every turn. `reflection_mode`: auto or on_request. `critique_mode`: off,
    gated or always. `context`: None if the turn did not ask for it, or if it could not be read. `learns`: the turn is
    learned from when it has ended. `is_shadow`: what it would be told is kept and not sent. `silence`: why `context`
    has no lesson, a value of `SilenceReason` or of a later version; empty if it has one."""

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
    learns: bool = False
    is_shadow: bool = False
    silence: str = ""


class Nudge(msgspec.Struct, frozen=True, tag="nudge"):
    """A detector's finding."""

    pattern: Pattern
    message: str


class Advised(msgspec.Struct, frozen=True, omit_defaults=True, tag="advice"):
    """What is known about a failure like the latest one. `signature`: what the failure is recognised by; empty for the
    lessons of a plan that were only kept. `silence`: why nothing was told; the block is empty then. It is no kind of
    its own and its directive is marked `is_shadow`, so that earlier servers read it and send it to no agent."""

    block: ContextBlock
    signature: str
    silence: Silence | None = None


class Critiqued(msgspec.Struct, frozen=True, omit_defaults=True, tag="critique"):
    """A verdict on a drafted response. `body`: its JSON, in the format of `critique/`; this room only counts verdicts.
    `reasons`: conditions of the critique gate. `asks_revision`: the response should be revised."""

    status: ResultStatus
    body: msgspec.Raw
    reasons: tuple[str, ...] = ()
    usage: Usage | None = None
    asks_revision: bool = False


class TurnSummary(msgspec.Struct, frozen=True, omit_defaults=True, tag="turn_summary"):
    """A turn's outcome and counts; the turn's last entry. `reflections` and `critiques` count by status."""

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


Said = TurnPlan | Nudge | Reflection | Critiqued | Advised | TurnSummary


class Directive(msgspec.Struct, frozen=True, omit_defaults=True, tag="directive"):
    """A message from the sidecar to the agent. `is_shadow`: it is kept and not sent."""

    directive_id: DirectiveId
    at_us: int
    what: Said
    caused_by: tuple[EventId, ...] = ()
    reasons: tuple[Reason, ...] = ()
    is_shadow: bool = False


class SlotClaim(msgspec.Struct, frozen=True, omit_defaults=True, tag="claim"):
    """Claims a slot of the budget for the reflection `directive_id`. With `critique`, it only records that a critique
    has begun, which takes no slot; `critique_reasons`: conditions of the critique gate."""

    directive_id: DirectiveId
    at_us: int
    reasons: tuple[Reason, ...] = ()
    caused_by: tuple[EventId, ...] = ()
    critique: bool = False
    critique_reasons: tuple[str, ...] = ()


Recorded = Event | Directive | SlotClaim


def shown_in(directive: Directive) -> tuple[BlockItem, ...]:
    """The lessons that a directive shows. A recovery is none: it is counts, and no record."""
    match directive.what:
        case TurnPlan(context=block) | Reflection(lessons=block) if block is not None:
            return block.items
        case Advised(block=block):
            return tuple(item for item in block.items if item.kind != RECOVERY_ITEM)
    return ()


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Recorded).decode


def draft(sequence: int, at_us: int, recorded: Recorded) -> Draft:
    """The log entry for `recorded`, as entry `sequence` of its turn."""
    return Draft(sequence, at_us, _encode(recorded))


def recorded_in(entry: Entry) -> Recorded:
    """The content of a turn's log entry. Raises StoreUnavailable if this server cannot read it."""
    try:
        recorded: Recorded = _decode(entry.body)
    except msgspec.MsgspecError as error:
        raise StoreUnavailable(turn_id=entry.key, reason=f"entry {entry.sequence} cannot be read") from error
    return recorded
