import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from sidemirror.v1 import common_pb2 as _common_pb2
from sidemirror.v1 import thinking_pb2 as _thinking_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StatisticsInterval(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATISTICS_INTERVAL_UNSPECIFIED: _ClassVar[StatisticsInterval]
    STATISTICS_INTERVAL_HOUR: _ClassVar[StatisticsInterval]
    STATISTICS_INTERVAL_DAY: _ClassVar[StatisticsInterval]
STATISTICS_INTERVAL_UNSPECIFIED: StatisticsInterval
STATISTICS_INTERVAL_HOUR: StatisticsInterval
STATISTICS_INTERVAL_DAY: StatisticsInterval

class ShouldCritiqueRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "tool_results", "response", "response_length")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULTS_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_LENGTH_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    tool_results: _containers.RepeatedCompositeFieldContainer[_common_pb2.ToolResult]
    response: str
    response_length: int
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., tool_results: _Optional[_Iterable[_Union[_common_pb2.ToolResult, _Mapping]]] = ..., response: _Optional[str] = ..., response_length: _Optional[int] = ...) -> None: ...

class ShouldCritiqueResponse(_message.Message):
    __slots__ = ("should_critique", "reasons")
    SHOULD_CRITIQUE_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    should_critique: bool
    reasons: _containers.RepeatedScalarFieldContainer[_common_pb2.CritiqueReason]
    def __init__(self, should_critique: bool = ..., reasons: _Optional[_Iterable[_Union[_common_pb2.CritiqueReason, str]]] = ...) -> None: ...

class CritiqueRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "user_message", "response", "tool_results", "turn_id", "session_id", "compare_to", "subject_ids")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    USER_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULTS_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    COMPARE_TO_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_IDS_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    user_message: str
    response: str
    tool_results: _containers.RepeatedCompositeFieldContainer[_common_pb2.ToolResult]
    turn_id: str
    session_id: str
    compare_to: str
    subject_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., user_message: _Optional[str] = ..., response: _Optional[str] = ..., tool_results: _Optional[_Iterable[_Union[_common_pb2.ToolResult, _Mapping]]] = ..., turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., compare_to: _Optional[str] = ..., subject_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class CritiqueResponse(_message.Message):
    __slots__ = ("critique",)
    CRITIQUE_FIELD_NUMBER: _ClassVar[int]
    critique: _common_pb2.CritiqueResult
    def __init__(self, critique: _Optional[_Union[_common_pb2.CritiqueResult, _Mapping]] = ...) -> None: ...

class ReviseRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "user_message", "response", "tool_results", "turn_id", "session_id", "max_revisions", "subject_ids")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    USER_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULTS_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MAX_REVISIONS_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_IDS_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    user_message: str
    response: str
    tool_results: _containers.RepeatedCompositeFieldContainer[_common_pb2.ToolResult]
    turn_id: str
    session_id: str
    max_revisions: int
    subject_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., user_message: _Optional[str] = ..., response: _Optional[str] = ..., tool_results: _Optional[_Iterable[_Union[_common_pb2.ToolResult, _Mapping]]] = ..., turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., max_revisions: _Optional[int] = ..., subject_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ReviseResponse(_message.Message):
    __slots__ = ("critique", "revision", "comparison", "result")
    CRITIQUE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    COMPARISON_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    critique: ReviseCritique
    revision: Revision
    comparison: ReviseComparison
    result: ReviseResult
    def __init__(self, critique: _Optional[_Union[ReviseCritique, _Mapping]] = ..., revision: _Optional[_Union[Revision, _Mapping]] = ..., comparison: _Optional[_Union[ReviseComparison, _Mapping]] = ..., result: _Optional[_Union[ReviseResult, _Mapping]] = ...) -> None: ...

class ReviseCritique(_message.Message):
    __slots__ = ("number", "critique")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    CRITIQUE_FIELD_NUMBER: _ClassVar[int]
    number: int
    critique: _common_pb2.CritiqueResult
    def __init__(self, number: _Optional[int] = ..., critique: _Optional[_Union[_common_pb2.CritiqueResult, _Mapping]] = ...) -> None: ...

class Revision(_message.Message):
    __slots__ = ("number", "status", "detail", "response", "usage")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    number: int
    status: _common_pb2.ResultStatus
    detail: str
    response: str
    usage: _common_pb2.Usage
    def __init__(self, number: _Optional[int] = ..., status: _Optional[_Union[_common_pb2.ResultStatus, str]] = ..., detail: _Optional[str] = ..., response: _Optional[str] = ..., usage: _Optional[_Union[_common_pb2.Usage, _Mapping]] = ...) -> None: ...

class ReviseComparison(_message.Message):
    __slots__ = ("number", "comparison")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    COMPARISON_FIELD_NUMBER: _ClassVar[int]
    number: int
    comparison: _common_pb2.CritiqueComparison
    def __init__(self, number: _Optional[int] = ..., comparison: _Optional[_Union[_common_pb2.CritiqueComparison, _Mapping]] = ...) -> None: ...

class ReviseResult(_message.Message):
    __slots__ = ("response", "number", "revised", "reason", "critique_id")
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    REVISED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CRITIQUE_ID_FIELD_NUMBER: _ClassVar[int]
    response: str
    number: int
    revised: bool
    reason: str
    critique_id: str
    def __init__(self, response: _Optional[str] = ..., number: _Optional[int] = ..., revised: bool = ..., reason: _Optional[str] = ..., critique_id: _Optional[str] = ...) -> None: ...

class EvaluateTraceRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "turn_id", "events", "checklist")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    CHECKLIST_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    turn_id: str
    events: _containers.RepeatedCompositeFieldContainer[_thinking_pb2.TurnEvent]
    checklist: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., events: _Optional[_Iterable[_Union[_thinking_pb2.TurnEvent, _Mapping]]] = ..., checklist: _Optional[_Iterable[str]] = ...) -> None: ...

class EvaluateTraceResponse(_message.Message):
    __slots__ = ("evaluation",)
    EVALUATION_FIELD_NUMBER: _ClassVar[int]
    evaluation: TraceEvaluation
    def __init__(self, evaluation: _Optional[_Union[TraceEvaluation, _Mapping]] = ...) -> None: ...

class TraceEvaluation(_message.Message):
    __slots__ = ("status", "detail", "criteria", "usage")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    CRITERIA_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    status: _common_pb2.ResultStatus
    detail: str
    criteria: _containers.RepeatedCompositeFieldContainer[TraceCriterion]
    usage: _common_pb2.Usage
    def __init__(self, status: _Optional[_Union[_common_pb2.ResultStatus, str]] = ..., detail: _Optional[str] = ..., criteria: _Optional[_Iterable[_Union[TraceCriterion, _Mapping]]] = ..., usage: _Optional[_Union[_common_pb2.Usage, _Mapping]] = ...) -> None: ...

class TraceCriterion(_message.Message):
    __slots__ = ("name", "score", "reason", "computed")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    COMPUTED_FIELD_NUMBER: _ClassVar[int]
    name: str
    score: float
    reason: str
    computed: bool
    def __init__(self, name: _Optional[str] = ..., score: _Optional[float] = ..., reason: _Optional[str] = ..., computed: bool = ...) -> None: ...

class DebateRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "user_message", "response", "tool_results", "turn_id", "session_id", "critics", "max_rounds", "subject_ids")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    USER_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULTS_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CRITICS_FIELD_NUMBER: _ClassVar[int]
    MAX_ROUNDS_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_IDS_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    user_message: str
    response: str
    tool_results: _containers.RepeatedCompositeFieldContainer[_common_pb2.ToolResult]
    turn_id: str
    session_id: str
    critics: int
    max_rounds: int
    subject_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., user_message: _Optional[str] = ..., response: _Optional[str] = ..., tool_results: _Optional[_Iterable[_Union[_common_pb2.ToolResult, _Mapping]]] = ..., turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., critics: _Optional[int] = ..., max_rounds: _Optional[int] = ..., subject_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class DebateResponse(_message.Message):
    __slots__ = ("argument", "verdict")
    ARGUMENT_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    argument: DebateArgument
    verdict: DebateVerdict
    def __init__(self, argument: _Optional[_Union[DebateArgument, _Mapping]] = ..., verdict: _Optional[_Union[DebateVerdict, _Mapping]] = ...) -> None: ...

class DebateArgument(_message.Message):
    __slots__ = ("round", "critic", "brief", "status", "detail", "argument", "issue_details", "should_revise", "usage")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    CRITIC_FIELD_NUMBER: _ClassVar[int]
    BRIEF_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_FIELD_NUMBER: _ClassVar[int]
    ISSUE_DETAILS_FIELD_NUMBER: _ClassVar[int]
    SHOULD_REVISE_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    round: int
    critic: int
    brief: str
    status: _common_pb2.ResultStatus
    detail: str
    argument: str
    issue_details: _containers.RepeatedCompositeFieldContainer[_common_pb2.CritiqueIssue]
    should_revise: bool
    usage: _common_pb2.Usage
    def __init__(self, round: _Optional[int] = ..., critic: _Optional[int] = ..., brief: _Optional[str] = ..., status: _Optional[_Union[_common_pb2.ResultStatus, str]] = ..., detail: _Optional[str] = ..., argument: _Optional[str] = ..., issue_details: _Optional[_Iterable[_Union[_common_pb2.CritiqueIssue, _Mapping]]] = ..., should_revise: bool = ..., usage: _Optional[_Union[_common_pb2.Usage, _Mapping]] = ...) -> None: ...

class DebateVerdict(_message.Message):
    __slots__ = ("critique", "rounds", "agreed")
    CRITIQUE_FIELD_NUMBER: _ClassVar[int]
    ROUNDS_FIELD_NUMBER: _ClassVar[int]
    AGREED_FIELD_NUMBER: _ClassVar[int]
    critique: _common_pb2.CritiqueResult
    rounds: int
    agreed: bool
    def __init__(self, critique: _Optional[_Union[_common_pb2.CritiqueResult, _Mapping]] = ..., rounds: _Optional[int] = ..., agreed: bool = ...) -> None: ...

class ListCritiquesRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "turn_id", "session_id", "page_size", "page_token")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    turn_id: str
    session_id: str
    page_size: int
    page_token: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListCritiquesResponse(_message.Message):
    __slots__ = ("critiques", "next_page_token")
    CRITIQUES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    critiques: _containers.RepeatedCompositeFieldContainer[KeptCritique]
    next_page_token: str
    def __init__(self, critiques: _Optional[_Iterable[_Union[KeptCritique, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class KeptCritique(_message.Message):
    __slots__ = ("critique", "turn_id", "session_id", "user_message", "response", "create_time", "outcome", "score", "made_by", "revised_outcome")
    CRITIQUE_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    USER_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    MADE_BY_FIELD_NUMBER: _ClassVar[int]
    REVISED_OUTCOME_FIELD_NUMBER: _ClassVar[int]
    critique: _common_pb2.CritiqueResult
    turn_id: str
    session_id: str
    user_message: str
    response: str
    create_time: _timestamp_pb2.Timestamp
    outcome: _common_pb2.TaskOutcome
    score: float
    made_by: str
    revised_outcome: _common_pb2.TaskOutcome
    def __init__(self, critique: _Optional[_Union[_common_pb2.CritiqueResult, _Mapping]] = ..., turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., user_message: _Optional[str] = ..., response: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., outcome: _Optional[_Union[_common_pb2.TaskOutcome, str]] = ..., score: _Optional[float] = ..., made_by: _Optional[str] = ..., revised_outcome: _Optional[_Union[_common_pb2.TaskOutcome, str]] = ...) -> None: ...

class GetCritiqueStatisticsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "start_time", "end_time", "interval", "provider")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    interval: StatisticsInterval
    provider: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., interval: _Optional[_Union[StatisticsInterval, str]] = ..., provider: _Optional[str] = ...) -> None: ...

class GetCritiqueStatisticsResponse(_message.Message):
    __slots__ = ("buckets", "totals", "revisions")
    BUCKETS_FIELD_NUMBER: _ClassVar[int]
    TOTALS_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    buckets: _containers.RepeatedCompositeFieldContainer[CritiqueFigures]
    totals: _containers.RepeatedCompositeFieldContainer[CritiqueFigures]
    revisions: _containers.RepeatedCompositeFieldContainer[RevisionFigures]
    def __init__(self, buckets: _Optional[_Iterable[_Union[CritiqueFigures, _Mapping]]] = ..., totals: _Optional[_Iterable[_Union[CritiqueFigures, _Mapping]]] = ..., revisions: _Optional[_Iterable[_Union[RevisionFigures, _Mapping]]] = ...) -> None: ...

class RevisionFigures(_message.Message):
    __slots__ = ("provider", "model", "reported_count", "made_right_count", "made_wrong_count", "withheld")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    REPORTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    MADE_RIGHT_COUNT_FIELD_NUMBER: _ClassVar[int]
    MADE_WRONG_COUNT_FIELD_NUMBER: _ClassVar[int]
    WITHHELD_FIELD_NUMBER: _ClassVar[int]
    provider: str
    model: str
    reported_count: int
    made_right_count: int
    made_wrong_count: int
    withheld: bool
    def __init__(self, provider: _Optional[str] = ..., model: _Optional[str] = ..., reported_count: _Optional[int] = ..., made_right_count: _Optional[int] = ..., made_wrong_count: _Optional[int] = ..., withheld: bool = ...) -> None: ...

class CritiqueFigures(_message.Message):
    __slots__ = ("start_time", "provider", "count", "mean_confidence", "p10_confidence", "p50_confidence", "p90_confidence", "revision_rate", "reported_count", "agreement")
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    MEAN_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    P10_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    P50_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    P90_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    REVISION_RATE_FIELD_NUMBER: _ClassVar[int]
    REPORTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    AGREEMENT_FIELD_NUMBER: _ClassVar[int]
    start_time: _timestamp_pb2.Timestamp
    provider: str
    count: int
    mean_confidence: float
    p10_confidence: float
    p50_confidence: float
    p90_confidence: float
    revision_rate: float
    reported_count: int
    agreement: float
    def __init__(self, start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., provider: _Optional[str] = ..., count: _Optional[int] = ..., mean_confidence: _Optional[float] = ..., p10_confidence: _Optional[float] = ..., p50_confidence: _Optional[float] = ..., p90_confidence: _Optional[float] = ..., revision_rate: _Optional[float] = ..., reported_count: _Optional[int] = ..., agreement: _Optional[float] = ...) -> None: ...

class ReportCritiqueOutcomeRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "critique_id", "outcome", "score", "revised_outcome")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CRITIQUE_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    REVISED_OUTCOME_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    critique_id: str
    outcome: _common_pb2.TaskOutcome
    score: float
    revised_outcome: _common_pb2.TaskOutcome
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., critique_id: _Optional[str] = ..., outcome: _Optional[_Union[_common_pb2.TaskOutcome, str]] = ..., score: _Optional[float] = ..., revised_outcome: _Optional[_Union[_common_pb2.TaskOutcome, str]] = ...) -> None: ...

class ReportCritiqueOutcomeResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
