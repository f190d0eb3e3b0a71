import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from sidemirror.v1 import thinking_pb2 as _thinking_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SpendLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SPEND_LEVEL_UNSPECIFIED: _ClassVar[SpendLevel]
    SPEND_LEVEL_TOTAL: _ClassVar[SpendLevel]
    SPEND_LEVEL_PURPOSE: _ClassVar[SpendLevel]
    SPEND_LEVEL_TENANT: _ClassVar[SpendLevel]
    SPEND_LEVEL_PROJECT: _ClassVar[SpendLevel]

class SpendCapOwner(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SPEND_CAP_OWNER_UNSPECIFIED: _ClassVar[SpendCapOwner]
    SPEND_CAP_OWNER_SIDECAR: _ClassVar[SpendCapOwner]
    SPEND_CAP_OWNER_TENANT: _ClassVar[SpendCapOwner]
    SPEND_CAP_OWNER_PROJECT: _ClassVar[SpendCapOwner]

class PolicyLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    POLICY_LEVEL_UNSPECIFIED: _ClassVar[PolicyLevel]
    POLICY_LEVEL_PROJECT: _ClassVar[PolicyLevel]
    POLICY_LEVEL_TENANT: _ClassVar[PolicyLevel]

class AdviceKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ADVICE_KIND_UNSPECIFIED: _ClassVar[AdviceKind]
    ADVICE_KIND_ALL: _ClassVar[AdviceKind]
    ADVICE_KIND_LESSONS: _ClassVar[AdviceKind]
    ADVICE_KIND_RECOVERIES: _ClassVar[AdviceKind]
SPEND_LEVEL_UNSPECIFIED: SpendLevel
SPEND_LEVEL_TOTAL: SpendLevel
SPEND_LEVEL_PURPOSE: SpendLevel
SPEND_LEVEL_TENANT: SpendLevel
SPEND_LEVEL_PROJECT: SpendLevel
SPEND_CAP_OWNER_UNSPECIFIED: SpendCapOwner
SPEND_CAP_OWNER_SIDECAR: SpendCapOwner
SPEND_CAP_OWNER_TENANT: SpendCapOwner
SPEND_CAP_OWNER_PROJECT: SpendCapOwner
POLICY_LEVEL_UNSPECIFIED: PolicyLevel
POLICY_LEVEL_PROJECT: PolicyLevel
POLICY_LEVEL_TENANT: PolicyLevel
ADVICE_KIND_UNSPECIFIED: AdviceKind
ADVICE_KIND_ALL: AdviceKind
ADVICE_KIND_LESSONS: AdviceKind
ADVICE_KIND_RECOVERIES: AdviceKind

class GetServerInfoRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "with_advice_changes", "with_findings", "costs_from", "costs_to")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    WITH_ADVICE_CHANGES_FIELD_NUMBER: _ClassVar[int]
    WITH_FINDINGS_FIELD_NUMBER: _ClassVar[int]
    COSTS_FROM_FIELD_NUMBER: _ClassVar[int]
    COSTS_TO_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    with_advice_changes: bool
    with_findings: bool
    costs_from: _timestamp_pb2.Timestamp
    costs_to: _timestamp_pb2.Timestamp
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., with_advice_changes: bool = ..., with_findings: bool = ..., costs_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., costs_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetServerInfoResponse(_message.Message):
    __slots__ = ("version", "tenant_id", "project_id", "stores", "models", "default_config", "default_budget", "limits", "spend", "spend_caps", "spend_unknown", "store_clock", "memory_embedding", "advice_is_shadow", "backlog", "advice_changes", "server_time", "traffic", "refused_callers", "refusing_caps", "findings", "model_outages", "quarantined_count", "hidden_caps", "project_costs", "more_project_costs", "costs_from")
    class LimitsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    STORES_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_CONFIG_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_BUDGET_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    SPEND_FIELD_NUMBER: _ClassVar[int]
    SPEND_CAPS_FIELD_NUMBER: _ClassVar[int]
    SPEND_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    STORE_CLOCK_FIELD_NUMBER: _ClassVar[int]
    MEMORY_EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    ADVICE_IS_SHADOW_FIELD_NUMBER: _ClassVar[int]
    BACKLOG_FIELD_NUMBER: _ClassVar[int]
    ADVICE_CHANGES_FIELD_NUMBER: _ClassVar[int]
    SERVER_TIME_FIELD_NUMBER: _ClassVar[int]
    TRAFFIC_FIELD_NUMBER: _ClassVar[int]
    REFUSED_CALLERS_FIELD_NUMBER: _ClassVar[int]
    REFUSING_CAPS_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    MODEL_OUTAGES_FIELD_NUMBER: _ClassVar[int]
    QUARANTINED_COUNT_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_CAPS_FIELD_NUMBER: _ClassVar[int]
    PROJECT_COSTS_FIELD_NUMBER: _ClassVar[int]
    MORE_PROJECT_COSTS_FIELD_NUMBER: _ClassVar[int]
    COSTS_FROM_FIELD_NUMBER: _ClassVar[int]
    version: str
    tenant_id: str
    project_id: str
    stores: _containers.RepeatedCompositeFieldContainer[StoreInfo]
    models: _containers.RepeatedCompositeFieldContainer[ModelInfo]
    default_config: _thinking_pb2.ThinkingConfig
    default_budget: _thinking_pb2.TurnBudget
    limits: _containers.ScalarMap[str, int]
    spend: _containers.RepeatedCompositeFieldContainer[Spend]
    spend_caps: _containers.RepeatedCompositeFieldContainer[SpendCap]
    spend_unknown: bool
    store_clock: StoreClock
    memory_embedding: MemoryEmbedding
    advice_is_shadow: bool
    backlog: _containers.RepeatedCompositeFieldContainer[Backlog]
    advice_changes: _containers.RepeatedCompositeFieldContainer[AdviceChange]
    server_time: _timestamp_pb2.Timestamp
    traffic: Traffic
    refused_callers: _containers.RepeatedCompositeFieldContainer[RefusedCaller]
    refusing_caps: _containers.RepeatedCompositeFieldContainer[SpendCap]
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    model_outages: _containers.RepeatedCompositeFieldContainer[ModelOutage]
    quarantined_count: int
    hidden_caps: _containers.RepeatedCompositeFieldContainer[HiddenCap]
    project_costs: _containers.RepeatedCompositeFieldContainer[ProjectCost]
    more_project_costs: bool
    costs_from: _timestamp_pb2.Timestamp
    def __init__(self, version: _Optional[str] = ..., tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., stores: _Optional[_Iterable[_Union[StoreInfo, _Mapping]]] = ..., models: _Optional[_Iterable[_Union[ModelInfo, _Mapping]]] = ..., default_config: _Optional[_Union[_thinking_pb2.ThinkingConfig, _Mapping]] = ..., default_budget: _Optional[_Union[_thinking_pb2.TurnBudget, _Mapping]] = ..., limits: _Optional[_Mapping[str, int]] = ..., spend: _Optional[_Iterable[_Union[Spend, _Mapping]]] = ..., spend_caps: _Optional[_Iterable[_Union[SpendCap, _Mapping]]] = ..., spend_unknown: bool = ..., store_clock: _Optional[_Union[StoreClock, _Mapping]] = ..., memory_embedding: _Optional[_Union[MemoryEmbedding, _Mapping]] = ..., advice_is_shadow: bool = ..., backlog: _Optional[_Iterable[_Union[Backlog, _Mapping]]] = ..., advice_changes: _Optional[_Iterable[_Union[AdviceChange, _Mapping]]] = ..., server_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., traffic: _Optional[_Union[Traffic, _Mapping]] = ..., refused_callers: _Optional[_Iterable[_Union[RefusedCaller, _Mapping]]] = ..., refusing_caps: _Optional[_Iterable[_Union[SpendCap, _Mapping]]] = ..., findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., model_outages: _Optional[_Iterable[_Union[ModelOutage, _Mapping]]] = ..., quarantined_count: _Optional[int] = ..., hidden_caps: _Optional[_Iterable[_Union[HiddenCap, _Mapping]]] = ..., project_costs: _Optional[_Iterable[_Union[ProjectCost, _Mapping]]] = ..., more_project_costs: bool = ..., costs_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ProjectCost(_message.Message):
    __slots__ = ("tenant_id", "project_id", "calls", "tokens", "usd", "reserved_tokens", "reserved_usd", "unanswered_calls", "estimated_tokens", "estimated_usd", "today_tokens", "today_usd", "tokens_per_day", "usd_per_day", "tenant_tokens_per_day", "tenant_usd_per_day")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    USD_FIELD_NUMBER: _ClassVar[int]
    RESERVED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    RESERVED_USD_FIELD_NUMBER: _ClassVar[int]
    UNANSWERED_CALLS_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_USD_FIELD_NUMBER: _ClassVar[int]
    TODAY_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TODAY_USD_FIELD_NUMBER: _ClassVar[int]
    TOKENS_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    USD_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    TENANT_TOKENS_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    TENANT_USD_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    calls: int
    tokens: int
    usd: float
    reserved_tokens: int
    reserved_usd: float
    unanswered_calls: int
    estimated_tokens: int
    estimated_usd: float
    today_tokens: int
    today_usd: float
    tokens_per_day: int
    usd_per_day: float
    tenant_tokens_per_day: int
    tenant_usd_per_day: float
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., calls: _Optional[int] = ..., tokens: _Optional[int] = ..., usd: _Optional[float] = ..., reserved_tokens: _Optional[int] = ..., reserved_usd: _Optional[float] = ..., unanswered_calls: _Optional[int] = ..., estimated_tokens: _Optional[int] = ..., estimated_usd: _Optional[float] = ..., today_tokens: _Optional[int] = ..., today_usd: _Optional[float] = ..., tokens_per_day: _Optional[int] = ..., usd_per_day: _Optional[float] = ..., tenant_tokens_per_day: _Optional[int] = ..., tenant_usd_per_day: _Optional[float] = ...) -> None: ...

class HiddenCap(_message.Message):
    __slots__ = ("owner", "level", "purpose", "prevents_questions", "reset_time", "is_zero")
    OWNER_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    PREVENTS_QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    RESET_TIME_FIELD_NUMBER: _ClassVar[int]
    IS_ZERO_FIELD_NUMBER: _ClassVar[int]
    owner: SpendCapOwner
    level: SpendLevel
    purpose: str
    prevents_questions: bool
    reset_time: _timestamp_pb2.Timestamp
    is_zero: bool
    def __init__(self, owner: _Optional[_Union[SpendCapOwner, str]] = ..., level: _Optional[_Union[SpendLevel, str]] = ..., purpose: _Optional[str] = ..., prevents_questions: bool = ..., reset_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., is_zero: bool = ...) -> None: ...

class Finding(_message.Message):
    __slots__ = ("subject", "is_ok", "found", "advice", "last_time")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    IS_OK_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    LAST_TIME_FIELD_NUMBER: _ClassVar[int]
    subject: str
    is_ok: bool
    found: str
    advice: str
    last_time: _timestamp_pb2.Timestamp
    def __init__(self, subject: _Optional[str] = ..., is_ok: bool = ..., found: _Optional[str] = ..., advice: _Optional[str] = ..., last_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class RefusedCaller(_message.Message):
    __slots__ = ("peer", "reason", "token", "fingerprint", "tenant_id", "project_id", "call_count", "first_time", "last_time")
    PEER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_COUNT_FIELD_NUMBER: _ClassVar[int]
    FIRST_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_TIME_FIELD_NUMBER: _ClassVar[int]
    peer: str
    reason: str
    token: str
    fingerprint: str
    tenant_id: str
    project_id: str
    call_count: int
    first_time: _timestamp_pb2.Timestamp
    last_time: _timestamp_pb2.Timestamp
    def __init__(self, peer: _Optional[str] = ..., reason: _Optional[str] = ..., token: _Optional[str] = ..., fingerprint: _Optional[str] = ..., tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., call_count: _Optional[int] = ..., first_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Traffic(_message.Message):
    __slots__ = ("period", "message_count", "callers", "sessions", "held_back", "refused")
    PERIOD_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    CALLERS_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    HELD_BACK_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    period: _duration_pb2.Duration
    message_count: int
    callers: _containers.RepeatedCompositeFieldContainer[Sender]
    sessions: _containers.RepeatedCompositeFieldContainer[Sender]
    held_back: _containers.RepeatedCompositeFieldContainer[Sender]
    refused: _containers.RepeatedCompositeFieldContainer[Sender]
    def __init__(self, period: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., message_count: _Optional[int] = ..., callers: _Optional[_Iterable[_Union[Sender, _Mapping]]] = ..., sessions: _Optional[_Iterable[_Union[Sender, _Mapping]]] = ..., held_back: _Optional[_Iterable[_Union[Sender, _Mapping]]] = ..., refused: _Optional[_Iterable[_Union[Sender, _Mapping]]] = ...) -> None: ...

class Sender(_message.Message):
    __slots__ = ("token", "tenant_id", "project_id", "session_id", "sent_count", "waited", "refused_count", "read_count")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SENT_COUNT_FIELD_NUMBER: _ClassVar[int]
    WAITED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_COUNT_FIELD_NUMBER: _ClassVar[int]
    READ_COUNT_FIELD_NUMBER: _ClassVar[int]
    token: str
    tenant_id: str
    project_id: str
    session_id: str
    sent_count: int
    waited: _duration_pb2.Duration
    refused_count: int
    read_count: int
    def __init__(self, token: _Optional[str] = ..., tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., session_id: _Optional[str] = ..., sent_count: _Optional[int] = ..., waited: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., refused_count: _Optional[int] = ..., read_count: _Optional[int] = ...) -> None: ...

class AdviceChange(_message.Message):
    __slots__ = ("time", "changed_by", "mode", "level", "before", "after", "reason")
    TIME_FIELD_NUMBER: _ClassVar[int]
    CHANGED_BY_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    changed_by: str
    mode: str
    level: PolicyLevel
    before: AdvicePolicy
    after: AdvicePolicy
    reason: str
    def __init__(self, time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., changed_by: _Optional[str] = ..., mode: _Optional[str] = ..., level: _Optional[_Union[PolicyLevel, str]] = ..., before: _Optional[_Union[AdvicePolicy, _Mapping]] = ..., after: _Optional[_Union[AdvicePolicy, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class Backlog(_message.Message):
    __slots__ = ("kind", "waiting_count")
    KIND_FIELD_NUMBER: _ClassVar[int]
    WAITING_COUNT_FIELD_NUMBER: _ClassVar[int]
    kind: str
    waiting_count: int
    def __init__(self, kind: _Optional[str] = ..., waiting_count: _Optional[int] = ...) -> None: ...

class StoreInfo(_message.Message):
    __slots__ = ("kind", "holds", "durability", "available", "lost", "slowest_commit", "full")
    KIND_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    SLOWEST_COMMIT_FIELD_NUMBER: _ClassVar[int]
    FULL_FIELD_NUMBER: _ClassVar[int]
    kind: str
    holds: str
    durability: str
    available: bool
    lost: str
    slowest_commit: _duration_pb2.Duration
    full: bool
    def __init__(self, kind: _Optional[str] = ..., holds: _Optional[str] = ..., durability: _Optional[str] = ..., available: bool = ..., lost: _Optional[str] = ..., slowest_commit: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., full: bool = ...) -> None: ...

class StoreClock(_message.Message):
    __slots__ = ("ahead", "doubt")
    AHEAD_FIELD_NUMBER: _ClassVar[int]
    DOUBT_FIELD_NUMBER: _ClassVar[int]
    ahead: _duration_pb2.Duration
    doubt: str
    def __init__(self, ahead: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., doubt: _Optional[str] = ...) -> None: ...

class ModelInfo(_message.Message):
    __slots__ = ("purpose", "provider", "model", "available", "price_unknown", "last_answer_time")
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    PRICE_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    LAST_ANSWER_TIME_FIELD_NUMBER: _ClassVar[int]
    purpose: str
    provider: str
    model: str
    available: bool
    price_unknown: bool
    last_answer_time: _timestamp_pb2.Timestamp
    def __init__(self, purpose: _Optional[str] = ..., provider: _Optional[str] = ..., model: _Optional[str] = ..., available: bool = ..., price_unknown: bool = ..., last_answer_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ModelOutage(_message.Message):
    __slots__ = ("purpose", "provider", "model", "failed_count", "first_time", "last_time", "status", "answered_others_time")
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    FAILED_COUNT_FIELD_NUMBER: _ClassVar[int]
    FIRST_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_TIME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_OTHERS_TIME_FIELD_NUMBER: _ClassVar[int]
    purpose: str
    provider: str
    model: str
    failed_count: int
    first_time: _timestamp_pb2.Timestamp
    last_time: _timestamp_pb2.Timestamp
    status: str
    answered_others_time: _timestamp_pb2.Timestamp
    def __init__(self, purpose: _Optional[str] = ..., provider: _Optional[str] = ..., model: _Optional[str] = ..., failed_count: _Optional[int] = ..., first_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., status: _Optional[str] = ..., answered_others_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class MemoryEmbedding(_message.Message):
    __slots__ = ("model", "weight", "gain", "error", "noise", "memories")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    GAIN_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    NOISE_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    model: str
    weight: float
    gain: float
    error: float
    noise: float
    memories: int
    def __init__(self, model: _Optional[str] = ..., weight: _Optional[float] = ..., gain: _Optional[float] = ..., error: _Optional[float] = ..., noise: _Optional[float] = ..., memories: _Optional[int] = ...) -> None: ...

class Spend(_message.Message):
    __slots__ = ("day", "purpose", "calls", "tokens", "usd", "reserved_tokens", "reserved_usd", "orphaned_tokens", "orphaned_usd", "unanswered_calls", "estimated_tokens", "estimated_usd")
    DAY_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    USD_FIELD_NUMBER: _ClassVar[int]
    RESERVED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    RESERVED_USD_FIELD_NUMBER: _ClassVar[int]
    ORPHANED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    ORPHANED_USD_FIELD_NUMBER: _ClassVar[int]
    UNANSWERED_CALLS_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_USD_FIELD_NUMBER: _ClassVar[int]
    day: str
    purpose: str
    calls: int
    tokens: int
    usd: float
    reserved_tokens: int
    reserved_usd: float
    orphaned_tokens: int
    orphaned_usd: float
    unanswered_calls: int
    estimated_tokens: int
    estimated_usd: float
    def __init__(self, day: _Optional[str] = ..., purpose: _Optional[str] = ..., calls: _Optional[int] = ..., tokens: _Optional[int] = ..., usd: _Optional[float] = ..., reserved_tokens: _Optional[int] = ..., reserved_usd: _Optional[float] = ..., orphaned_tokens: _Optional[int] = ..., orphaned_usd: _Optional[float] = ..., unanswered_calls: _Optional[int] = ..., estimated_tokens: _Optional[int] = ..., estimated_usd: _Optional[float] = ...) -> None: ...

class SpendCap(_message.Message):
    __slots__ = ("level", "purpose", "tokens_per_day", "usd_per_day", "used_tokens", "used_usd", "reset_time", "owner", "refused_count", "wanted_tokens", "wanted_usd", "tenant_id", "project_id")
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    USD_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    USED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    USED_USD_FIELD_NUMBER: _ClassVar[int]
    RESET_TIME_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    REFUSED_COUNT_FIELD_NUMBER: _ClassVar[int]
    WANTED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    WANTED_USD_FIELD_NUMBER: _ClassVar[int]
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    level: SpendLevel
    purpose: str
    tokens_per_day: int
    usd_per_day: float
    used_tokens: int
    used_usd: float
    reset_time: _timestamp_pb2.Timestamp
    owner: SpendCapOwner
    refused_count: int
    wanted_tokens: int
    wanted_usd: float
    tenant_id: str
    project_id: str
    def __init__(self, level: _Optional[_Union[SpendLevel, str]] = ..., purpose: _Optional[str] = ..., tokens_per_day: _Optional[int] = ..., usd_per_day: _Optional[float] = ..., used_tokens: _Optional[int] = ..., used_usd: _Optional[float] = ..., reset_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., owner: _Optional[_Union[SpendCapOwner, str]] = ..., refused_count: _Optional[int] = ..., wanted_tokens: _Optional[int] = ..., wanted_usd: _Optional[float] = ..., tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ...) -> None: ...

class Policy(_message.Message):
    __slots__ = ("retention", "caps", "advice")
    RETENTION_FIELD_NUMBER: _ClassVar[int]
    CAPS_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    retention: RetentionPolicy
    caps: _containers.RepeatedCompositeFieldContainer[PolicyCap]
    advice: AdvicePolicy
    def __init__(self, retention: _Optional[_Union[RetentionPolicy, _Mapping]] = ..., caps: _Optional[_Iterable[_Union[PolicyCap, _Mapping]]] = ..., advice: _Optional[_Union[AdvicePolicy, _Mapping]] = ...) -> None: ...

class RetentionPolicy(_message.Message):
    __slots__ = ("spend_days", "critique_days", "memory_days", "memory_importance", "memory_count", "trace_days")
    SPEND_DAYS_FIELD_NUMBER: _ClassVar[int]
    CRITIQUE_DAYS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_DAYS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_COUNT_FIELD_NUMBER: _ClassVar[int]
    TRACE_DAYS_FIELD_NUMBER: _ClassVar[int]
    spend_days: int
    critique_days: int
    memory_days: int
    memory_importance: float
    memory_count: int
    trace_days: int
    def __init__(self, spend_days: _Optional[int] = ..., critique_days: _Optional[int] = ..., memory_days: _Optional[int] = ..., memory_importance: _Optional[float] = ..., memory_count: _Optional[int] = ..., trace_days: _Optional[int] = ...) -> None: ...

class PolicyCap(_message.Message):
    __slots__ = ("purpose", "tokens_per_day", "usd_per_day")
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    USD_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    purpose: str
    tokens_per_day: int
    usd_per_day: float
    def __init__(self, purpose: _Optional[str] = ..., tokens_per_day: _Optional[int] = ..., usd_per_day: _Optional[float] = ...) -> None: ...

class AdvicePolicy(_message.Message):
    __slots__ = ("off", "silenced_ids")
    OFF_FIELD_NUMBER: _ClassVar[int]
    SILENCED_IDS_FIELD_NUMBER: _ClassVar[int]
    off: _containers.RepeatedScalarFieldContainer[AdviceKind]
    silenced_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, off: _Optional[_Iterable[_Union[AdviceKind, str]]] = ..., silenced_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class StoredPolicy(_message.Message):
    __slots__ = ("policy", "version", "set_by", "set_time")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SET_BY_FIELD_NUMBER: _ClassVar[int]
    SET_TIME_FIELD_NUMBER: _ClassVar[int]
    policy: Policy
    version: int
    set_by: str
    set_time: _timestamp_pb2.Timestamp
    def __init__(self, policy: _Optional[_Union[Policy, _Mapping]] = ..., version: _Optional[int] = ..., set_by: _Optional[str] = ..., set_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetPolicyRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ...) -> None: ...

class GetPolicyResponse(_message.Message):
    __slots__ = ("tenant_id", "project_id", "project", "tenant", "in_force", "tenant_hidden")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    IN_FORCE_FIELD_NUMBER: _ClassVar[int]
    TENANT_HIDDEN_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    project: StoredPolicy
    tenant: StoredPolicy
    in_force: Policy
    tenant_hidden: bool
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., project: _Optional[_Union[StoredPolicy, _Mapping]] = ..., tenant: _Optional[_Union[StoredPolicy, _Mapping]] = ..., in_force: _Optional[_Union[Policy, _Mapping]] = ..., tenant_hidden: bool = ...) -> None: ...

class SetPolicyRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "level", "policy", "if_version", "reason")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    IF_VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    level: PolicyLevel
    policy: Policy
    if_version: int
    reason: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., level: _Optional[_Union[PolicyLevel, str]] = ..., policy: _Optional[_Union[Policy, _Mapping]] = ..., if_version: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class SetPolicyResponse(_message.Message):
    __slots__ = ("stored",)
    STORED_FIELD_NUMBER: _ClassVar[int]
    stored: StoredPolicy
    def __init__(self, stored: _Optional[_Union[StoredPolicy, _Mapping]] = ...) -> None: ...

class EraseRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "turn_id", "session_id", "subject_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    turn_id: str
    session_id: str
    subject_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., subject_id: _Optional[str] = ...) -> None: ...

class EraseResponse(_message.Message):
    __slots__ = ("counts", "erase_time")
    class CountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    ERASE_TIME_FIELD_NUMBER: _ClassVar[int]
    counts: _containers.ScalarMap[str, int]
    erase_time: _timestamp_pb2.Timestamp
    def __init__(self, counts: _Optional[_Mapping[str, int]] = ..., erase_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListTombstonesRequest(_message.Message):
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

class ListTombstonesResponse(_message.Message):
    __slots__ = ("tombstones", "next_page_token")
    TOMBSTONES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tombstones: _containers.RepeatedCompositeFieldContainer[Tombstone]
    next_page_token: str
    def __init__(self, tombstones: _Optional[_Iterable[_Union[Tombstone, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class Tombstone(_message.Message):
    __slots__ = ("kind", "digest", "erase_time")
    KIND_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    ERASE_TIME_FIELD_NUMBER: _ClassVar[int]
    kind: str
    digest: str
    erase_time: _timestamp_pb2.Timestamp
    def __init__(self, kind: _Optional[str] = ..., digest: _Optional[str] = ..., erase_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
