"""The events of a turn: one `Event` type, with a payload for each kind.

`rpc/` makes events from the wire, `thinking/turn.py` folds them into the turn's state, and the log keeps them as JSON.
All texts have passed `vocabulary.text.enter`; field names are part of the stored format.
"""

from typing import Any, assert_never

import msgspec

from sidemirror_server.vocabulary.budget import TurnBudget
from sidemirror_server.vocabulary.ids import EventId
from sidemirror_server.vocabulary.origin import Origin, least

# The identity and the conversation of turns made of spans that name none.
NAMELESS = "otlp"


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message of a conversation. `role`: user, assistant, system or tool."""

    role: str
    content: str


class ThinkingWish(msgspec.Struct, frozen=True, omit_defaults=True):
    """A turn's overrides of its session's thinking configuration; None keeps the session's value.

    `level`: off, low, medium, high, or the number of a level that this server does not know; `periodic_scope`: turn,
    step.
    """

    level: str | None = None
    reflect_every: int | None = None
    reflect_on_tool_error: bool | None = None
    reflect_on_uncertainty: bool | None = None
    periodic_scope: str | None = None


class ContextWish(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which lessons from earlier work the turn's plan should contain. `task`: empty means the turn's task; `max_items`:
    0 means the default; `tools`: the turn's tools."""

    goal_id: str = ""
    task: str = ""
    max_items: int = 0
    tools: tuple[str, ...] = ()


class TurnStarted(msgspec.Struct, frozen=True, omit_defaults=True, tag="turn_started"):
    """The first event of every turn. `reflection_mode`: auto or on_request; `critique_mode`: off, gated, always, or
    empty when the turn leaves it to its session. `caller`: the name of the token that started the turn; empty without
    one. `from_spans`: the turn was put together from telemetry after it had ended, so that its agent hears nothing;
    `began_us` and `ended_us`: when it ran, by its spans; 0: when it was recorded (decision 079)."""

    session_id: str
    task: str = ""
    messages: tuple[Message, ...] = ()
    base_prompt: str = ""
    provider: str = ""
    model: str = ""
    wish: ThinkingWish = ThinkingWish()
    budget: TurnBudget = TurnBudget()
    deadline_us: int | None = None
    reflection_mode: str = "auto"
    critique_mode: str = ""
    context: ContextWish | None = None
    # Whether the agent named no session, so that `session_id` is one of the turn's own.
    own_session: bool = False
    caller: str = ""
    # Whether the agent's host can run commands (decision 064).
    has_shell: bool = False
    from_spans: bool = False
    began_us: int = 0
    ended_us: int = 0
    # Whether the agent shows its model only what it asks for, so that nothing else is said.
    without_advice: bool = False


class UserMessage(msgspec.Struct, frozen=True, tag="user_message"):
    """The user wrote something during the turn."""

    text: str


class ModelStarted(msgspec.Struct, frozen=True, omit_defaults=True, tag="model_started"):
    """The agent called its model."""

    provider: str = ""
    model: str = ""


class ModelReturned(msgspec.Struct, frozen=True, omit_defaults=True, tag="model_returned"):
    """The agent's model answered; token counts are 0 when not known."""

    text: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


class ToolCalled(msgspec.Struct, frozen=True, omit_defaults=True, tag="tool_called"):
    """A tool was called; `polling` calls are expected to be repeated."""

    call_id: str
    name: str
    arguments: str = ""
    polling: bool = False


class ToolReturned(msgspec.Struct, frozen=True, omit_defaults=True, tag="tool_returned"):
    """A tool returned; `is_error`: its result reports a failure; `has_worked`: it is known that it does not, whatever
    its text says. An empty `call_id` means the last open call."""

    call_id: str
    content: str = ""
    is_error: bool = False
    has_worked: bool = False


class ToolFailed(msgspec.Struct, frozen=True, omit_defaults=True, tag="tool_failed"):
    """The call itself failed. An empty `call_id` means the last open call."""

    call_id: str
    error: str = ""


class Uncertainty(msgspec.Struct, frozen=True, omit_defaults=True, tag="uncertainty"):
    """The agent is unsure. `score`: from 0 (sure) to 1."""

    score: float
    detail: str = ""


class ReflectionRecorded(msgspec.Struct, frozen=True, omit_defaults=True, tag="reflection_recorded"):
    """The agent reflected without the sidecar."""

    reflection: str
    suggested_action: str | None = None
    confidence: float | None = None


class ResponseDrafted(msgspec.Struct, frozen=True, tag="response_drafted"):
    """The agent has a response that it has not sent yet."""

    text: str


class TurnFinished(msgspec.Struct, frozen=True, omit_defaults=True, tag="turn_finished"):
    """The turn is over. `outcome`: success, failure, partial, timeout, error, or empty when unknown."""

    outcome: str = ""
    score: float | None = None


class SessionNamed(msgspec.Struct, frozen=True, omit_defaults=True, tag="session_named"):
    """The turn, which was started without a session, belongs to this one. `turn_count`: its number there, or 0 when it
    was there already. `carried`: the state that the session's newest turn passed on (`Carry` of `thinking/record.py`).
    The server fills in both."""

    session_id: str
    turn_count: int = 0
    carried: dict[str, Any] = {}


What = (
    TurnStarted
    | UserMessage
    | ModelStarted
    | ModelReturned
    | ToolCalled
    | ToolReturned
    | ToolFailed
    | Uncertainty
    | ReflectionRecorded
    | ResponseDrafted
    | TurnFinished
    | SessionNamed
)


class Event(msgspec.Struct, frozen=True, omit_defaults=True, tag="event"):
    """One event at `at_us`, caused by `agent` (empty when the turn has only one agent). `subject_ids`: whom it is
    about, as the agent says."""

    event_id: EventId
    at_us: int
    what: What
    origin: Origin
    agent: str = ""
    subject_ids: tuple[str, ...] = ()


def origin_of(what: What) -> Origin:
    """How far an event's texts can be trusted: the origin of the least trusted text (decision 032)."""
    match what:
        case ToolReturned() | ToolFailed():
            return Origin.TOOL
        case TurnStarted(messages=messages):
            return least([Origin.OPERATOR, *(_ROLE_ORIGINS.get(message.role, Origin.USER) for message in messages)])
        case UserMessage():
            return Origin.USER
        case (
            ModelStarted()
            | ModelReturned()
            | ToolCalled()
            | Uncertainty()
            | ReflectionRecorded()
            | ResponseDrafted()
            | TurnFinished()
            | SessionNamed()
        ):
            return Origin.AGENT
        case _:
            assert_never(what)


_ROLE_ORIGINS = {"tool": Origin.TOOL, "assistant": Origin.AGENT, "system": Origin.OPERATOR, "user": Origin.USER}
