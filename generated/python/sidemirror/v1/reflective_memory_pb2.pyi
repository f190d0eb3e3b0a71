import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import struct_pb2 as _struct_pb2
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

class EventType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVENT_TYPE_UNSPECIFIED: _ClassVar[EventType]
    EVENT_TYPE_TOOL_CALL: _ClassVar[EventType]
    EVENT_TYPE_TOOL_RESPONSE: _ClassVar[EventType]
    EVENT_TYPE_LLM_CALL: _ClassVar[EventType]
    EVENT_TYPE_LLM_RESPONSE: _ClassVar[EventType]
    EVENT_TYPE_ERROR_EVENT: _ClassVar[EventType]
    EVENT_TYPE_SYSTEM_EVENT: _ClassVar[EventType]
    EVENT_TYPE_USER_MESSAGE: _ClassVar[EventType]

class ErrorCategory(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_CATEGORY_UNSPECIFIED: _ClassVar[ErrorCategory]
    ERROR_CATEGORY_TIMEOUT_ERROR: _ClassVar[ErrorCategory]
    ERROR_CATEGORY_VALIDATION_ERROR: _ClassVar[ErrorCategory]
    ERROR_CATEGORY_PERMISSION_ERROR: _ClassVar[ErrorCategory]
    ERROR_CATEGORY_NOT_FOUND_ERROR: _ClassVar[ErrorCategory]
    ERROR_CATEGORY_RATE_LIMIT_ERROR: _ClassVar[ErrorCategory]
    ERROR_CATEGORY_NETWORK_ERROR: _ClassVar[ErrorCategory]
    ERROR_CATEGORY_TOOL_ERROR: _ClassVar[ErrorCategory]
    ERROR_CATEGORY_MODEL_ERROR: _ClassVar[ErrorCategory]
    ERROR_CATEGORY_RESOURCE_ERROR: _ClassVar[ErrorCategory]
    ERROR_CATEGORY_LOGIC_ERROR: _ClassVar[ErrorCategory]
    ERROR_CATEGORY_UNKNOWN_ERROR: _ClassVar[ErrorCategory]

class MemoryKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_KIND_UNSPECIFIED: _ClassVar[MemoryKind]
    MEMORY_KIND_REFLECTION: _ClassVar[MemoryKind]
    MEMORY_KIND_STRATEGY: _ClassVar[MemoryKind]

class MemoryState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_STATE_UNSPECIFIED: _ClassVar[MemoryState]
    MEMORY_STATE_ACTIVE: _ClassVar[MemoryState]
    MEMORY_STATE_QUARANTINED: _ClassVar[MemoryState]
    MEMORY_STATE_RETIRED: _ClassVar[MemoryState]

class SearchMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_MODE_UNSPECIFIED: _ClassVar[SearchMode]
    SEARCH_MODE_FILTER: _ClassVar[SearchMode]
    SEARCH_MODE_FULL_TEXT: _ClassVar[SearchMode]
    SEARCH_MODE_HYBRID: _ClassVar[SearchMode]

class ClusterKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CLUSTER_KIND_UNSPECIFIED: _ClassVar[ClusterKind]
    CLUSTER_KIND_ERROR_SIGNATURE: _ClassVar[ClusterKind]
    CLUSTER_KIND_TOOL: _ClassVar[ClusterKind]
    CLUSTER_KIND_SIMILARITY: _ClassVar[ClusterKind]

class LinkKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LINK_KIND_UNSPECIFIED: _ClassVar[LinkKind]
    LINK_KIND_STRATEGY_OF: _ClassVar[LinkKind]
    LINK_KIND_DERIVED_FROM: _ClassVar[LinkKind]
    LINK_KIND_SUPERSEDES: _ClassVar[LinkKind]
    LINK_KIND_SIMILAR_TO: _ClassVar[LinkKind]
    LINK_KIND_SAME_ERROR: _ClassVar[LinkKind]
    LINK_KIND_MENTIONS: _ClassVar[LinkKind]

class GraphNodeKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GRAPH_NODE_KIND_UNSPECIFIED: _ClassVar[GraphNodeKind]
    GRAPH_NODE_KIND_MEMORY: _ClassVar[GraphNodeKind]
    GRAPH_NODE_KIND_TOOL: _ClassVar[GraphNodeKind]
    GRAPH_NODE_KIND_ERROR_CATEGORY: _ClassVar[GraphNodeKind]
    GRAPH_NODE_KIND_ERROR_SIGNATURE: _ClassVar[GraphNodeKind]
    GRAPH_NODE_KIND_NAME: _ClassVar[GraphNodeKind]

class RecoveryMoveKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECOVERY_MOVE_KIND_UNSPECIFIED: _ClassVar[RecoveryMoveKind]
    RECOVERY_MOVE_KIND_LOOKED_UP: _ClassVar[RecoveryMoveKind]
    RECOVERY_MOVE_KIND_SENT_AGAIN: _ClassVar[RecoveryMoveKind]
    RECOVERY_MOVE_KIND_CHANGED: _ClassVar[RecoveryMoveKind]
    RECOVERY_MOVE_KIND_WENT_ON: _ClassVar[RecoveryMoveKind]
    RECOVERY_MOVE_KIND_STOPPED: _ClassVar[RecoveryMoveKind]
    RECOVERY_MOVE_KIND_OTHER: _ClassVar[RecoveryMoveKind]

class ReceiptPlace(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECEIPT_PLACE_UNSPECIFIED: _ClassVar[ReceiptPlace]
    RECEIPT_PLACE_PLAN: _ClassVar[ReceiptPlace]
    RECEIPT_PLACE_ADVICE: _ClassVar[ReceiptPlace]
    RECEIPT_PLACE_REFLECTION: _ClassVar[ReceiptPlace]
    RECEIPT_PLACE_MEMORY_CONTEXT: _ClassVar[ReceiptPlace]
    RECEIPT_PLACE_GOAL_CONTEXT: _ClassVar[ReceiptPlace]
    RECEIPT_PLACE_RECOVERIES: _ClassVar[ReceiptPlace]

class LessonFit(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LESSON_FIT_UNSPECIFIED: _ClassVar[LessonFit]
    LESSON_FIT_FAILURE: _ClassVar[LessonFit]
    LESSON_FIT_CALL: _ClassVar[LessonFit]
    LESSON_FIT_NAME: _ClassVar[LessonFit]
    LESSON_FIT_WORDS: _ClassVar[LessonFit]
    LESSON_FIT_MEANING: _ClassVar[LessonFit]

class PrunedKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PRUNED_KIND_UNSPECIFIED: _ClassVar[PrunedKind]
    PRUNED_KIND_MEMORIES: _ClassVar[PrunedKind]
    PRUNED_KIND_TURNS: _ClassVar[PrunedKind]

class LessonVerdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LESSON_VERDICT_UNSPECIFIED: _ClassVar[LessonVerdict]
    LESSON_VERDICT_HELPS: _ClassVar[LessonVerdict]
    LESSON_VERDICT_HARMS: _ClassVar[LessonVerdict]
    LESSON_VERDICT_INERT: _ClassVar[LessonVerdict]
    LESSON_VERDICT_NOT_ENOUGH_DATA: _ClassVar[LessonVerdict]

class HeldBackReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HELD_BACK_REASON_UNSPECIFIED: _ClassVar[HeldBackReason]
    HELD_BACK_REASON_DRAW: _ClassVar[HeldBackReason]
    HELD_BACK_REASON_SHADOW: _ClassVar[HeldBackReason]
EVENT_TYPE_UNSPECIFIED: EventType
EVENT_TYPE_TOOL_CALL: EventType
EVENT_TYPE_TOOL_RESPONSE: EventType
EVENT_TYPE_LLM_CALL: EventType
EVENT_TYPE_LLM_RESPONSE: EventType
EVENT_TYPE_ERROR_EVENT: EventType
EVENT_TYPE_SYSTEM_EVENT: EventType
EVENT_TYPE_USER_MESSAGE: EventType
ERROR_CATEGORY_UNSPECIFIED: ErrorCategory
ERROR_CATEGORY_TIMEOUT_ERROR: ErrorCategory
ERROR_CATEGORY_VALIDATION_ERROR: ErrorCategory
ERROR_CATEGORY_PERMISSION_ERROR: ErrorCategory
ERROR_CATEGORY_NOT_FOUND_ERROR: ErrorCategory
ERROR_CATEGORY_RATE_LIMIT_ERROR: ErrorCategory
ERROR_CATEGORY_NETWORK_ERROR: ErrorCategory
ERROR_CATEGORY_TOOL_ERROR: ErrorCategory
ERROR_CATEGORY_MODEL_ERROR: ErrorCategory
ERROR_CATEGORY_RESOURCE_ERROR: ErrorCategory
ERROR_CATEGORY_LOGIC_ERROR: ErrorCategory
ERROR_CATEGORY_UNKNOWN_ERROR: ErrorCategory
MEMORY_KIND_UNSPECIFIED: MemoryKind
MEMORY_KIND_REFLECTION: MemoryKind
MEMORY_KIND_STRATEGY: MemoryKind
MEMORY_STATE_UNSPECIFIED: MemoryState
MEMORY_STATE_ACTIVE: MemoryState
MEMORY_STATE_QUARANTINED: MemoryState
MEMORY_STATE_RETIRED: MemoryState
SEARCH_MODE_UNSPECIFIED: SearchMode
SEARCH_MODE_FILTER: SearchMode
SEARCH_MODE_FULL_TEXT: SearchMode
SEARCH_MODE_HYBRID: SearchMode
CLUSTER_KIND_UNSPECIFIED: ClusterKind
CLUSTER_KIND_ERROR_SIGNATURE: ClusterKind
CLUSTER_KIND_TOOL: ClusterKind
CLUSTER_KIND_SIMILARITY: ClusterKind
LINK_KIND_UNSPECIFIED: LinkKind
LINK_KIND_STRATEGY_OF: LinkKind
LINK_KIND_DERIVED_FROM: LinkKind
LINK_KIND_SUPERSEDES: LinkKind
LINK_KIND_SIMILAR_TO: LinkKind
LINK_KIND_SAME_ERROR: LinkKind
LINK_KIND_MENTIONS: LinkKind
GRAPH_NODE_KIND_UNSPECIFIED: GraphNodeKind
GRAPH_NODE_KIND_MEMORY: GraphNodeKind
GRAPH_NODE_KIND_TOOL: GraphNodeKind
GRAPH_NODE_KIND_ERROR_CATEGORY: GraphNodeKind
GRAPH_NODE_KIND_ERROR_SIGNATURE: GraphNodeKind
GRAPH_NODE_KIND_NAME: GraphNodeKind
RECOVERY_MOVE_KIND_UNSPECIFIED: RecoveryMoveKind
RECOVERY_MOVE_KIND_LOOKED_UP: RecoveryMoveKind
RECOVERY_MOVE_KIND_SENT_AGAIN: RecoveryMoveKind
RECOVERY_MOVE_KIND_CHANGED: RecoveryMoveKind
RECOVERY_MOVE_KIND_WENT_ON: RecoveryMoveKind
RECOVERY_MOVE_KIND_STOPPED: RecoveryMoveKind
RECOVERY_MOVE_KIND_OTHER: RecoveryMoveKind
RECEIPT_PLACE_UNSPECIFIED: ReceiptPlace
RECEIPT_PLACE_PLAN: ReceiptPlace
RECEIPT_PLACE_ADVICE: ReceiptPlace
RECEIPT_PLACE_REFLECTION: ReceiptPlace
RECEIPT_PLACE_MEMORY_CONTEXT: ReceiptPlace
RECEIPT_PLACE_GOAL_CONTEXT: ReceiptPlace
RECEIPT_PLACE_RECOVERIES: ReceiptPlace
LESSON_FIT_UNSPECIFIED: LessonFit
LESSON_FIT_FAILURE: LessonFit
LESSON_FIT_CALL: LessonFit
LESSON_FIT_NAME: LessonFit
LESSON_FIT_WORDS: LessonFit
LESSON_FIT_MEANING: LessonFit
PRUNED_KIND_UNSPECIFIED: PrunedKind
PRUNED_KIND_MEMORIES: PrunedKind
PRUNED_KIND_TURNS: PrunedKind
LESSON_VERDICT_UNSPECIFIED: LessonVerdict
LESSON_VERDICT_HELPS: LessonVerdict
LESSON_VERDICT_HARMS: LessonVerdict
LESSON_VERDICT_INERT: LessonVerdict
LESSON_VERDICT_NOT_ENOUGH_DATA: LessonVerdict
HELD_BACK_REASON_UNSPECIFIED: HeldBackReason
HELD_BACK_REASON_DRAW: HeldBackReason
HELD_BACK_REASON_SHADOW: HeldBackReason

class ReflectionEvent(_message.Message):
    __slots__ = ("event_id", "event_type", "timestamp", "content", "metadata", "tool_name", "error")
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    event_id: str
    event_type: EventType
    timestamp: _timestamp_pb2.Timestamp
    content: str
    metadata: _struct_pb2.Struct
    tool_name: str
    error: _struct_pb2.Struct
    def __init__(self, event_id: _Optional[str] = ..., event_type: _Optional[_Union[EventType, str]] = ..., timestamp: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., content: _Optional[str] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., tool_name: _Optional[str] = ..., error: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class TaskError(_message.Message):
    __slots__ = ("error_category", "error_message", "context")
    ERROR_CATEGORY_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    error_category: ErrorCategory
    error_message: str
    context: _struct_pb2.Struct
    def __init__(self, error_category: _Optional[_Union[ErrorCategory, str]] = ..., error_message: _Optional[str] = ..., context: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class AppliesWhen(_message.Message):
    __slots__ = ("tools", "error_categories", "not_when")
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    ERROR_CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    NOT_WHEN_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedScalarFieldContainer[str]
    error_categories: _containers.RepeatedScalarFieldContainer[ErrorCategory]
    not_when: str
    def __init__(self, tools: _Optional[_Iterable[str]] = ..., error_categories: _Optional[_Iterable[_Union[ErrorCategory, str]]] = ..., not_when: _Optional[str] = ...) -> None: ...

class ReflectionResult(_message.Message):
    __slots__ = ("status", "reflection_text", "strategy_text", "importance", "confidence", "tags", "error_category", "source_event_ids", "related_memory_ids", "metadata", "generated_at", "applies_when", "origin", "usage", "error_signature")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_TEXT_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_TEXT_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    ERROR_CATEGORY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_EVENT_IDS_FIELD_NUMBER: _ClassVar[int]
    RELATED_MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    GENERATED_AT_FIELD_NUMBER: _ClassVar[int]
    APPLIES_WHEN_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    ERROR_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    status: _common_pb2.ResultStatus
    reflection_text: str
    strategy_text: str
    importance: float
    confidence: float
    tags: _containers.RepeatedScalarFieldContainer[str]
    error_category: ErrorCategory
    source_event_ids: _containers.RepeatedScalarFieldContainer[str]
    related_memory_ids: _containers.RepeatedScalarFieldContainer[str]
    metadata: _struct_pb2.Struct
    generated_at: _timestamp_pb2.Timestamp
    applies_when: AppliesWhen
    origin: _common_pb2.Origin
    usage: _common_pb2.Usage
    error_signature: str
    def __init__(self, status: _Optional[_Union[_common_pb2.ResultStatus, str]] = ..., reflection_text: _Optional[str] = ..., strategy_text: _Optional[str] = ..., importance: _Optional[float] = ..., confidence: _Optional[float] = ..., tags: _Optional[_Iterable[str]] = ..., error_category: _Optional[_Union[ErrorCategory, str]] = ..., source_event_ids: _Optional[_Iterable[str]] = ..., related_memory_ids: _Optional[_Iterable[str]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., generated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., applies_when: _Optional[_Union[AppliesWhen, _Mapping]] = ..., origin: _Optional[_Union[_common_pb2.Origin, str]] = ..., usage: _Optional[_Union[_common_pb2.Usage, _Mapping]] = ..., error_signature: _Optional[str] = ...) -> None: ...

class Memory(_message.Message):
    __slots__ = ("id", "kind", "content", "source", "importance", "layer", "tags", "metadata", "confidence", "error_category", "source_event_ids", "origin", "state", "version", "create_time", "update_time", "related_memory_ids", "strategy_of", "applies_when", "strength", "episode_count", "quarantine", "change", "reason", "tenant_id", "project_id", "error_signature", "derived_from", "subject_ids", "changed_by", "source_turn_ids", "source_report_ids", "awaits_review")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    LAYER_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    ERROR_CATEGORY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_EVENT_IDS_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    RELATED_MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_OF_FIELD_NUMBER: _ClassVar[int]
    APPLIES_WHEN_FIELD_NUMBER: _ClassVar[int]
    STRENGTH_FIELD_NUMBER: _ClassVar[int]
    EPISODE_COUNT_FIELD_NUMBER: _ClassVar[int]
    QUARANTINE_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    DERIVED_FROM_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_IDS_FIELD_NUMBER: _ClassVar[int]
    CHANGED_BY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TURN_IDS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_REPORT_IDS_FIELD_NUMBER: _ClassVar[int]
    AWAITS_REVIEW_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: MemoryKind
    content: str
    source: str
    importance: float
    layer: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    metadata: _struct_pb2.Struct
    confidence: float
    error_category: ErrorCategory
    source_event_ids: _containers.RepeatedScalarFieldContainer[str]
    origin: _common_pb2.Origin
    state: MemoryState
    version: int
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    related_memory_ids: _containers.RepeatedScalarFieldContainer[str]
    strategy_of: str
    applies_when: AppliesWhen
    strength: int
    episode_count: int
    quarantine: str
    change: str
    reason: str
    tenant_id: str
    project_id: str
    error_signature: str
    derived_from: _containers.RepeatedScalarFieldContainer[str]
    subject_ids: _containers.RepeatedScalarFieldContainer[str]
    changed_by: str
    source_turn_ids: _containers.RepeatedScalarFieldContainer[str]
    source_report_ids: _containers.RepeatedScalarFieldContainer[str]
    awaits_review: bool
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[_Union[MemoryKind, str]] = ..., content: _Optional[str] = ..., source: _Optional[str] = ..., importance: _Optional[float] = ..., layer: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., confidence: _Optional[float] = ..., error_category: _Optional[_Union[ErrorCategory, str]] = ..., source_event_ids: _Optional[_Iterable[str]] = ..., origin: _Optional[_Union[_common_pb2.Origin, str]] = ..., state: _Optional[_Union[MemoryState, str]] = ..., version: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., related_memory_ids: _Optional[_Iterable[str]] = ..., strategy_of: _Optional[str] = ..., applies_when: _Optional[_Union[AppliesWhen, _Mapping]] = ..., strength: _Optional[int] = ..., episode_count: _Optional[int] = ..., quarantine: _Optional[str] = ..., change: _Optional[str] = ..., reason: _Optional[str] = ..., tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., error_signature: _Optional[str] = ..., derived_from: _Optional[_Iterable[str]] = ..., subject_ids: _Optional[_Iterable[str]] = ..., changed_by: _Optional[str] = ..., source_turn_ids: _Optional[_Iterable[str]] = ..., source_report_ids: _Optional[_Iterable[str]] = ..., awaits_review: bool = ...) -> None: ...

class GenerateReflectionRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "events", "turn_id", "session_id", "outcome", "error", "task_description", "task_goal", "related_memory_ids", "receipt_ids", "store", "subject_ids")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TASK_DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    TASK_GOAL_FIELD_NUMBER: _ClassVar[int]
    RELATED_MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_IDS_FIELD_NUMBER: _ClassVar[int]
    STORE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_IDS_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    events: _containers.RepeatedCompositeFieldContainer[ReflectionEvent]
    turn_id: str
    session_id: str
    outcome: _common_pb2.TaskOutcome
    error: TaskError
    task_description: str
    task_goal: str
    related_memory_ids: _containers.RepeatedScalarFieldContainer[str]
    receipt_ids: _containers.RepeatedScalarFieldContainer[str]
    store: bool
    subject_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., events: _Optional[_Iterable[_Union[ReflectionEvent, _Mapping]]] = ..., turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., outcome: _Optional[_Union[_common_pb2.TaskOutcome, str]] = ..., error: _Optional[_Union[TaskError, _Mapping]] = ..., task_description: _Optional[str] = ..., task_goal: _Optional[str] = ..., related_memory_ids: _Optional[_Iterable[str]] = ..., receipt_ids: _Optional[_Iterable[str]] = ..., store: bool = ..., subject_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class GenerateReflectionResponse(_message.Message):
    __slots__ = ("result", "reflection_id", "strategy_id", "not_stored_reason")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_ID_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_ID_FIELD_NUMBER: _ClassVar[int]
    NOT_STORED_REASON_FIELD_NUMBER: _ClassVar[int]
    result: ReflectionResult
    reflection_id: str
    strategy_id: str
    not_stored_reason: str
    def __init__(self, result: _Optional[_Union[ReflectionResult, _Mapping]] = ..., reflection_id: _Optional[str] = ..., strategy_id: _Optional[str] = ..., not_stored_reason: _Optional[str] = ...) -> None: ...

class StoreReflectionRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "result", "session_id", "subject_ids")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_IDS_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    result: ReflectionResult
    session_id: str
    subject_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., result: _Optional[_Union[ReflectionResult, _Mapping]] = ..., session_id: _Optional[str] = ..., subject_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class StoreReflectionResponse(_message.Message):
    __slots__ = ("reflection_id", "strategy_id", "not_stored_reason", "state", "quarantine", "quarantine_reason")
    REFLECTION_ID_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_ID_FIELD_NUMBER: _ClassVar[int]
    NOT_STORED_REASON_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    QUARANTINE_FIELD_NUMBER: _ClassVar[int]
    QUARANTINE_REASON_FIELD_NUMBER: _ClassVar[int]
    reflection_id: str
    strategy_id: str
    not_stored_reason: str
    state: MemoryState
    quarantine: str
    quarantine_reason: str
    def __init__(self, reflection_id: _Optional[str] = ..., strategy_id: _Optional[str] = ..., not_stored_reason: _Optional[str] = ..., state: _Optional[_Union[MemoryState, str]] = ..., quarantine: _Optional[str] = ..., quarantine_reason: _Optional[str] = ...) -> None: ...

class GetReflectionRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "reflection_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    reflection_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., reflection_id: _Optional[str] = ...) -> None: ...

class GetReflectionResponse(_message.Message):
    __slots__ = ("memory",)
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    memory: Memory
    def __init__(self, memory: _Optional[_Union[Memory, _Mapping]] = ...) -> None: ...

class ListReflectionsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "kind", "state", "page_size", "page_token", "reflection_ids")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_IDS_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    kind: MemoryKind
    state: MemoryState
    page_size: int
    page_token: str
    reflection_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., kind: _Optional[_Union[MemoryKind, str]] = ..., state: _Optional[_Union[MemoryState, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., reflection_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ListReflectionsResponse(_message.Message):
    __slots__ = ("memories", "next_page_token")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[Memory]
    next_page_token: str
    def __init__(self, memories: _Optional[_Iterable[_Union[Memory, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class UpdateReflectionRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "reflection_id", "changes", "update_mask", "if_version", "reason", "subject_ids")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_ID_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    IF_VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_IDS_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    reflection_id: str
    changes: MemoryChanges
    update_mask: _field_mask_pb2.FieldMask
    if_version: int
    reason: str
    subject_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., reflection_id: _Optional[str] = ..., changes: _Optional[_Union[MemoryChanges, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., if_version: _Optional[int] = ..., reason: _Optional[str] = ..., subject_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class MemoryChanges(_message.Message):
    __slots__ = ("content", "importance", "confidence", "tags", "error_category", "metadata", "applies_when", "related_memory_ids")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    ERROR_CATEGORY_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    APPLIES_WHEN_FIELD_NUMBER: _ClassVar[int]
    RELATED_MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    content: str
    importance: float
    confidence: float
    tags: _containers.RepeatedScalarFieldContainer[str]
    error_category: ErrorCategory
    metadata: _struct_pb2.Struct
    applies_when: AppliesWhen
    related_memory_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, content: _Optional[str] = ..., importance: _Optional[float] = ..., confidence: _Optional[float] = ..., tags: _Optional[_Iterable[str]] = ..., error_category: _Optional[_Union[ErrorCategory, str]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., applies_when: _Optional[_Union[AppliesWhen, _Mapping]] = ..., related_memory_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class UpdateReflectionResponse(_message.Message):
    __slots__ = ("memory",)
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    memory: Memory
    def __init__(self, memory: _Optional[_Union[Memory, _Mapping]] = ...) -> None: ...

class DeleteReflectionRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "reflection_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    reflection_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., reflection_id: _Optional[str] = ...) -> None: ...

class DeleteReflectionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListReflectionVersionsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "reflection_id", "page_size", "page_token")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    reflection_id: str
    page_size: int
    page_token: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., reflection_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListReflectionVersionsResponse(_message.Message):
    __slots__ = ("versions", "next_page_token")
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    versions: _containers.RepeatedCompositeFieldContainer[Memory]
    next_page_token: str
    def __init__(self, versions: _Optional[_Iterable[_Union[Memory, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ReviewReflectionRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "reflection_id", "state", "reason")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    reflection_id: str
    state: MemoryState
    reason: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., reflection_id: _Optional[str] = ..., state: _Optional[_Union[MemoryState, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class ReviewReflectionResponse(_message.Message):
    __slots__ = ("memory",)
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    memory: Memory
    def __init__(self, memory: _Optional[_Union[Memory, _Mapping]] = ...) -> None: ...

class QueryReflectionsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "query_text", "k", "min_importance", "tags", "explain", "include_quarantined", "explain_ids", "newest_first", "kind", "include_retired")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_TEXT_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    MIN_IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_QUARANTINED_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_IDS_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIRST_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_RETIRED_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    query_text: str
    k: int
    min_importance: float
    tags: _containers.RepeatedScalarFieldContainer[str]
    explain: bool
    include_quarantined: bool
    explain_ids: _containers.RepeatedScalarFieldContainer[str]
    newest_first: bool
    kind: MemoryKind
    include_retired: bool
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., query_text: _Optional[str] = ..., k: _Optional[int] = ..., min_importance: _Optional[float] = ..., tags: _Optional[_Iterable[str]] = ..., explain: bool = ..., include_quarantined: bool = ..., explain_ids: _Optional[_Iterable[str]] = ..., newest_first: bool = ..., kind: _Optional[_Union[MemoryKind, str]] = ..., include_retired: bool = ...) -> None: ...

class QueryReflectionsResponse(_message.Message):
    __slots__ = ("hits", "search_mode", "misses")
    HITS_FIELD_NUMBER: _ClassVar[int]
    SEARCH_MODE_FIELD_NUMBER: _ClassVar[int]
    MISSES_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[QueryHit]
    search_mode: SearchMode
    misses: _containers.RepeatedCompositeFieldContainer[QueryMiss]
    def __init__(self, hits: _Optional[_Iterable[_Union[QueryHit, _Mapping]]] = ..., search_mode: _Optional[_Union[SearchMode, str]] = ..., misses: _Optional[_Iterable[_Union[QueryMiss, _Mapping]]] = ...) -> None: ...

class QueryHit(_message.Message):
    __slots__ = ("memory", "score", "explanation")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    memory: Memory
    score: float
    explanation: HitExplanation
    def __init__(self, memory: _Optional[_Union[Memory, _Mapping]] = ..., score: _Optional[float] = ..., explanation: _Optional[_Union[HitExplanation, _Mapping]] = ...) -> None: ...

class HitExplanation(_message.Message):
    __slots__ = ("summary", "parts", "matched_terms")
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    MATCHED_TERMS_FIELD_NUMBER: _ClassVar[int]
    summary: str
    parts: _containers.RepeatedCompositeFieldContainer[ScorePart]
    matched_terms: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, summary: _Optional[str] = ..., parts: _Optional[_Iterable[_Union[ScorePart, _Mapping]]] = ..., matched_terms: _Optional[_Iterable[str]] = ...) -> None: ...

class ScorePart(_message.Message):
    __slots__ = ("name", "value", "rank")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    rank: int
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ..., rank: _Optional[int] = ...) -> None: ...

class QueryMiss(_message.Message):
    __slots__ = ("id", "reason")
    ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    id: str
    reason: str
    def __init__(self, id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class BuildMemoryContextRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "task", "tools", "error_categories", "max_items", "max_tokens", "turn_id", "session_id", "holdout_fraction", "has_shell")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    ERROR_CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    MAX_ITEMS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    HOLDOUT_FRACTION_FIELD_NUMBER: _ClassVar[int]
    HAS_SHELL_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    task: str
    tools: _containers.RepeatedScalarFieldContainer[str]
    error_categories: _containers.RepeatedScalarFieldContainer[ErrorCategory]
    max_items: int
    max_tokens: int
    turn_id: str
    session_id: str
    holdout_fraction: float
    has_shell: bool
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., task: _Optional[str] = ..., tools: _Optional[_Iterable[str]] = ..., error_categories: _Optional[_Iterable[_Union[ErrorCategory, str]]] = ..., max_items: _Optional[int] = ..., max_tokens: _Optional[int] = ..., turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., holdout_fraction: _Optional[float] = ..., has_shell: bool = ...) -> None: ...

class BuildMemoryContextResponse(_message.Message):
    __slots__ = ("block",)
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    block: _common_pb2.ContextBlock
    def __init__(self, block: _Optional[_Union[_common_pb2.ContextBlock, _Mapping]] = ...) -> None: ...

class ReportOutcomeRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "receipt_id", "outcome", "score", "error_category", "errors")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    ERROR_CATEGORY_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    receipt_id: str
    outcome: _common_pb2.TaskOutcome
    score: float
    error_category: ErrorCategory
    errors: TaskErrors
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., receipt_id: _Optional[str] = ..., outcome: _Optional[_Union[_common_pb2.TaskOutcome, str]] = ..., score: _Optional[float] = ..., error_category: _Optional[_Union[ErrorCategory, str]] = ..., errors: _Optional[_Union[TaskErrors, _Mapping]] = ...) -> None: ...

class TaskErrors(_message.Message):
    __slots__ = ("failed_calls",)
    FAILED_CALLS_FIELD_NUMBER: _ClassVar[int]
    failed_calls: _containers.RepeatedCompositeFieldContainer[FailedCall]
    def __init__(self, failed_calls: _Optional[_Iterable[_Union[FailedCall, _Mapping]]] = ...) -> None: ...

class FailedCall(_message.Message):
    __slots__ = ("tool_name", "error_message")
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    tool_name: str
    error_message: str
    def __init__(self, tool_name: _Optional[str] = ..., error_message: _Optional[str] = ...) -> None: ...

class ReportOutcomeResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetLessonStatisticsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "reflection_ids", "page_size", "page_token")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_IDS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    reflection_ids: _containers.RepeatedScalarFieldContainer[str]
    page_size: int
    page_token: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., reflection_ids: _Optional[_Iterable[str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class GetLessonStatisticsResponse(_message.Message):
    __slots__ = ("lessons", "next_page_token")
    LESSONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    lessons: _containers.RepeatedCompositeFieldContainer[LessonStatistics]
    next_page_token: str
    def __init__(self, lessons: _Optional[_Iterable[_Union[LessonStatistics, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class LessonStatistics(_message.Message):
    __slots__ = ("reflection_id", "from_version", "state", "reason", "shown", "held_back", "outside", "lift", "interval", "interval_at_any_look", "verdict", "detail", "earlier_shown", "earlier_held_back", "earlier_outside", "kept_in_shadow")
    REFLECTION_ID_FIELD_NUMBER: _ClassVar[int]
    FROM_VERSION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SHOWN_FIELD_NUMBER: _ClassVar[int]
    HELD_BACK_FIELD_NUMBER: _ClassVar[int]
    OUTSIDE_FIELD_NUMBER: _ClassVar[int]
    LIFT_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_AT_ANY_LOOK_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    EARLIER_SHOWN_FIELD_NUMBER: _ClassVar[int]
    EARLIER_HELD_BACK_FIELD_NUMBER: _ClassVar[int]
    EARLIER_OUTSIDE_FIELD_NUMBER: _ClassVar[int]
    KEPT_IN_SHADOW_FIELD_NUMBER: _ClassVar[int]
    reflection_id: str
    from_version: int
    state: MemoryState
    reason: str
    shown: LessonArm
    held_back: LessonArm
    outside: LessonArm
    lift: float
    interval: LiftInterval
    interval_at_any_look: LiftInterval
    verdict: LessonVerdict
    detail: str
    earlier_shown: LessonArm
    earlier_held_back: LessonArm
    earlier_outside: LessonArm
    kept_in_shadow: LessonArm
    def __init__(self, reflection_id: _Optional[str] = ..., from_version: _Optional[int] = ..., state: _Optional[_Union[MemoryState, str]] = ..., reason: _Optional[str] = ..., shown: _Optional[_Union[LessonArm, _Mapping]] = ..., held_back: _Optional[_Union[LessonArm, _Mapping]] = ..., outside: _Optional[_Union[LessonArm, _Mapping]] = ..., lift: _Optional[float] = ..., interval: _Optional[_Union[LiftInterval, _Mapping]] = ..., interval_at_any_look: _Optional[_Union[LiftInterval, _Mapping]] = ..., verdict: _Optional[_Union[LessonVerdict, str]] = ..., detail: _Optional[str] = ..., earlier_shown: _Optional[_Union[LessonArm, _Mapping]] = ..., earlier_held_back: _Optional[_Union[LessonArm, _Mapping]] = ..., earlier_outside: _Optional[_Union[LessonArm, _Mapping]] = ..., kept_in_shadow: _Optional[_Union[LessonArm, _Mapping]] = ...) -> None: ...

class LessonArm(_message.Message):
    __slots__ = ("assigned_count", "success_count", "failure_count", "missing_count", "returned_count", "stayed_away_count")
    ASSIGNED_COUNT_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_COUNT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_COUNT_FIELD_NUMBER: _ClassVar[int]
    MISSING_COUNT_FIELD_NUMBER: _ClassVar[int]
    RETURNED_COUNT_FIELD_NUMBER: _ClassVar[int]
    STAYED_AWAY_COUNT_FIELD_NUMBER: _ClassVar[int]
    assigned_count: int
    success_count: int
    failure_count: int
    missing_count: int
    returned_count: int
    stayed_away_count: int
    def __init__(self, assigned_count: _Optional[int] = ..., success_count: _Optional[int] = ..., failure_count: _Optional[int] = ..., missing_count: _Optional[int] = ..., returned_count: _Optional[int] = ..., stayed_away_count: _Optional[int] = ...) -> None: ...

class LiftInterval(_message.Message):
    __slots__ = ("low", "high")
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    low: float
    high: float
    def __init__(self, low: _Optional[float] = ..., high: _Optional[float] = ...) -> None: ...

class ExportReflectionsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "include_observations")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    include_observations: bool
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., include_observations: bool = ...) -> None: ...

class ExportReflectionsResponse(_message.Message):
    __slots__ = ("lines",)
    LINES_FIELD_NUMBER: _ClassVar[int]
    lines: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, lines: _Optional[_Iterable[str]] = ...) -> None: ...

class ImportReflectionsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "lines")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    lines: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., lines: _Optional[_Iterable[str]] = ...) -> None: ...

class ImportReflectionsResponse(_message.Message):
    __slots__ = ("imported_count", "known_count", "refused_count", "refused", "erased_count")
    IMPORTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    KNOWN_COUNT_FIELD_NUMBER: _ClassVar[int]
    REFUSED_COUNT_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    ERASED_COUNT_FIELD_NUMBER: _ClassVar[int]
    imported_count: int
    known_count: int
    refused_count: int
    refused: _containers.RepeatedCompositeFieldContainer[RefusedLine]
    erased_count: int
    def __init__(self, imported_count: _Optional[int] = ..., known_count: _Optional[int] = ..., refused_count: _Optional[int] = ..., refused: _Optional[_Iterable[_Union[RefusedLine, _Mapping]]] = ..., erased_count: _Optional[int] = ...) -> None: ...

class RefusedLine(_message.Message):
    __slots__ = ("number", "reason")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    number: int
    reason: str
    def __init__(self, number: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class ListClustersRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "kind", "page_size", "page_token")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    kind: ClusterKind
    page_size: int
    page_token: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., kind: _Optional[_Union[ClusterKind, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListClustersResponse(_message.Message):
    __slots__ = ("clusters", "next_page_token")
    CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    clusters: _containers.RepeatedCompositeFieldContainer[MemoryCluster]
    next_page_token: str
    def __init__(self, clusters: _Optional[_Iterable[_Union[MemoryCluster, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class MemoryCluster(_message.Message):
    __slots__ = ("id", "kind", "key", "terms", "memory_ids", "episode_count", "importance")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    EPISODE_COUNT_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: ClusterKind
    key: str
    terms: _containers.RepeatedScalarFieldContainer[str]
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    episode_count: int
    importance: float
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[_Union[ClusterKind, str]] = ..., key: _Optional[str] = ..., terms: _Optional[_Iterable[str]] = ..., memory_ids: _Optional[_Iterable[str]] = ..., episode_count: _Optional[int] = ..., importance: _Optional[float] = ...) -> None: ...

class GraphPoint(_message.Message):
    __slots__ = ("kind", "id")
    KIND_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    kind: GraphNodeKind
    id: str
    def __init__(self, kind: _Optional[_Union[GraphNodeKind, str]] = ..., id: _Optional[str] = ...) -> None: ...

class MemoryLink(_message.Message):
    __slots__ = ("source", "target", "kind", "create_time")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    source: GraphPoint
    target: GraphPoint
    kind: LinkKind
    create_time: _timestamp_pb2.Timestamp
    def __init__(self, source: _Optional[_Union[GraphPoint, _Mapping]] = ..., target: _Optional[_Union[GraphPoint, _Mapping]] = ..., kind: _Optional[_Union[LinkKind, str]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class LinkReflectionsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "links", "remove")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    REMOVE_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    links: _containers.RepeatedCompositeFieldContainer[MemoryLink]
    remove: bool
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., links: _Optional[_Iterable[_Union[MemoryLink, _Mapping]]] = ..., remove: bool = ...) -> None: ...

class LinkReflectionsResponse(_message.Message):
    __slots__ = ("changed_count",)
    CHANGED_COUNT_FIELD_NUMBER: _ClassVar[int]
    changed_count: int
    def __init__(self, changed_count: _Optional[int] = ...) -> None: ...

class ExploreGraphRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "start", "depth", "kinds", "max_nodes")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    MAX_NODES_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    start: _containers.RepeatedCompositeFieldContainer[GraphPoint]
    depth: int
    kinds: _containers.RepeatedScalarFieldContainer[LinkKind]
    max_nodes: int
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., start: _Optional[_Iterable[_Union[GraphPoint, _Mapping]]] = ..., depth: _Optional[int] = ..., kinds: _Optional[_Iterable[_Union[LinkKind, str]]] = ..., max_nodes: _Optional[int] = ...) -> None: ...

class ExploreGraphResponse(_message.Message):
    __slots__ = ("nodes", "links", "truncated")
    NODES_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[GraphNode]
    links: _containers.RepeatedCompositeFieldContainer[MemoryLink]
    truncated: bool
    def __init__(self, nodes: _Optional[_Iterable[_Union[GraphNode, _Mapping]]] = ..., links: _Optional[_Iterable[_Union[MemoryLink, _Mapping]]] = ..., truncated: bool = ...) -> None: ...

class GraphNode(_message.Message):
    __slots__ = ("point", "distance", "memory")
    POINT_FIELD_NUMBER: _ClassVar[int]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    point: GraphPoint
    distance: int
    memory: Memory
    def __init__(self, point: _Optional[_Union[GraphPoint, _Mapping]] = ..., distance: _Optional[int] = ..., memory: _Optional[_Union[Memory, _Mapping]] = ...) -> None: ...

class DreamRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class DreamResponse(_message.Message):
    __slots__ = ("progress", "dream")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    DREAM_FIELD_NUMBER: _ClassVar[int]
    progress: DreamProgress
    dream: DreamLogEntry
    def __init__(self, progress: _Optional[_Union[DreamProgress, _Mapping]] = ..., dream: _Optional[_Union[DreamLogEntry, _Mapping]] = ...) -> None: ...

class DreamProgress(_message.Message):
    __slots__ = ("dream_id", "waiting", "read_count", "cluster_count", "finished_cluster_count", "lesson_count")
    DREAM_ID_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    READ_COUNT_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_COUNT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_CLUSTER_COUNT_FIELD_NUMBER: _ClassVar[int]
    LESSON_COUNT_FIELD_NUMBER: _ClassVar[int]
    dream_id: str
    waiting: bool
    read_count: int
    cluster_count: int
    finished_cluster_count: int
    lesson_count: int
    def __init__(self, dream_id: _Optional[str] = ..., waiting: bool = ..., read_count: _Optional[int] = ..., cluster_count: _Optional[int] = ..., finished_cluster_count: _Optional[int] = ..., lesson_count: _Optional[int] = ...) -> None: ...

class DreamLogEntry(_message.Message):
    __slots__ = ("dream_id", "number", "start_time", "end_time", "status", "detail", "read_count", "left_count", "cluster_count", "known_cluster_count", "asked_count", "unsupported_count", "failed_count", "lessons", "usage")
    DREAM_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    READ_COUNT_FIELD_NUMBER: _ClassVar[int]
    LEFT_COUNT_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_COUNT_FIELD_NUMBER: _ClassVar[int]
    KNOWN_CLUSTER_COUNT_FIELD_NUMBER: _ClassVar[int]
    ASKED_COUNT_FIELD_NUMBER: _ClassVar[int]
    UNSUPPORTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    FAILED_COUNT_FIELD_NUMBER: _ClassVar[int]
    LESSONS_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    dream_id: str
    number: int
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    status: _common_pb2.ResultStatus
    detail: str
    read_count: int
    left_count: int
    cluster_count: int
    known_cluster_count: int
    asked_count: int
    unsupported_count: int
    failed_count: int
    lessons: _containers.RepeatedCompositeFieldContainer[DreamtLesson]
    usage: _common_pb2.Usage
    def __init__(self, dream_id: _Optional[str] = ..., number: _Optional[int] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., status: _Optional[_Union[_common_pb2.ResultStatus, str]] = ..., detail: _Optional[str] = ..., read_count: _Optional[int] = ..., left_count: _Optional[int] = ..., cluster_count: _Optional[int] = ..., known_cluster_count: _Optional[int] = ..., asked_count: _Optional[int] = ..., unsupported_count: _Optional[int] = ..., failed_count: _Optional[int] = ..., lessons: _Optional[_Iterable[_Union[DreamtLesson, _Mapping]]] = ..., usage: _Optional[_Union[_common_pb2.Usage, _Mapping]] = ...) -> None: ...

class DreamtLesson(_message.Message):
    __slots__ = ("reflection_id", "strategy_id", "supporting_memory_ids", "episode_count", "is_new")
    REFLECTION_ID_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_ID_FIELD_NUMBER: _ClassVar[int]
    SUPPORTING_MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    EPISODE_COUNT_FIELD_NUMBER: _ClassVar[int]
    IS_NEW_FIELD_NUMBER: _ClassVar[int]
    reflection_id: str
    strategy_id: str
    supporting_memory_ids: _containers.RepeatedScalarFieldContainer[str]
    episode_count: int
    is_new: bool
    def __init__(self, reflection_id: _Optional[str] = ..., strategy_id: _Optional[str] = ..., supporting_memory_ids: _Optional[_Iterable[str]] = ..., episode_count: _Optional[int] = ..., is_new: bool = ...) -> None: ...

class ListDreamsRequest(_message.Message):
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

class ListDreamsResponse(_message.Message):
    __slots__ = ("dreams", "next_page_token")
    DREAMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    dreams: _containers.RepeatedCompositeFieldContainer[DreamLogEntry]
    next_page_token: str
    def __init__(self, dreams: _Optional[_Iterable[_Union[DreamLogEntry, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListPruningsRequest(_message.Message):
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

class ListPruningsResponse(_message.Message):
    __slots__ = ("prunings", "next_page_token")
    PRUNINGS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    prunings: _containers.RepeatedCompositeFieldContainer[Pruning]
    next_page_token: str
    def __init__(self, prunings: _Optional[_Iterable[_Union[Pruning, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class Pruning(_message.Message):
    __slots__ = ("kind", "count", "prune_time", "before_time", "importance_below")
    KIND_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    PRUNE_TIME_FIELD_NUMBER: _ClassVar[int]
    BEFORE_TIME_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_BELOW_FIELD_NUMBER: _ClassVar[int]
    kind: PrunedKind
    count: int
    prune_time: _timestamp_pb2.Timestamp
    before_time: _timestamp_pb2.Timestamp
    importance_below: float
    def __init__(self, kind: _Optional[_Union[PrunedKind, str]] = ..., count: _Optional[int] = ..., prune_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., before_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., importance_below: _Optional[float] = ...) -> None: ...

class FindRecoveriesRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "tool", "error_text", "arguments", "turn_id", "session_id", "subject_ids", "has_shell")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ERROR_TEXT_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_IDS_FIELD_NUMBER: _ClassVar[int]
    HAS_SHELL_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    tool: str
    error_text: str
    arguments: str
    turn_id: str
    session_id: str
    subject_ids: _containers.RepeatedScalarFieldContainer[str]
    has_shell: bool
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., tool: _Optional[str] = ..., error_text: _Optional[str] = ..., arguments: _Optional[str] = ..., turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., subject_ids: _Optional[_Iterable[str]] = ..., has_shell: bool = ...) -> None: ...

class FindRecoveriesResponse(_message.Message):
    __slots__ = ("signature", "block")
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    signature: str
    block: _common_pb2.ContextBlock
    def __init__(self, signature: _Optional[str] = ..., block: _Optional[_Union[_common_pb2.ContextBlock, _Mapping]] = ...) -> None: ...

class ListReceiptsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "lesson_id", "turn_id", "from_time", "until_time", "page_size", "page_token")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    LESSON_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    FROM_TIME_FIELD_NUMBER: _ClassVar[int]
    UNTIL_TIME_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    lesson_id: str
    turn_id: str
    from_time: _timestamp_pb2.Timestamp
    until_time: _timestamp_pb2.Timestamp
    page_size: int
    page_token: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., lesson_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., from_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListReceiptsResponse(_message.Message):
    __slots__ = ("receipts", "next_page_token")
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    receipts: _containers.RepeatedCompositeFieldContainer[Receipt]
    next_page_token: str
    def __init__(self, receipts: _Optional[_Iterable[_Union[Receipt, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ("receipt_id", "time", "place", "turn_id", "session_id", "goal_id", "items", "turn_state", "turn_outcome", "silence", "omitted")
    RECEIPT_ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    TURN_STATE_FIELD_NUMBER: _ClassVar[int]
    TURN_OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SILENCE_FIELD_NUMBER: _ClassVar[int]
    OMITTED_FIELD_NUMBER: _ClassVar[int]
    receipt_id: str
    time: _timestamp_pb2.Timestamp
    place: ReceiptPlace
    turn_id: str
    session_id: str
    goal_id: str
    items: _containers.RepeatedCompositeFieldContainer[ReceiptItem]
    turn_state: _thinking_pb2.TurnState
    turn_outcome: _common_pb2.TaskOutcome
    silence: _thinking_pb2.SilenceReason
    omitted: _containers.RepeatedCompositeFieldContainer[_common_pb2.OmittedItem]
    def __init__(self, receipt_id: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., place: _Optional[_Union[ReceiptPlace, str]] = ..., turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., goal_id: _Optional[str] = ..., items: _Optional[_Iterable[_Union[ReceiptItem, _Mapping]]] = ..., turn_state: _Optional[_Union[_thinking_pb2.TurnState, str]] = ..., turn_outcome: _Optional[_Union[_common_pb2.TaskOutcome, str]] = ..., silence: _Optional[_Union[_thinking_pb2.SilenceReason, str]] = ..., omitted: _Optional[_Iterable[_Union[_common_pb2.OmittedItem, _Mapping]]] = ...) -> None: ...

class ReceiptItem(_message.Message):
    __slots__ = ("id", "version", "kind", "is_held_back", "succeeded", "error_returned", "score", "fit", "matched_words", "held_back_reason")
    ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    IS_HELD_BACK_FIELD_NUMBER: _ClassVar[int]
    SUCCEEDED_FIELD_NUMBER: _ClassVar[int]
    ERROR_RETURNED_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    FIT_FIELD_NUMBER: _ClassVar[int]
    MATCHED_WORDS_FIELD_NUMBER: _ClassVar[int]
    HELD_BACK_REASON_FIELD_NUMBER: _ClassVar[int]
    id: str
    version: int
    kind: str
    is_held_back: bool
    succeeded: bool
    error_returned: bool
    score: float
    fit: LessonFit
    matched_words: _containers.RepeatedScalarFieldContainer[str]
    held_back_reason: HeldBackReason
    def __init__(self, id: _Optional[str] = ..., version: _Optional[int] = ..., kind: _Optional[str] = ..., is_held_back: bool = ..., succeeded: bool = ..., error_returned: bool = ..., score: _Optional[float] = ..., fit: _Optional[_Union[LessonFit, str]] = ..., matched_words: _Optional[_Iterable[str]] = ..., held_back_reason: _Optional[_Union[HeldBackReason, str]] = ...) -> None: ...

class ListRecoveriesRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "signature", "page_size", "page_token", "include_observations")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    signature: str
    page_size: int
    page_token: str
    include_observations: bool
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., signature: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., include_observations: bool = ...) -> None: ...

class ListRecoveriesResponse(_message.Message):
    __slots__ = ("signatures", "next_page_token")
    SIGNATURES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    signatures: _containers.RepeatedCompositeFieldContainer[SignatureRecoveries]
    next_page_token: str
    def __init__(self, signatures: _Optional[_Iterable[_Union[SignatureRecoveries, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SignatureRecoveries(_message.Message):
    __slots__ = ("signature", "observation_count", "last_time", "moves", "observations")
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_TIME_FIELD_NUMBER: _ClassVar[int]
    MOVES_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    signature: str
    observation_count: int
    last_time: _timestamp_pb2.Timestamp
    moves: _containers.RepeatedCompositeFieldContainer[RecoveryMove]
    observations: _containers.RepeatedCompositeFieldContainer[RecoveryObservation]
    def __init__(self, signature: _Optional[str] = ..., observation_count: _Optional[int] = ..., last_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., moves: _Optional[_Iterable[_Union[RecoveryMove, _Mapping]]] = ..., observations: _Optional[_Iterable[_Union[RecoveryObservation, _Mapping]]] = ...) -> None: ...

class RecoveryObservation(_message.Message):
    __slots__ = ("failure_event_id", "turn_id", "session_id", "time", "recovery_id", "worked", "advised_recovery_id", "followed", "shadow_recovery_id", "pause", "last_turn_id", "is_from_telemetry", "is_uncounted", "turn_failed")
    FAILURE_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_ID_FIELD_NUMBER: _ClassVar[int]
    WORKED_FIELD_NUMBER: _ClassVar[int]
    ADVISED_RECOVERY_ID_FIELD_NUMBER: _ClassVar[int]
    FOLLOWED_FIELD_NUMBER: _ClassVar[int]
    SHADOW_RECOVERY_ID_FIELD_NUMBER: _ClassVar[int]
    PAUSE_FIELD_NUMBER: _ClassVar[int]
    LAST_TURN_ID_FIELD_NUMBER: _ClassVar[int]
    IS_FROM_TELEMETRY_FIELD_NUMBER: _ClassVar[int]
    IS_UNCOUNTED_FIELD_NUMBER: _ClassVar[int]
    TURN_FAILED_FIELD_NUMBER: _ClassVar[int]
    failure_event_id: str
    turn_id: str
    session_id: str
    time: _timestamp_pb2.Timestamp
    recovery_id: str
    worked: bool
    advised_recovery_id: str
    followed: bool
    shadow_recovery_id: str
    pause: _duration_pb2.Duration
    last_turn_id: str
    is_from_telemetry: bool
    is_uncounted: bool
    turn_failed: bool
    def __init__(self, failure_event_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., recovery_id: _Optional[str] = ..., worked: bool = ..., advised_recovery_id: _Optional[str] = ..., followed: bool = ..., shadow_recovery_id: _Optional[str] = ..., pause: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., last_turn_id: _Optional[str] = ..., is_from_telemetry: bool = ..., is_uncounted: bool = ..., turn_failed: bool = ...) -> None: ...

class RecoveryMove(_message.Message):
    __slots__ = ("recovery_id", "kind", "steps", "tries", "worked", "advised_tries", "advised_worked", "lowest_rate", "is_told", "is_suspended", "reason", "sentence", "is_starter", "shown", "held_back", "lift", "interval", "shadow", "silence", "missed_gate", "interval_at_any_look", "kept_in_shadow", "form")
    RECOVERY_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    TRIES_FIELD_NUMBER: _ClassVar[int]
    WORKED_FIELD_NUMBER: _ClassVar[int]
    ADVISED_TRIES_FIELD_NUMBER: _ClassVar[int]
    ADVISED_WORKED_FIELD_NUMBER: _ClassVar[int]
    LOWEST_RATE_FIELD_NUMBER: _ClassVar[int]
    IS_TOLD_FIELD_NUMBER: _ClassVar[int]
    IS_SUSPENDED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    IS_STARTER_FIELD_NUMBER: _ClassVar[int]
    SHOWN_FIELD_NUMBER: _ClassVar[int]
    HELD_BACK_FIELD_NUMBER: _ClassVar[int]
    LIFT_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    SHADOW_FIELD_NUMBER: _ClassVar[int]
    SILENCE_FIELD_NUMBER: _ClassVar[int]
    MISSED_GATE_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_AT_ANY_LOOK_FIELD_NUMBER: _ClassVar[int]
    KEPT_IN_SHADOW_FIELD_NUMBER: _ClassVar[int]
    FORM_FIELD_NUMBER: _ClassVar[int]
    recovery_id: str
    kind: RecoveryMoveKind
    steps: _containers.RepeatedScalarFieldContainer[str]
    tries: int
    worked: int
    advised_tries: int
    advised_worked: int
    lowest_rate: float
    is_told: bool
    is_suspended: bool
    reason: str
    sentence: str
    is_starter: bool
    shown: LessonArm
    held_back: LessonArm
    lift: float
    interval: LiftInterval
    shadow: ShadowTally
    silence: _thinking_pb2.SilenceReason
    missed_gate: _thinking_pb2.MissedGate
    interval_at_any_look: LiftInterval
    kept_in_shadow: LessonArm
    form: str
    def __init__(self, recovery_id: _Optional[str] = ..., kind: _Optional[_Union[RecoveryMoveKind, str]] = ..., steps: _Optional[_Iterable[str]] = ..., tries: _Optional[int] = ..., worked: _Optional[int] = ..., advised_tries: _Optional[int] = ..., advised_worked: _Optional[int] = ..., lowest_rate: _Optional[float] = ..., is_told: bool = ..., is_suspended: bool = ..., reason: _Optional[str] = ..., sentence: _Optional[str] = ..., is_starter: bool = ..., shown: _Optional[_Union[LessonArm, _Mapping]] = ..., held_back: _Optional[_Union[LessonArm, _Mapping]] = ..., lift: _Optional[float] = ..., interval: _Optional[_Union[LiftInterval, _Mapping]] = ..., shadow: _Optional[_Union[ShadowTally, _Mapping]] = ..., silence: _Optional[_Union[_thinking_pb2.SilenceReason, str]] = ..., missed_gate: _Optional[_Union[_thinking_pb2.MissedGate, _Mapping]] = ..., interval_at_any_look: _Optional[_Union[LiftInterval, _Mapping]] = ..., kept_in_shadow: _Optional[_Union[LessonArm, _Mapping]] = ..., form: _Optional[str] = ...) -> None: ...

class ShadowTally(_message.Message):
    __slots__ = ("said_count", "followed_count", "followed_worked_count", "otherwise_worked_count", "token_count")
    SAID_COUNT_FIELD_NUMBER: _ClassVar[int]
    FOLLOWED_COUNT_FIELD_NUMBER: _ClassVar[int]
    FOLLOWED_WORKED_COUNT_FIELD_NUMBER: _ClassVar[int]
    OTHERWISE_WORKED_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    said_count: int
    followed_count: int
    followed_worked_count: int
    otherwise_worked_count: int
    token_count: int
    def __init__(self, said_count: _Optional[int] = ..., followed_count: _Optional[int] = ..., followed_worked_count: _Optional[int] = ..., otherwise_worked_count: _Optional[int] = ..., token_count: _Optional[int] = ...) -> None: ...
