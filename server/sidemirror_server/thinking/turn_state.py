"""A turn's state, into which `turn.py` folds its log."""

import msgspec

from sidemirror_server.models.evidence import EvidenceStep
from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.thinking.detectors import Detection, Window
from sidemirror_server.thinking.prompts import ToolOutcome
from sidemirror_server.thinking.record import Reflection, SeenError, SlotClaim, TurnSummary
from sidemirror_server.trace.log import TurnStanding
from sidemirror_server.vocabulary.budget import Spent, TurnBudget
from sidemirror_server.vocabulary.ids import DirectiveId, EventId, SessionId, TurnId
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.status import ResultStatus


class OpenCall(msgspec.Struct, frozen=True):
    """A tool call without a result. A `stale` call no longer delays a decision: its agent has gone on without it.
    `rounds`: how often the agent has got an answer and then called again since."""

    call_id: str
    event_id: EventId
    name: str
    key: str
    polling: bool
    agent: str
    stale: bool = False
    rounds: int = 0


# An agent's call: the agent, and the call's key.
CallOf = tuple[str, str]


class ToldOf(msgspec.Struct, frozen=True):
    """The failing calls that a directive is about and that did not work since. `is_reflection`: it was made and said.
    `takes_slot`: it took one, without a model's tokens, and gives it back when all of them work."""

    calls: frozenset[CallOf]
    is_reflection: bool = False
    takes_slot: bool = False


class TurnState(msgspec.Struct):
    """Everything known about a turn. Only `apply` fills it in."""

    turn_id: TurnId = TurnId("")
    session_id: SessionId = SessionId("")
    turn_count: int = 0
    # The session that the turn was started in, and whether that is one of its own, so that it may be named.
    begun_in: str = ""
    own_session: bool = False
    from_spans: bool = False
    # When the turn ran, where telemetry tells it afterwards; 0: as it was recorded.
    began_us: int = 0
    ended_us: int = 0
    without_advice: bool = False
    standing: TurnStanding = TurnStanding.OPEN
    last_sequence: int = 0
    started_us: int = 0
    updated_us: int = 0
    config: ThinkingConfig = ThinkingConfig()
    reflection_mode: str = "auto"
    critique_mode: str = "off"
    learns: bool = False
    is_shadow: bool = False
    budget: TurnBudget = TurnBudget()
    spent: Spent = Spent()
    task: str = ""
    task_event: str = ""
    question: str = ""
    question_event: str = ""
    outcome: str = ""
    score: float | None = None
    origin: Origin = Origin.OPERATOR

    results: tuple[ToolOutcome, ...] = ()
    tool_errors: tuple[SeenError, ...] = ()
    uncertain_at: int = 0
    stuck_at: int = 0
    periodic_done: bool = False
    last_reflection: Reflection | None = None
    at_decision: bool = False
    steps_done: int = 0
    tried_at_step: int = -1
    skips_told: tuple[ResultStatus, ...] = ()

    open_calls: dict[str, OpenCall] = {}
    # The agents that had an answer since their last call.
    answered: set[str] = set()
    windows: dict[str, Window] = {}
    findings: tuple[Detection, ...] = ()
    claims: dict[DirectiveId, tuple[int, SlotClaim]] = {}
    # The failures of each call that did not work since, and what is, or is being, said of them.
    failing: dict[CallOf, tuple[EventId, ...]] = {}
    told_of: dict[DirectiveId, ToldOf] = {}
    # What need not be told any more: the same call has worked since, or a later reflection is about it too.
    withdrawn: tuple[DirectiveId, ...] = ()

    event_count: int = 0
    tool_call_count: int = 0
    # Failed calls, also those that only their text reports; and those of them that the agent said failed.
    tool_error_count: int = 0
    marked_error_count: int = 0
    nudge_count: int = 0
    # What the agent was told: lessons and recoveries, nudges, reflections and critiques.
    told_lessons: frozenset[str] = frozenset()
    told_nudges: int = 0
    told_reflections: int = 0
    told_critiques: int = 0
    reflections: dict[str, int] = {}
    critiques: dict[str, int] = {}
    revision_asked: bool = False
    revised: bool = False
    first_steps: tuple[EvidenceStep, ...] = ()
    last_steps: list[EvidenceStep] = []
    summary: TurnSummary | None = None
