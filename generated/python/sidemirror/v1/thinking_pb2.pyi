import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from sidemirror.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ThinkLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    THINK_LEVEL_UNSPECIFIED: _ClassVar[ThinkLevel]
    THINK_LEVEL_OFF: _ClassVar[ThinkLevel]
    THINK_LEVEL_LOW: _ClassVar[ThinkLevel]
    THINK_LEVEL_MEDIUM: _ClassVar[ThinkLevel]
    THINK_LEVEL_HIGH: _ClassVar[ThinkLevel]

class PeriodicScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PERIODIC_SCOPE_UNSPECIFIED: _ClassVar[PeriodicScope]
    PERIODIC_SCOPE_TURN: _ClassVar[PeriodicScope]
    PERIODIC_SCOPE_STEP: _ClassVar[PeriodicScope]

class ReflectionMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REFLECTION_MODE_UNSPECIFIED: _ClassVar[ReflectionMode]
    REFLECTION_MODE_AUTO: _ClassVar[ReflectionMode]
    REFLECTION_MODE_ON_REQUEST: _ClassVar[ReflectionMode]

class ReflectionReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REFLECTION_REASON_UNSPECIFIED: _ClassVar[ReflectionReason]
    REFLECTION_REASON_LEVEL_OFF: _ClassVar[ReflectionReason]
    REFLECTION_REASON_TOOL_ERROR: _ClassVar[ReflectionReason]
    REFLECTION_REASON_PERIODIC: _ClassVar[ReflectionReason]
    REFLECTION_REASON_UNCERTAINTY: _ClassVar[ReflectionReason]
    REFLECTION_REASON_STUCK: _ClassVar[ReflectionReason]
    REFLECTION_REASON_NONE: _ClassVar[ReflectionReason]
    REFLECTION_REASON_REQUESTED: _ClassVar[ReflectionReason]

class Pattern(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PATTERN_UNSPECIFIED: _ClassVar[Pattern]
    PATTERN_REPEATED_CALL: _ClassVar[Pattern]
    PATTERN_ALTERNATION: _ClassVar[Pattern]
    PATTERN_ERROR_STREAK: _ClassVar[Pattern]
    PATTERN_NOTHING_NEW: _ClassVar[Pattern]

class SilenceReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SILENCE_REASON_UNSPECIFIED: _ClassVar[SilenceReason]
    SILENCE_REASON_NOTHING_KNOWN: _ClassVar[SilenceReason]
    SILENCE_REASON_GATE: _ClassVar[SilenceReason]
    SILENCE_REASON_SUSPENDED: _ClassVar[SilenceReason]
    SILENCE_REASON_NOTHING_TO_ADD: _ClassVar[SilenceReason]
    SILENCE_REASON_NOTHING_FITS: _ClassVar[SilenceReason]
    SILENCE_REASON_HELD_BACK: _ClassVar[SilenceReason]
    SILENCE_REASON_SHADOW: _ClassVar[SilenceReason]
    SILENCE_REASON_OFF_BY_POLICY: _ClassVar[SilenceReason]
    SILENCE_REASON_SILENCED: _ClassVar[SilenceReason]
    SILENCE_REASON_SHELL: _ClassVar[SilenceReason]
    SILENCE_REASON_OFF_BY_SETTING: _ClassVar[SilenceReason]
    SILENCE_REASON_NO_ROOM: _ClassVar[SilenceReason]
    SILENCE_REASON_TOLD_ALREADY: _ClassVar[SilenceReason]
    SILENCE_REASON_STORE_AWAY: _ClassVar[SilenceReason]
    SILENCE_REASON_NOT_ASKED: _ClassVar[SilenceReason]

class RecoveryGate(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECOVERY_GATE_UNSPECIFIED: _ClassVar[RecoveryGate]
    RECOVERY_GATE_TRIES: _ClassVar[RecoveryGate]
    RECOVERY_GATE_RATE: _ClassVar[RecoveryGate]
    RECOVERY_GATE_ADVISED_RATE: _ClassVar[RecoveryGate]
    RECOVERY_GATE_OTHER_MOVE: _ClassVar[RecoveryGate]
    RECOVERY_GATE_SESSIONS: _ClassVar[RecoveryGate]
    RECOVERY_GATE_CHANGES: _ClassVar[RecoveryGate]
    RECOVERY_GATE_SENT_AGAIN_RATE: _ClassVar[RecoveryGate]
    RECOVERY_GATE_NONE_WORKED: _ClassVar[RecoveryGate]
    RECOVERY_GATE_RUNS: _ClassVar[RecoveryGate]
    RECOVERY_GATE_GONE_ON: _ClassVar[RecoveryGate]
    RECOVERY_GATE_CONVERSATIONS: _ClassVar[RecoveryGate]
    RECOVERY_GATE_KIND: _ClassVar[RecoveryGate]

class AnswerChange(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANSWER_CHANGE_UNSPECIFIED: _ClassVar[AnswerChange]
    ANSWER_CHANGE_NONE: _ClassVar[AnswerChange]
    ANSWER_CHANGE_CHANGED: _ClassVar[AnswerChange]

class TurnState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TURN_STATE_UNSPECIFIED: _ClassVar[TurnState]
    TURN_STATE_OPEN: _ClassVar[TurnState]
    TURN_STATE_FINISHED: _ClassVar[TurnState]
    TURN_STATE_ABANDONED: _ClassVar[TurnState]
THINK_LEVEL_UNSPECIFIED: ThinkLevel
THINK_LEVEL_OFF: ThinkLevel
THINK_LEVEL_LOW: ThinkLevel
THINK_LEVEL_MEDIUM: ThinkLevel
THINK_LEVEL_HIGH: ThinkLevel
PERIODIC_SCOPE_UNSPECIFIED: PeriodicScope
PERIODIC_SCOPE_TURN: PeriodicScope
PERIODIC_SCOPE_STEP: PeriodicScope
REFLECTION_MODE_UNSPECIFIED: ReflectionMode
REFLECTION_MODE_AUTO: ReflectionMode
REFLECTION_MODE_ON_REQUEST: ReflectionMode
REFLECTION_REASON_UNSPECIFIED: ReflectionReason
REFLECTION_REASON_LEVEL_OFF: ReflectionReason
REFLECTION_REASON_TOOL_ERROR: ReflectionReason
REFLECTION_REASON_PERIODIC: ReflectionReason
REFLECTION_REASON_UNCERTAINTY: ReflectionReason
REFLECTION_REASON_STUCK: ReflectionReason
REFLECTION_REASON_NONE: ReflectionReason
REFLECTION_REASON_REQUESTED: ReflectionReason
PATTERN_UNSPECIFIED: Pattern
PATTERN_REPEATED_CALL: Pattern
PATTERN_ALTERNATION: Pattern
PATTERN_ERROR_STREAK: Pattern
PATTERN_NOTHING_NEW: Pattern
SILENCE_REASON_UNSPECIFIED: SilenceReason
SILENCE_REASON_NOTHING_KNOWN: SilenceReason
SILENCE_REASON_GATE: SilenceReason
SILENCE_REASON_SUSPENDED: SilenceReason
SILENCE_REASON_NOTHING_TO_ADD: SilenceReason
SILENCE_REASON_NOTHING_FITS: SilenceReason
SILENCE_REASON_HELD_BACK: SilenceReason
SILENCE_REASON_SHADOW: SilenceReason
SILENCE_REASON_OFF_BY_POLICY: SilenceReason
SILENCE_REASON_SILENCED: SilenceReason
SILENCE_REASON_SHELL: SilenceReason
SILENCE_REASON_OFF_BY_SETTING: SilenceReason
SILENCE_REASON_NO_ROOM: SilenceReason
SILENCE_REASON_TOLD_ALREADY: SilenceReason
SILENCE_REASON_STORE_AWAY: SilenceReason
SILENCE_REASON_NOT_ASKED: SilenceReason
RECOVERY_GATE_UNSPECIFIED: RecoveryGate
RECOVERY_GATE_TRIES: RecoveryGate
RECOVERY_GATE_RATE: RecoveryGate
RECOVERY_GATE_ADVISED_RATE: RecoveryGate
RECOVERY_GATE_OTHER_MOVE: RecoveryGate
RECOVERY_GATE_SESSIONS: RecoveryGate
RECOVERY_GATE_CHANGES: RecoveryGate
RECOVERY_GATE_SENT_AGAIN_RATE: RecoveryGate
RECOVERY_GATE_NONE_WORKED: RecoveryGate
RECOVERY_GATE_RUNS: RecoveryGate
RECOVERY_GATE_GONE_ON: RecoveryGate
RECOVERY_GATE_CONVERSATIONS: RecoveryGate
RECOVERY_GATE_KIND: RecoveryGate
ANSWER_CHANGE_UNSPECIFIED: AnswerChange
ANSWER_CHANGE_NONE: AnswerChange
ANSWER_CHANGE_CHANGED: AnswerChange
TURN_STATE_UNSPECIFIED: TurnState
TURN_STATE_OPEN: TurnState
TURN_STATE_FINISHED: TurnState
TURN_STATE_ABANDONED: TurnState

class ThinkingConfig(_message.Message):
    __slots__ = ("level", "reflect_every", "reflect_on_tool_error", "reflect_on_uncertainty", "periodic_scope")
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    REFLECT_EVERY_FIELD_NUMBER: _ClassVar[int]
    REFLECT_ON_TOOL_ERROR_FIELD_NUMBER: _ClassVar[int]
    REFLECT_ON_UNCERTAINTY_FIELD_NUMBER: _ClassVar[int]
    PERIODIC_SCOPE_FIELD_NUMBER: _ClassVar[int]
    level: ThinkLevel
    reflect_every: int
    reflect_on_tool_error: bool
    reflect_on_uncertainty: bool
    periodic_scope: PeriodicScope
    def __init__(self, level: _Optional[_Union[ThinkLevel, str]] = ..., reflect_every: _Optional[int] = ..., reflect_on_tool_error: bool = ..., reflect_on_uncertainty: bool = ..., periodic_scope: _Optional[_Union[PeriodicScope, str]] = ...) -> None: ...

class TurnBudget(_message.Message):
    __slots__ = ("max_reflections", "time_limit", "max_tokens", "max_usd")
    MAX_REFLECTIONS_FIELD_NUMBER: _ClassVar[int]
    TIME_LIMIT_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_USD_FIELD_NUMBER: _ClassVar[int]
    max_reflections: int
    time_limit: _duration_pb2.Duration
    max_tokens: int
    max_usd: float
    def __init__(self, max_reflections: _Optional[int] = ..., time_limit: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_tokens: _Optional[int] = ..., max_usd: _Optional[float] = ...) -> None: ...

class BudgetLeft(_message.Message):
    __slots__ = ("reflections", "time", "tokens", "usd")
    REFLECTIONS_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    USD_FIELD_NUMBER: _ClassVar[int]
    reflections: int
    time: _duration_pb2.Duration
    tokens: int
    usd: float
    def __init__(self, reflections: _Optional[int] = ..., time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., tokens: _Optional[int] = ..., usd: _Optional[float] = ...) -> None: ...

class MidTurnReflection(_message.Message):
    __slots__ = ("status", "detail", "reflection", "should_continue", "suggested_action", "confidence", "usage", "cited_event_ids", "origin", "lessons")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_FIELD_NUMBER: _ClassVar[int]
    SHOULD_CONTINUE_FIELD_NUMBER: _ClassVar[int]
    SUGGESTED_ACTION_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    CITED_EVENT_IDS_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    LESSONS_FIELD_NUMBER: _ClassVar[int]
    status: _common_pb2.ResultStatus
    detail: str
    reflection: str
    should_continue: bool
    suggested_action: str
    confidence: float
    usage: _common_pb2.Usage
    cited_event_ids: _containers.RepeatedScalarFieldContainer[str]
    origin: _common_pb2.Origin
    lessons: _common_pb2.ContextBlock
    def __init__(self, status: _Optional[_Union[_common_pb2.ResultStatus, str]] = ..., detail: _Optional[str] = ..., reflection: _Optional[str] = ..., should_continue: bool = ..., suggested_action: _Optional[str] = ..., confidence: _Optional[float] = ..., usage: _Optional[_Union[_common_pb2.Usage, _Mapping]] = ..., cited_event_ids: _Optional[_Iterable[str]] = ..., origin: _Optional[_Union[_common_pb2.Origin, str]] = ..., lessons: _Optional[_Union[_common_pb2.ContextBlock, _Mapping]] = ...) -> None: ...

class Session(_message.Message):
    __slots__ = ("session_id", "config", "turn_count", "last_reflection", "create_time", "update_time", "subject_ids")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    TURN_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_REFLECTION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_IDS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    config: ThinkingConfig
    turn_count: int
    last_reflection: MidTurnReflection
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    subject_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, session_id: _Optional[str] = ..., config: _Optional[_Union[ThinkingConfig, _Mapping]] = ..., turn_count: _Optional[int] = ..., last_reflection: _Optional[_Union[MidTurnReflection, _Mapping]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., subject_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class TurnEvent(_message.Message):
    __slots__ = ("event_id", "turn_id", "time", "agent", "turn_started", "user_message", "model_started", "model_returned", "tool_called", "tool_returned", "tool_failed", "uncertainty", "reflection_recorded", "response_drafted", "turn_finished", "session_named", "subject_ids")
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    TURN_STARTED_FIELD_NUMBER: _ClassVar[int]
    USER_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    MODEL_STARTED_FIELD_NUMBER: _ClassVar[int]
    MODEL_RETURNED_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALLED_FIELD_NUMBER: _ClassVar[int]
    TOOL_RETURNED_FIELD_NUMBER: _ClassVar[int]
    TOOL_FAILED_FIELD_NUMBER: _ClassVar[int]
    UNCERTAINTY_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_RECORDED_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_DRAFTED_FIELD_NUMBER: _ClassVar[int]
    TURN_FINISHED_FIELD_NUMBER: _ClassVar[int]
    SESSION_NAMED_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_IDS_FIELD_NUMBER: _ClassVar[int]
    event_id: str
    turn_id: str
    time: _timestamp_pb2.Timestamp
    agent: str
    turn_started: TurnStarted
    user_message: UserMessage
    model_started: ModelStarted
    model_returned: ModelReturned
    tool_called: ToolCalled
    tool_returned: ToolReturned
    tool_failed: ToolFailed
    uncertainty: Uncertainty
    reflection_recorded: ReflectionRecorded
    response_drafted: ResponseDrafted
    turn_finished: TurnFinished
    session_named: SessionNamed
    subject_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, event_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., agent: _Optional[str] = ..., turn_started: _Optional[_Union[TurnStarted, _Mapping]] = ..., user_message: _Optional[_Union[UserMessage, _Mapping]] = ..., model_started: _Optional[_Union[ModelStarted, _Mapping]] = ..., model_returned: _Optional[_Union[ModelReturned, _Mapping]] = ..., tool_called: _Optional[_Union[ToolCalled, _Mapping]] = ..., tool_returned: _Optional[_Union[ToolReturned, _Mapping]] = ..., tool_failed: _Optional[_Union[ToolFailed, _Mapping]] = ..., uncertainty: _Optional[_Union[Uncertainty, _Mapping]] = ..., reflection_recorded: _Optional[_Union[ReflectionRecorded, _Mapping]] = ..., response_drafted: _Optional[_Union[ResponseDrafted, _Mapping]] = ..., turn_finished: _Optional[_Union[TurnFinished, _Mapping]] = ..., session_named: _Optional[_Union[SessionNamed, _Mapping]] = ..., subject_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class TurnStarted(_message.Message):
    __slots__ = ("session_id", "task", "messages", "base_prompt", "provider", "model", "config", "budget", "deadline", "reflection_mode", "critique_mode", "context", "has_shell", "without_advice")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    BASE_PROMPT_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_MODE_FIELD_NUMBER: _ClassVar[int]
    CRITIQUE_MODE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    HAS_SHELL_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_ADVICE_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    task: str
    messages: _containers.RepeatedCompositeFieldContainer[_common_pb2.Message]
    base_prompt: str
    provider: str
    model: str
    config: ThinkingConfig
    budget: TurnBudget
    deadline: _timestamp_pb2.Timestamp
    reflection_mode: ReflectionMode
    critique_mode: _common_pb2.CritiqueMode
    context: ContextWish
    has_shell: bool
    without_advice: bool
    def __init__(self, session_id: _Optional[str] = ..., task: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[_common_pb2.Message, _Mapping]]] = ..., base_prompt: _Optional[str] = ..., provider: _Optional[str] = ..., model: _Optional[str] = ..., config: _Optional[_Union[ThinkingConfig, _Mapping]] = ..., budget: _Optional[_Union[TurnBudget, _Mapping]] = ..., deadline: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reflection_mode: _Optional[_Union[ReflectionMode, str]] = ..., critique_mode: _Optional[_Union[_common_pb2.CritiqueMode, str]] = ..., context: _Optional[_Union[ContextWish, _Mapping]] = ..., has_shell: bool = ..., without_advice: bool = ...) -> None: ...

class ContextWish(_message.Message):
    __slots__ = ("goal_id", "task", "max_items", "tools")
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    MAX_ITEMS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    goal_id: str
    task: str
    max_items: int
    tools: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, goal_id: _Optional[str] = ..., task: _Optional[str] = ..., max_items: _Optional[int] = ..., tools: _Optional[_Iterable[str]] = ...) -> None: ...

class UserMessage(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class ModelStarted(_message.Message):
    __slots__ = ("provider", "model")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    provider: str
    model: str
    def __init__(self, provider: _Optional[str] = ..., model: _Optional[str] = ...) -> None: ...

class ModelReturned(_message.Message):
    __slots__ = ("text", "input_tokens", "output_tokens")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    text: str
    input_tokens: int
    output_tokens: int
    def __init__(self, text: _Optional[str] = ..., input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ...) -> None: ...

class ToolCalled(_message.Message):
    __slots__ = ("call_id", "name", "arguments", "polling")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    POLLING_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    name: str
    arguments: str
    polling: bool
    def __init__(self, call_id: _Optional[str] = ..., name: _Optional[str] = ..., arguments: _Optional[str] = ..., polling: bool = ...) -> None: ...

class ToolReturned(_message.Message):
    __slots__ = ("call_id", "content", "is_error", "has_worked")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    HAS_WORKED_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    content: str
    is_error: bool
    has_worked: bool
    def __init__(self, call_id: _Optional[str] = ..., content: _Optional[str] = ..., is_error: bool = ..., has_worked: bool = ...) -> None: ...

class ToolFailed(_message.Message):
    __slots__ = ("call_id", "error")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    error: str
    def __init__(self, call_id: _Optional[str] = ..., error: _Optional[str] = ...) -> None: ...

class Uncertainty(_message.Message):
    __slots__ = ("score", "detail")
    SCORE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    score: float
    detail: str
    def __init__(self, score: _Optional[float] = ..., detail: _Optional[str] = ...) -> None: ...

class ReflectionRecorded(_message.Message):
    __slots__ = ("reflection", "suggested_action", "confidence")
    REFLECTION_FIELD_NUMBER: _ClassVar[int]
    SUGGESTED_ACTION_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    reflection: str
    suggested_action: str
    confidence: float
    def __init__(self, reflection: _Optional[str] = ..., suggested_action: _Optional[str] = ..., confidence: _Optional[float] = ...) -> None: ...

class ResponseDrafted(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class TurnFinished(_message.Message):
    __slots__ = ("outcome", "score")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    outcome: _common_pb2.TaskOutcome
    score: float
    def __init__(self, outcome: _Optional[_Union[_common_pb2.TaskOutcome, str]] = ..., score: _Optional[float] = ...) -> None: ...

class SessionNamed(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class TurnDirective(_message.Message):
    __slots__ = ("directive_id", "turn_id", "sequence", "time", "caused_by", "reasons", "turn_plan", "ack", "nudge", "reflection", "gap", "heartbeat", "closing", "turn_summary", "critique", "advice", "silence", "critique_reasons", "is_shadow")
    DIRECTIVE_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    CAUSED_BY_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    TURN_PLAN_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    NUDGE_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    CLOSING_FIELD_NUMBER: _ClassVar[int]
    TURN_SUMMARY_FIELD_NUMBER: _ClassVar[int]
    CRITIQUE_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    SILENCE_FIELD_NUMBER: _ClassVar[int]
    CRITIQUE_REASONS_FIELD_NUMBER: _ClassVar[int]
    IS_SHADOW_FIELD_NUMBER: _ClassVar[int]
    directive_id: str
    turn_id: str
    sequence: int
    time: _timestamp_pb2.Timestamp
    caused_by: _containers.RepeatedScalarFieldContainer[str]
    reasons: _containers.RepeatedScalarFieldContainer[ReflectionReason]
    turn_plan: TurnPlan
    ack: TurnAck
    nudge: Nudge
    reflection: MidTurnReflection
    gap: Gap
    heartbeat: Heartbeat
    closing: Closing
    turn_summary: TurnSummary
    critique: _common_pb2.CritiqueResult
    advice: Advice
    silence: Silence
    critique_reasons: _containers.RepeatedScalarFieldContainer[_common_pb2.CritiqueReason]
    is_shadow: bool
    def __init__(self, directive_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., sequence: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., caused_by: _Optional[_Iterable[str]] = ..., reasons: _Optional[_Iterable[_Union[ReflectionReason, str]]] = ..., turn_plan: _Optional[_Union[TurnPlan, _Mapping]] = ..., ack: _Optional[_Union[TurnAck, _Mapping]] = ..., nudge: _Optional[_Union[Nudge, _Mapping]] = ..., reflection: _Optional[_Union[MidTurnReflection, _Mapping]] = ..., gap: _Optional[_Union[Gap, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ..., closing: _Optional[_Union[Closing, _Mapping]] = ..., turn_summary: _Optional[_Union[TurnSummary, _Mapping]] = ..., critique: _Optional[_Union[_common_pb2.CritiqueResult, _Mapping]] = ..., advice: _Optional[_Union[Advice, _Mapping]] = ..., silence: _Optional[_Union[Silence, _Mapping]] = ..., critique_reasons: _Optional[_Iterable[_Union[_common_pb2.CritiqueReason, str]]] = ..., is_shadow: bool = ...) -> None: ...

class Advice(_message.Message):
    __slots__ = ("block", "signature")
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    block: _common_pb2.ContextBlock
    signature: str
    def __init__(self, block: _Optional[_Union[_common_pb2.ContextBlock, _Mapping]] = ..., signature: _Optional[str] = ...) -> None: ...

class Silence(_message.Message):
    __slots__ = ("reason", "signature", "recovery_id", "tries", "worked", "missed_gate")
    REASON_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_ID_FIELD_NUMBER: _ClassVar[int]
    TRIES_FIELD_NUMBER: _ClassVar[int]
    WORKED_FIELD_NUMBER: _ClassVar[int]
    MISSED_GATE_FIELD_NUMBER: _ClassVar[int]
    reason: SilenceReason
    signature: str
    recovery_id: str
    tries: int
    worked: int
    missed_gate: MissedGate
    def __init__(self, reason: _Optional[_Union[SilenceReason, str]] = ..., signature: _Optional[str] = ..., recovery_id: _Optional[str] = ..., tries: _Optional[int] = ..., worked: _Optional[int] = ..., missed_gate: _Optional[_Union[MissedGate, _Mapping]] = ...) -> None: ...

class MissedGate(_message.Message):
    __slots__ = ("gate", "needed", "found")
    GATE_FIELD_NUMBER: _ClassVar[int]
    NEEDED_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    gate: RecoveryGate
    needed: float
    found: float
    def __init__(self, gate: _Optional[_Union[RecoveryGate, str]] = ..., needed: _Optional[float] = ..., found: _Optional[float] = ...) -> None: ...

class TurnPlan(_message.Message):
    __slots__ = ("turn_id", "session_id", "turn_count", "system_prompt", "token_budget", "provider_parameters", "context", "warnings", "config", "reflection_mode", "budget", "critique_mode", "silence")
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_COUNT_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_PROMPT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_MODE_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    CRITIQUE_MODE_FIELD_NUMBER: _ClassVar[int]
    SILENCE_FIELD_NUMBER: _ClassVar[int]
    turn_id: str
    session_id: str
    turn_count: int
    system_prompt: str
    token_budget: int
    provider_parameters: _struct_pb2.Struct
    context: _common_pb2.ContextBlock
    warnings: _containers.RepeatedScalarFieldContainer[str]
    config: ThinkingConfig
    reflection_mode: ReflectionMode
    budget: TurnBudget
    critique_mode: _common_pb2.CritiqueMode
    silence: SilenceReason
    def __init__(self, turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., turn_count: _Optional[int] = ..., system_prompt: _Optional[str] = ..., token_budget: _Optional[int] = ..., provider_parameters: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., context: _Optional[_Union[_common_pb2.ContextBlock, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ..., config: _Optional[_Union[ThinkingConfig, _Mapping]] = ..., reflection_mode: _Optional[_Union[ReflectionMode, str]] = ..., budget: _Optional[_Union[TurnBudget, _Mapping]] = ..., critique_mode: _Optional[_Union[_common_pb2.CritiqueMode, str]] = ..., silence: _Optional[_Union[SilenceReason, str]] = ...) -> None: ...

class TurnAck(_message.Message):
    __slots__ = ("received", "durable", "pending_ids", "budget_left", "withdrawn_ids")
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    PENDING_IDS_FIELD_NUMBER: _ClassVar[int]
    BUDGET_LEFT_FIELD_NUMBER: _ClassVar[int]
    WITHDRAWN_IDS_FIELD_NUMBER: _ClassVar[int]
    received: int
    durable: int
    pending_ids: _containers.RepeatedScalarFieldContainer[str]
    budget_left: BudgetLeft
    withdrawn_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, received: _Optional[int] = ..., durable: _Optional[int] = ..., pending_ids: _Optional[_Iterable[str]] = ..., budget_left: _Optional[_Union[BudgetLeft, _Mapping]] = ..., withdrawn_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class Nudge(_message.Message):
    __slots__ = ("pattern", "message")
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    pattern: Pattern
    message: str
    def __init__(self, pattern: _Optional[_Union[Pattern, str]] = ..., message: _Optional[str] = ...) -> None: ...

class Gap(_message.Message):
    __slots__ = ("first_sequence", "last_sequence", "reason")
    FIRST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    first_sequence: int
    last_sequence: int
    reason: str
    def __init__(self, first_sequence: _Optional[int] = ..., last_sequence: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Closing(_message.Message):
    __slots__ = ("reason", "grace")
    REASON_FIELD_NUMBER: _ClassVar[int]
    GRACE_FIELD_NUMBER: _ClassVar[int]
    reason: str
    grace: _duration_pb2.Duration
    def __init__(self, reason: _Optional[str] = ..., grace: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class TurnSummary(_message.Message):
    __slots__ = ("outcome", "score", "duration", "event_count", "tool_call_count", "tool_error_count", "nudge_count", "reflections", "budget_left", "critiques")
    class ReflectionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class CritiquesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    EVENT_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOOL_ERROR_COUNT_FIELD_NUMBER: _ClassVar[int]
    NUDGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    REFLECTIONS_FIELD_NUMBER: _ClassVar[int]
    BUDGET_LEFT_FIELD_NUMBER: _ClassVar[int]
    CRITIQUES_FIELD_NUMBER: _ClassVar[int]
    outcome: _common_pb2.TaskOutcome
    score: float
    duration: _duration_pb2.Duration
    event_count: int
    tool_call_count: int
    tool_error_count: int
    nudge_count: int
    reflections: _containers.ScalarMap[str, int]
    budget_left: BudgetLeft
    critiques: _containers.ScalarMap[str, int]
    def __init__(self, outcome: _Optional[_Union[_common_pb2.TaskOutcome, str]] = ..., score: _Optional[float] = ..., duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., event_count: _Optional[int] = ..., tool_call_count: _Optional[int] = ..., tool_error_count: _Optional[int] = ..., nudge_count: _Optional[int] = ..., reflections: _Optional[_Mapping[str, int]] = ..., budget_left: _Optional[_Union[BudgetLeft, _Mapping]] = ..., critiques: _Optional[_Mapping[str, int]] = ...) -> None: ...

class Turn(_message.Message):
    __slots__ = ("turn_id", "session_id", "turn_count", "state", "task", "outcome", "score", "last_sequence", "event_count", "budget_left", "pending_ids", "start_time", "update_time", "tool_call_count", "tool_error_count", "lesson_count", "is_shadow", "recalled_count", "nudge_count", "reflection_count", "critique_count", "judged_count", "revise_count")
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_COUNT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_COUNT_FIELD_NUMBER: _ClassVar[int]
    BUDGET_LEFT_FIELD_NUMBER: _ClassVar[int]
    PENDING_IDS_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOOL_ERROR_COUNT_FIELD_NUMBER: _ClassVar[int]
    LESSON_COUNT_FIELD_NUMBER: _ClassVar[int]
    IS_SHADOW_FIELD_NUMBER: _ClassVar[int]
    RECALLED_COUNT_FIELD_NUMBER: _ClassVar[int]
    NUDGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_COUNT_FIELD_NUMBER: _ClassVar[int]
    CRITIQUE_COUNT_FIELD_NUMBER: _ClassVar[int]
    JUDGED_COUNT_FIELD_NUMBER: _ClassVar[int]
    REVISE_COUNT_FIELD_NUMBER: _ClassVar[int]
    turn_id: str
    session_id: str
    turn_count: int
    state: TurnState
    task: str
    outcome: _common_pb2.TaskOutcome
    score: float
    last_sequence: int
    event_count: int
    budget_left: BudgetLeft
    pending_ids: _containers.RepeatedScalarFieldContainer[str]
    start_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    tool_call_count: int
    tool_error_count: int
    lesson_count: int
    is_shadow: bool
    recalled_count: int
    nudge_count: int
    reflection_count: int
    critique_count: int
    judged_count: int
    revise_count: int
    def __init__(self, turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., turn_count: _Optional[int] = ..., state: _Optional[_Union[TurnState, str]] = ..., task: _Optional[str] = ..., outcome: _Optional[_Union[_common_pb2.TaskOutcome, str]] = ..., score: _Optional[float] = ..., last_sequence: _Optional[int] = ..., event_count: _Optional[int] = ..., budget_left: _Optional[_Union[BudgetLeft, _Mapping]] = ..., pending_ids: _Optional[_Iterable[str]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tool_call_count: _Optional[int] = ..., tool_error_count: _Optional[int] = ..., lesson_count: _Optional[int] = ..., is_shadow: bool = ..., recalled_count: _Optional[int] = ..., nudge_count: _Optional[int] = ..., reflection_count: _Optional[int] = ..., critique_count: _Optional[int] = ..., judged_count: _Optional[int] = ..., revise_count: _Optional[int] = ...) -> None: ...

class TurnEntry(_message.Message):
    __slots__ = ("cursor", "sequence", "turn_id", "event", "directive", "claim")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    sequence: int
    turn_id: str
    event: TurnEvent
    directive: TurnDirective
    claim: SlotClaim
    def __init__(self, cursor: _Optional[str] = ..., sequence: _Optional[int] = ..., turn_id: _Optional[str] = ..., event: _Optional[_Union[TurnEvent, _Mapping]] = ..., directive: _Optional[_Union[TurnDirective, _Mapping]] = ..., claim: _Optional[_Union[SlotClaim, _Mapping]] = ...) -> None: ...

class SlotClaim(_message.Message):
    __slots__ = ("directive_id", "reasons", "caused_by", "time", "critique")
    DIRECTIVE_ID_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    CAUSED_BY_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    CRITIQUE_FIELD_NUMBER: _ClassVar[int]
    directive_id: str
    reasons: _containers.RepeatedScalarFieldContainer[ReflectionReason]
    caused_by: _containers.RepeatedScalarFieldContainer[str]
    time: _timestamp_pb2.Timestamp
    critique: bool
    def __init__(self, directive_id: _Optional[str] = ..., reasons: _Optional[_Iterable[_Union[ReflectionReason, str]]] = ..., caused_by: _Optional[_Iterable[str]] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., critique: bool = ...) -> None: ...

class TurnResume(_message.Message):
    __slots__ = ("turn_id", "after_sequence")
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    turn_id: str
    after_sequence: int
    def __init__(self, turn_id: _Optional[str] = ..., after_sequence: _Optional[int] = ...) -> None: ...

class CreateSessionRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "session_id", "config", "subject_ids")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_IDS_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    session_id: str
    config: ThinkingConfig
    subject_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., session_id: _Optional[str] = ..., config: _Optional[_Union[ThinkingConfig, _Mapping]] = ..., subject_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class CreateSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class GetSessionRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "session_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    session_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class GetSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class UpdateSessionRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "session_id", "config", "update_mask")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    session_id: str
    config: ThinkingConfig
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., session_id: _Optional[str] = ..., config: _Optional[_Union[ThinkingConfig, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class UpdateSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class ListSessionsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "page_size", "page_token")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    page_size: int
    page_token: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSessionsResponse(_message.Message):
    __slots__ = ("sessions", "next_page_token")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[Session]
    next_page_token: str
    def __init__(self, sessions: _Optional[_Iterable[_Union[Session, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteSessionRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "session_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    session_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class DeleteSessionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetThinkingPromptRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "base_prompt", "level", "provider", "model")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    BASE_PROMPT_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    base_prompt: str
    level: ThinkLevel
    provider: str
    model: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., base_prompt: _Optional[str] = ..., level: _Optional[_Union[ThinkLevel, str]] = ..., provider: _Optional[str] = ..., model: _Optional[str] = ...) -> None: ...

class GetThinkingPromptResponse(_message.Message):
    __slots__ = ("prompt", "token_budget", "provider_parameters", "clamps", "requested_level", "applied_level")
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    CLAMPS_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_LEVEL_FIELD_NUMBER: _ClassVar[int]
    APPLIED_LEVEL_FIELD_NUMBER: _ClassVar[int]
    prompt: str
    token_budget: int
    provider_parameters: _struct_pb2.Struct
    clamps: _containers.RepeatedScalarFieldContainer[str]
    requested_level: ThinkLevel
    applied_level: ThinkLevel
    def __init__(self, prompt: _Optional[str] = ..., token_budget: _Optional[int] = ..., provider_parameters: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., clamps: _Optional[_Iterable[str]] = ..., requested_level: _Optional[_Union[ThinkLevel, str]] = ..., applied_level: _Optional[_Union[ThinkLevel, str]] = ...) -> None: ...

class RunTurnRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "events", "resume")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    RESUME_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    events: _containers.RepeatedCompositeFieldContainer[TurnEvent]
    resume: TurnResume
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., events: _Optional[_Iterable[_Union[TurnEvent, _Mapping]]] = ..., resume: _Optional[_Union[TurnResume, _Mapping]] = ...) -> None: ...

class RunTurnResponse(_message.Message):
    __slots__ = ("directives",)
    DIRECTIVES_FIELD_NUMBER: _ClassVar[int]
    directives: _containers.RepeatedCompositeFieldContainer[TurnDirective]
    def __init__(self, directives: _Optional[_Iterable[_Union[TurnDirective, _Mapping]]] = ...) -> None: ...

class StartTurnRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "session_id", "turn_id", "task", "base_prompt", "user_message", "provider", "model", "config", "budget", "reflection_mode", "critique_mode", "context", "subject_ids", "has_shell", "without_advice")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    BASE_PROMPT_FIELD_NUMBER: _ClassVar[int]
    USER_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_MODE_FIELD_NUMBER: _ClassVar[int]
    CRITIQUE_MODE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_IDS_FIELD_NUMBER: _ClassVar[int]
    HAS_SHELL_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_ADVICE_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    session_id: str
    turn_id: str
    task: str
    base_prompt: str
    user_message: str
    provider: str
    model: str
    config: ThinkingConfig
    budget: TurnBudget
    reflection_mode: ReflectionMode
    critique_mode: _common_pb2.CritiqueMode
    context: ContextWish
    subject_ids: _containers.RepeatedScalarFieldContainer[str]
    has_shell: bool
    without_advice: bool
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., session_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., task: _Optional[str] = ..., base_prompt: _Optional[str] = ..., user_message: _Optional[str] = ..., provider: _Optional[str] = ..., model: _Optional[str] = ..., config: _Optional[_Union[ThinkingConfig, _Mapping]] = ..., budget: _Optional[_Union[TurnBudget, _Mapping]] = ..., reflection_mode: _Optional[_Union[ReflectionMode, str]] = ..., critique_mode: _Optional[_Union[_common_pb2.CritiqueMode, str]] = ..., context: _Optional[_Union[ContextWish, _Mapping]] = ..., subject_ids: _Optional[_Iterable[str]] = ..., has_shell: bool = ..., without_advice: bool = ...) -> None: ...

class StartTurnResponse(_message.Message):
    __slots__ = ("plan",)
    PLAN_FIELD_NUMBER: _ClassVar[int]
    plan: TurnPlan
    def __init__(self, plan: _Optional[_Union[TurnPlan, _Mapping]] = ...) -> None: ...

class ReportEventsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "turn_id", "events", "wait", "session_id", "after_sequence")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    turn_id: str
    events: _containers.RepeatedCompositeFieldContainer[TurnEvent]
    wait: _duration_pb2.Duration
    session_id: str
    after_sequence: int
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., events: _Optional[_Iterable[_Union[TurnEvent, _Mapping]]] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., session_id: _Optional[str] = ..., after_sequence: _Optional[int] = ...) -> None: ...

class ReportEventsResponse(_message.Message):
    __slots__ = ("directives", "ack", "turn_id")
    DIRECTIVES_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    directives: _containers.RepeatedCompositeFieldContainer[TurnDirective]
    ack: TurnAck
    turn_id: str
    def __init__(self, directives: _Optional[_Iterable[_Union[TurnDirective, _Mapping]]] = ..., ack: _Optional[_Union[TurnAck, _Mapping]] = ..., turn_id: _Optional[str] = ...) -> None: ...

class FinishTurnRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "turn_id", "outcome", "score", "session_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    turn_id: str
    outcome: _common_pb2.TaskOutcome
    score: float
    session_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., outcome: _Optional[_Union[_common_pb2.TaskOutcome, str]] = ..., score: _Optional[float] = ..., session_id: _Optional[str] = ...) -> None: ...

class FinishTurnResponse(_message.Message):
    __slots__ = ("summary", "turn_id")
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    summary: TurnSummary
    turn_id: str
    def __init__(self, summary: _Optional[_Union[TurnSummary, _Mapping]] = ..., turn_id: _Optional[str] = ...) -> None: ...

class GetTurnRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "turn_id", "after_sequence", "page_size", "page_token")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    turn_id: str
    after_sequence: int
    page_size: int
    page_token: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., after_sequence: _Optional[int] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class GetTurnResponse(_message.Message):
    __slots__ = ("turn", "entries", "next_page_token", "critiques", "follow_ups")
    TURN_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CRITIQUES_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_UPS_FIELD_NUMBER: _ClassVar[int]
    turn: Turn
    entries: _containers.RepeatedCompositeFieldContainer[TurnEntry]
    next_page_token: str
    critiques: _containers.RepeatedCompositeFieldContainer[TurnCritique]
    follow_ups: _containers.RepeatedCompositeFieldContainer[FailureFollowUp]
    def __init__(self, turn: _Optional[_Union[Turn, _Mapping]] = ..., entries: _Optional[_Iterable[_Union[TurnEntry, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., critiques: _Optional[_Iterable[_Union[TurnCritique, _Mapping]]] = ..., follow_ups: _Optional[_Iterable[_Union[FailureFollowUp, _Mapping]]] = ...) -> None: ...

class FailureFollowUp(_message.Message):
    __slots__ = ("signature", "failure_event_id", "attempt_event_id", "attempt_turn_id", "worked", "advised_recovery_id", "followed", "recovery_id", "has_attempt", "turn_failed")
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    FAILURE_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_TURN_ID_FIELD_NUMBER: _ClassVar[int]
    WORKED_FIELD_NUMBER: _ClassVar[int]
    ADVISED_RECOVERY_ID_FIELD_NUMBER: _ClassVar[int]
    FOLLOWED_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_ID_FIELD_NUMBER: _ClassVar[int]
    HAS_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TURN_FAILED_FIELD_NUMBER: _ClassVar[int]
    signature: str
    failure_event_id: str
    attempt_event_id: str
    attempt_turn_id: str
    worked: bool
    advised_recovery_id: str
    followed: bool
    recovery_id: str
    has_attempt: bool
    turn_failed: bool
    def __init__(self, signature: _Optional[str] = ..., failure_event_id: _Optional[str] = ..., attempt_event_id: _Optional[str] = ..., attempt_turn_id: _Optional[str] = ..., worked: bool = ..., advised_recovery_id: _Optional[str] = ..., followed: bool = ..., recovery_id: _Optional[str] = ..., has_attempt: bool = ..., turn_failed: bool = ...) -> None: ...

class TurnCritique(_message.Message):
    __slots__ = ("critique", "time", "made_by", "response", "answer_change")
    CRITIQUE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    MADE_BY_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ANSWER_CHANGE_FIELD_NUMBER: _ClassVar[int]
    critique: _common_pb2.CritiqueResult
    time: _timestamp_pb2.Timestamp
    made_by: str
    response: str
    answer_change: AnswerChange
    def __init__(self, critique: _Optional[_Union[_common_pb2.CritiqueResult, _Mapping]] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., made_by: _Optional[str] = ..., response: _Optional[str] = ..., answer_change: _Optional[_Union[AnswerChange, str]] = ...) -> None: ...

class WatchTurnsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "session_id", "cursor", "follow", "new_only", "from_time")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    NEW_ONLY_FIELD_NUMBER: _ClassVar[int]
    FROM_TIME_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    session_id: str
    cursor: str
    follow: bool
    new_only: bool
    from_time: _timestamp_pb2.Timestamp
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., session_id: _Optional[str] = ..., cursor: _Optional[str] = ..., follow: bool = ..., new_only: bool = ..., from_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class WatchTurnsResponse(_message.Message):
    __slots__ = ("entry",)
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    entry: TurnEntry
    def __init__(self, entry: _Optional[_Union[TurnEntry, _Mapping]] = ...) -> None: ...

class ListTurnsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "session_id", "state", "page_size", "page_token", "outcomes", "from_time", "until_time")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    FROM_TIME_FIELD_NUMBER: _ClassVar[int]
    UNTIL_TIME_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    session_id: str
    state: TurnState
    page_size: int
    page_token: str
    outcomes: _containers.RepeatedScalarFieldContainer[_common_pb2.TaskOutcome]
    from_time: _timestamp_pb2.Timestamp
    until_time: _timestamp_pb2.Timestamp
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., session_id: _Optional[str] = ..., state: _Optional[_Union[TurnState, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., outcomes: _Optional[_Iterable[_Union[_common_pb2.TaskOutcome, str]]] = ..., from_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListTurnsResponse(_message.Message):
    __slots__ = ("turns", "next_page_token")
    TURNS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    turns: _containers.RepeatedCompositeFieldContainer[Turn]
    next_page_token: str
    def __init__(self, turns: _Optional[_Iterable[_Union[Turn, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ShouldReflectRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "turn_id", "session_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    turn_id: str
    session_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class ShouldReflectResponse(_message.Message):
    __slots__ = ("should_reflect", "reason", "matches", "budget_left")
    SHOULD_REFLECT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MATCHES_FIELD_NUMBER: _ClassVar[int]
    BUDGET_LEFT_FIELD_NUMBER: _ClassVar[int]
    should_reflect: bool
    reason: ReflectionReason
    matches: _containers.RepeatedScalarFieldContainer[ReflectionReason]
    budget_left: BudgetLeft
    def __init__(self, should_reflect: bool = ..., reason: _Optional[_Union[ReflectionReason, str]] = ..., matches: _Optional[_Iterable[_Union[ReflectionReason, str]]] = ..., budget_left: _Optional[_Union[BudgetLeft, _Mapping]] = ...) -> None: ...

class ReflectRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "turn_id", "messages", "tool_results", "budget")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULTS_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    turn_id: str
    messages: _containers.RepeatedCompositeFieldContainer[_common_pb2.Message]
    tool_results: _containers.RepeatedCompositeFieldContainer[_common_pb2.ToolResult]
    budget: TurnBudget
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[_common_pb2.Message, _Mapping]]] = ..., tool_results: _Optional[_Iterable[_Union[_common_pb2.ToolResult, _Mapping]]] = ..., budget: _Optional[_Union[TurnBudget, _Mapping]] = ...) -> None: ...

class ReflectResponse(_message.Message):
    __slots__ = ("result", "directive_id", "budget_left")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVE_ID_FIELD_NUMBER: _ClassVar[int]
    BUDGET_LEFT_FIELD_NUMBER: _ClassVar[int]
    result: MidTurnReflection
    directive_id: str
    budget_left: BudgetLeft
    def __init__(self, result: _Optional[_Union[MidTurnReflection, _Mapping]] = ..., directive_id: _Optional[str] = ..., budget_left: _Optional[_Union[BudgetLeft, _Mapping]] = ...) -> None: ...

class GetReflectionPromptRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "turn_id", "messages", "tool_results")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULTS_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    turn_id: str
    messages: _containers.RepeatedCompositeFieldContainer[_common_pb2.Message]
    tool_results: _containers.RepeatedCompositeFieldContainer[_common_pb2.ToolResult]
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[_common_pb2.Message, _Mapping]]] = ..., tool_results: _Optional[_Iterable[_Union[_common_pb2.ToolResult, _Mapping]]] = ...) -> None: ...

class GetReflectionPromptResponse(_message.Message):
    __slots__ = ("system", "prompt")
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    system: str
    prompt: str
    def __init__(self, system: _Optional[str] = ..., prompt: _Optional[str] = ...) -> None: ...
