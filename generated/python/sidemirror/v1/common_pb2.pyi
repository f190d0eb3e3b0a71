import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ResultStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESULT_STATUS_UNSPECIFIED: _ClassVar[ResultStatus]
    RESULT_STATUS_OK: _ClassVar[ResultStatus]
    RESULT_STATUS_SKIPPED_BUDGET: _ClassVar[ResultStatus]
    RESULT_STATUS_SKIPPED_DEADLINE: _ClassVar[ResultStatus]
    RESULT_STATUS_SKIPPED_SPEND: _ClassVar[ResultStatus]
    RESULT_STATUS_SKIPPED_DISABLED: _ClassVar[ResultStatus]
    RESULT_STATUS_FAILED_MODEL: _ClassVar[ResultStatus]
    RESULT_STATUS_FAILED_PARSE: _ClassVar[ResultStatus]
    RESULT_STATUS_TRUNCATED: _ClassVar[ResultStatus]
    RESULT_STATUS_REFUSED: _ClassVar[ResultStatus]
    RESULT_STATUS_NOTHING: _ClassVar[ResultStatus]

class TaskOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_OUTCOME_UNSPECIFIED: _ClassVar[TaskOutcome]
    TASK_OUTCOME_SUCCESS: _ClassVar[TaskOutcome]
    TASK_OUTCOME_FAILURE: _ClassVar[TaskOutcome]
    TASK_OUTCOME_PARTIAL: _ClassVar[TaskOutcome]
    TASK_OUTCOME_TIMEOUT: _ClassVar[TaskOutcome]
    TASK_OUTCOME_ERROR: _ClassVar[TaskOutcome]

class Origin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ORIGIN_UNSPECIFIED: _ClassVar[Origin]
    ORIGIN_TOOL: _ClassVar[Origin]
    ORIGIN_AGENT: _ClassVar[Origin]
    ORIGIN_USER: _ClassVar[Origin]
    ORIGIN_OPERATOR: _ClassVar[Origin]

class MessageRole(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MESSAGE_ROLE_UNSPECIFIED: _ClassVar[MessageRole]
    MESSAGE_ROLE_USER: _ClassVar[MessageRole]
    MESSAGE_ROLE_ASSISTANT: _ClassVar[MessageRole]
    MESSAGE_ROLE_SYSTEM: _ClassVar[MessageRole]
    MESSAGE_ROLE_TOOL: _ClassVar[MessageRole]

class CritiqueMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CRITIQUE_MODE_UNSPECIFIED: _ClassVar[CritiqueMode]
    CRITIQUE_MODE_OFF: _ClassVar[CritiqueMode]
    CRITIQUE_MODE_GATED: _ClassVar[CritiqueMode]
    CRITIQUE_MODE_ALWAYS: _ClassVar[CritiqueMode]

class CritiqueReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CRITIQUE_REASON_UNSPECIFIED: _ClassVar[CritiqueReason]
    CRITIQUE_REASON_TOOL_ERROR: _ClassVar[CritiqueReason]
    CRITIQUE_REASON_LONG_RESPONSE: _ClassVar[CritiqueReason]
    CRITIQUE_REASON_MANY_TOOL_RESULTS: _ClassVar[CritiqueReason]
    CRITIQUE_REASON_ALWAYS: _ClassVar[CritiqueReason]

class IssueKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ISSUE_KIND_UNSPECIFIED: _ClassVar[IssueKind]
    ISSUE_KIND_WRONG_FACT: _ClassVar[IssueKind]
    ISSUE_KIND_MISSING_CRITICAL_INFORMATION: _ClassVar[IssueKind]
    ISSUE_KIND_POTENTIAL_HARM: _ClassVar[IssueKind]
    ISSUE_KIND_MISSING_DETAIL: _ClassVar[IssueKind]
    ISSUE_KIND_UNSUPPORTED_CLAIM: _ClassVar[IssueKind]
    ISSUE_KIND_NOT_ACTIONABLE: _ClassVar[IssueKind]
    ISSUE_KIND_UNCLEAR: _ClassVar[IssueKind]
    ISSUE_KIND_STYLE: _ClassVar[IssueKind]
    ISSUE_KIND_LENGTH: _ClassVar[IssueKind]

class IssueSeverity(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ISSUE_SEVERITY_UNSPECIFIED: _ClassVar[IssueSeverity]
    ISSUE_SEVERITY_MINOR: _ClassVar[IssueSeverity]
    ISSUE_SEVERITY_MAJOR: _ClassVar[IssueSeverity]
    ISSUE_SEVERITY_CRITICAL: _ClassVar[IssueSeverity]

class QuoteSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QUOTE_SOURCE_UNSPECIFIED: _ClassVar[QuoteSource]
    QUOTE_SOURCE_RESPONSE: _ClassVar[QuoteSource]
    QUOTE_SOURCE_TASK: _ClassVar[QuoteSource]
    QUOTE_SOURCE_EVIDENCE: _ClassVar[QuoteSource]

class ConfidenceKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONFIDENCE_KIND_UNSPECIFIED: _ClassVar[ConfidenceKind]
    CONFIDENCE_KIND_MODEL: _ClassVar[ConfidenceKind]
    CONFIDENCE_KIND_CALIBRATED: _ClassVar[ConfidenceKind]

class ComparisonOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPARISON_OUTCOME_UNSPECIFIED: _ClassVar[ComparisonOutcome]
    COMPARISON_OUTCOME_BETTER: _ClassVar[ComparisonOutcome]
    COMPARISON_OUTCOME_WORSE: _ClassVar[ComparisonOutcome]
    COMPARISON_OUTCOME_TIE: _ClassVar[ComparisonOutcome]
RESULT_STATUS_UNSPECIFIED: ResultStatus
RESULT_STATUS_OK: ResultStatus
RESULT_STATUS_SKIPPED_BUDGET: ResultStatus
RESULT_STATUS_SKIPPED_DEADLINE: ResultStatus
RESULT_STATUS_SKIPPED_SPEND: ResultStatus
RESULT_STATUS_SKIPPED_DISABLED: ResultStatus
RESULT_STATUS_FAILED_MODEL: ResultStatus
RESULT_STATUS_FAILED_PARSE: ResultStatus
RESULT_STATUS_TRUNCATED: ResultStatus
RESULT_STATUS_REFUSED: ResultStatus
RESULT_STATUS_NOTHING: ResultStatus
TASK_OUTCOME_UNSPECIFIED: TaskOutcome
TASK_OUTCOME_SUCCESS: TaskOutcome
TASK_OUTCOME_FAILURE: TaskOutcome
TASK_OUTCOME_PARTIAL: TaskOutcome
TASK_OUTCOME_TIMEOUT: TaskOutcome
TASK_OUTCOME_ERROR: TaskOutcome
ORIGIN_UNSPECIFIED: Origin
ORIGIN_TOOL: Origin
ORIGIN_AGENT: Origin
ORIGIN_USER: Origin
ORIGIN_OPERATOR: Origin
MESSAGE_ROLE_UNSPECIFIED: MessageRole
MESSAGE_ROLE_USER: MessageRole
MESSAGE_ROLE_ASSISTANT: MessageRole
MESSAGE_ROLE_SYSTEM: MessageRole
MESSAGE_ROLE_TOOL: MessageRole
CRITIQUE_MODE_UNSPECIFIED: CritiqueMode
CRITIQUE_MODE_OFF: CritiqueMode
CRITIQUE_MODE_GATED: CritiqueMode
CRITIQUE_MODE_ALWAYS: CritiqueMode
CRITIQUE_REASON_UNSPECIFIED: CritiqueReason
CRITIQUE_REASON_TOOL_ERROR: CritiqueReason
CRITIQUE_REASON_LONG_RESPONSE: CritiqueReason
CRITIQUE_REASON_MANY_TOOL_RESULTS: CritiqueReason
CRITIQUE_REASON_ALWAYS: CritiqueReason
ISSUE_KIND_UNSPECIFIED: IssueKind
ISSUE_KIND_WRONG_FACT: IssueKind
ISSUE_KIND_MISSING_CRITICAL_INFORMATION: IssueKind
ISSUE_KIND_POTENTIAL_HARM: IssueKind
ISSUE_KIND_MISSING_DETAIL: IssueKind
ISSUE_KIND_UNSUPPORTED_CLAIM: IssueKind
ISSUE_KIND_NOT_ACTIONABLE: IssueKind
ISSUE_KIND_UNCLEAR: IssueKind
ISSUE_KIND_STYLE: IssueKind
ISSUE_KIND_LENGTH: IssueKind
ISSUE_SEVERITY_UNSPECIFIED: IssueSeverity
ISSUE_SEVERITY_MINOR: IssueSeverity
ISSUE_SEVERITY_MAJOR: IssueSeverity
ISSUE_SEVERITY_CRITICAL: IssueSeverity
QUOTE_SOURCE_UNSPECIFIED: QuoteSource
QUOTE_SOURCE_RESPONSE: QuoteSource
QUOTE_SOURCE_TASK: QuoteSource
QUOTE_SOURCE_EVIDENCE: QuoteSource
CONFIDENCE_KIND_UNSPECIFIED: ConfidenceKind
CONFIDENCE_KIND_MODEL: ConfidenceKind
CONFIDENCE_KIND_CALIBRATED: ConfidenceKind
COMPARISON_OUTCOME_UNSPECIFIED: ComparisonOutcome
COMPARISON_OUTCOME_BETTER: ComparisonOutcome
COMPARISON_OUTCOME_WORSE: ComparisonOutcome
COMPARISON_OUTCOME_TIE: ComparisonOutcome

class Message(_message.Message):
    __slots__ = ("role", "content")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    role: MessageRole
    content: str
    def __init__(self, role: _Optional[_Union[MessageRole, str]] = ..., content: _Optional[str] = ...) -> None: ...

class ToolResult(_message.Message):
    __slots__ = ("name", "call_id", "is_error", "content", "error", "arguments")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    call_id: str
    is_error: bool
    content: str
    error: str
    arguments: str
    def __init__(self, name: _Optional[str] = ..., call_id: _Optional[str] = ..., is_error: bool = ..., content: _Optional[str] = ..., error: _Optional[str] = ..., arguments: _Optional[str] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("provider", "model", "parameters", "input_tokens", "output_tokens", "cost_usd", "latency")
    class ParametersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COST_USD_FIELD_NUMBER: _ClassVar[int]
    LATENCY_FIELD_NUMBER: _ClassVar[int]
    provider: str
    model: str
    parameters: _containers.ScalarMap[str, str]
    input_tokens: int
    output_tokens: int
    cost_usd: float
    latency: _duration_pb2.Duration
    def __init__(self, provider: _Optional[str] = ..., model: _Optional[str] = ..., parameters: _Optional[_Mapping[str, str]] = ..., input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., cost_usd: _Optional[float] = ..., latency: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ContextBlock(_message.Message):
    __slots__ = ("text", "receipt_id", "token_count", "items", "omitted")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    OMITTED_FIELD_NUMBER: _ClassVar[int]
    text: str
    receipt_id: str
    token_count: int
    items: _containers.RepeatedCompositeFieldContainer[ContextItem]
    omitted: _containers.RepeatedCompositeFieldContainer[OmittedItem]
    def __init__(self, text: _Optional[str] = ..., receipt_id: _Optional[str] = ..., token_count: _Optional[int] = ..., items: _Optional[_Iterable[_Union[ContextItem, _Mapping]]] = ..., omitted: _Optional[_Iterable[_Union[OmittedItem, _Mapping]]] = ...) -> None: ...

class ContextItem(_message.Message):
    __slots__ = ("id", "version", "kind", "text", "score", "origin")
    ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    id: str
    version: int
    kind: str
    text: str
    score: float
    origin: Origin
    def __init__(self, id: _Optional[str] = ..., version: _Optional[int] = ..., kind: _Optional[str] = ..., text: _Optional[str] = ..., score: _Optional[float] = ..., origin: _Optional[_Union[Origin, str]] = ...) -> None: ...

class OmittedItem(_message.Message):
    __slots__ = ("id", "reason")
    ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    id: str
    reason: str
    def __init__(self, id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class CritiqueIssue(_message.Message):
    __slots__ = ("kind", "severity", "quote", "quote_source", "reason", "fix", "event_ids")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SEVERITY_FIELD_NUMBER: _ClassVar[int]
    QUOTE_FIELD_NUMBER: _ClassVar[int]
    QUOTE_SOURCE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    FIX_FIELD_NUMBER: _ClassVar[int]
    EVENT_IDS_FIELD_NUMBER: _ClassVar[int]
    kind: IssueKind
    severity: IssueSeverity
    quote: str
    quote_source: QuoteSource
    reason: str
    fix: str
    event_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, kind: _Optional[_Union[IssueKind, str]] = ..., severity: _Optional[_Union[IssueSeverity, str]] = ..., quote: _Optional[str] = ..., quote_source: _Optional[_Union[QuoteSource, str]] = ..., reason: _Optional[str] = ..., fix: _Optional[str] = ..., event_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class CritiqueDimension(_message.Message):
    __slots__ = ("name", "score", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    score: float
    reason: str
    def __init__(self, name: _Optional[str] = ..., score: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...

class CritiqueComparison(_message.Message):
    __slots__ = ("status", "detail", "against_critique_id", "outcome", "agreed", "reason", "usage")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    AGAINST_CRITIQUE_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    AGREED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    status: ResultStatus
    detail: str
    against_critique_id: str
    outcome: ComparisonOutcome
    agreed: bool
    reason: str
    usage: Usage
    def __init__(self, status: _Optional[_Union[ResultStatus, str]] = ..., detail: _Optional[str] = ..., against_critique_id: _Optional[str] = ..., outcome: _Optional[_Union[ComparisonOutcome, str]] = ..., agreed: bool = ..., reason: _Optional[str] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ...) -> None: ...

class CritiqueResult(_message.Message):
    __slots__ = ("critique_id", "status", "detail", "confidence", "issues", "issue_details", "suggestions", "should_revise", "dimensions", "revision_prompt", "comparison", "usage", "dropped_issue_count", "origin", "confidence_kind", "revision_withheld")
    CRITIQUE_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    ISSUES_FIELD_NUMBER: _ClassVar[int]
    ISSUE_DETAILS_FIELD_NUMBER: _ClassVar[int]
    SUGGESTIONS_FIELD_NUMBER: _ClassVar[int]
    SHOULD_REVISE_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    REVISION_PROMPT_FIELD_NUMBER: _ClassVar[int]
    COMPARISON_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    DROPPED_ISSUE_COUNT_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_KIND_FIELD_NUMBER: _ClassVar[int]
    REVISION_WITHHELD_FIELD_NUMBER: _ClassVar[int]
    critique_id: str
    status: ResultStatus
    detail: str
    confidence: float
    issues: _containers.RepeatedScalarFieldContainer[str]
    issue_details: _containers.RepeatedCompositeFieldContainer[CritiqueIssue]
    suggestions: _containers.RepeatedScalarFieldContainer[str]
    should_revise: bool
    dimensions: _containers.RepeatedCompositeFieldContainer[CritiqueDimension]
    revision_prompt: str
    comparison: CritiqueComparison
    usage: Usage
    dropped_issue_count: int
    origin: Origin
    confidence_kind: ConfidenceKind
    revision_withheld: bool
    def __init__(self, critique_id: _Optional[str] = ..., status: _Optional[_Union[ResultStatus, str]] = ..., detail: _Optional[str] = ..., confidence: _Optional[float] = ..., issues: _Optional[_Iterable[str]] = ..., issue_details: _Optional[_Iterable[_Union[CritiqueIssue, _Mapping]]] = ..., suggestions: _Optional[_Iterable[str]] = ..., should_revise: bool = ..., dimensions: _Optional[_Iterable[_Union[CritiqueDimension, _Mapping]]] = ..., revision_prompt: _Optional[str] = ..., comparison: _Optional[_Union[CritiqueComparison, _Mapping]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., dropped_issue_count: _Optional[int] = ..., origin: _Optional[_Union[Origin, str]] = ..., confidence_kind: _Optional[_Union[ConfidenceKind, str]] = ..., revision_withheld: bool = ...) -> None: ...
