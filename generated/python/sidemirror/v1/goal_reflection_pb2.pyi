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

class GoalState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GOAL_STATE_UNSPECIFIED: _ClassVar[GoalState]
    GOAL_STATE_COMPLETED: _ClassVar[GoalState]
    GOAL_STATE_FAILED: _ClassVar[GoalState]

class GoalReportState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GOAL_REPORT_STATE_UNSPECIFIED: _ClassVar[GoalReportState]
    GOAL_REPORT_STATE_QUEUED: _ClassVar[GoalReportState]
    GOAL_REPORT_STATE_RUNNING: _ClassVar[GoalReportState]
    GOAL_REPORT_STATE_RETRYING: _ClassVar[GoalReportState]
    GOAL_REPORT_STATE_DONE: _ClassVar[GoalReportState]
    GOAL_REPORT_STATE_DEAD: _ClassVar[GoalReportState]
GOAL_STATE_UNSPECIFIED: GoalState
GOAL_STATE_COMPLETED: GoalState
GOAL_STATE_FAILED: GoalState
GOAL_REPORT_STATE_UNSPECIFIED: GoalReportState
GOAL_REPORT_STATE_QUEUED: GoalReportState
GOAL_REPORT_STATE_RUNNING: GoalReportState
GOAL_REPORT_STATE_RETRYING: GoalReportState
GOAL_REPORT_STATE_DONE: GoalReportState
GOAL_REPORT_STATE_DEAD: GoalReportState

class GoalTask(_message.Message):
    __slots__ = ("name", "output_summary", "error")
    NAME_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_SUMMARY_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    name: str
    output_summary: str
    error: str
    def __init__(self, name: _Optional[str] = ..., output_summary: _Optional[str] = ..., error: _Optional[str] = ...) -> None: ...

class GoalReflection(_message.Message):
    __slots__ = ("id", "goal_id", "objective", "insight", "importance", "goal_state", "create_time", "origin")
    ID_FIELD_NUMBER: _ClassVar[int]
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    INSIGHT_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    GOAL_STATE_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    id: str
    goal_id: str
    objective: str
    insight: str
    importance: float
    goal_state: GoalState
    create_time: _timestamp_pb2.Timestamp
    origin: _common_pb2.Origin
    def __init__(self, id: _Optional[str] = ..., goal_id: _Optional[str] = ..., objective: _Optional[str] = ..., insight: _Optional[str] = ..., importance: _Optional[float] = ..., goal_state: _Optional[_Union[GoalState, str]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., origin: _Optional[_Union[_common_pb2.Origin, str]] = ...) -> None: ...

class GoalReport(_message.Message):
    __slots__ = ("report_id", "goal_id", "objective", "state", "report_state", "attempts", "last_error", "create_time", "update_time", "retry_time", "reflection", "turn_id")
    REPORT_ID_FIELD_NUMBER: _ClassVar[int]
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REPORT_STATE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    RETRY_TIME_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    report_id: str
    goal_id: str
    objective: str
    state: GoalState
    report_state: GoalReportState
    attempts: int
    last_error: str
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    retry_time: _timestamp_pb2.Timestamp
    reflection: GoalReflection
    turn_id: str
    def __init__(self, report_id: _Optional[str] = ..., goal_id: _Optional[str] = ..., objective: _Optional[str] = ..., state: _Optional[_Union[GoalState, str]] = ..., report_state: _Optional[_Union[GoalReportState, str]] = ..., attempts: _Optional[int] = ..., last_error: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., retry_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reflection: _Optional[_Union[GoalReflection, _Mapping]] = ..., turn_id: _Optional[str] = ...) -> None: ...

class ReportGoalRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "goal_id", "objective", "state", "tasks", "error", "subject_ids", "turn_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_IDS_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    goal_id: str
    objective: str
    state: GoalState
    tasks: _containers.RepeatedCompositeFieldContainer[GoalTask]
    error: str
    subject_ids: _containers.RepeatedScalarFieldContainer[str]
    turn_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., goal_id: _Optional[str] = ..., objective: _Optional[str] = ..., state: _Optional[_Union[GoalState, str]] = ..., tasks: _Optional[_Iterable[_Union[GoalTask, _Mapping]]] = ..., error: _Optional[str] = ..., subject_ids: _Optional[_Iterable[str]] = ..., turn_id: _Optional[str] = ...) -> None: ...

class ReportGoalResponse(_message.Message):
    __slots__ = ("report_id", "report_state")
    REPORT_ID_FIELD_NUMBER: _ClassVar[int]
    REPORT_STATE_FIELD_NUMBER: _ClassVar[int]
    report_id: str
    report_state: GoalReportState
    def __init__(self, report_id: _Optional[str] = ..., report_state: _Optional[_Union[GoalReportState, str]] = ...) -> None: ...

class ListGoalReportsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "report_state", "page_size", "page_token", "goal_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REPORT_STATE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    report_state: GoalReportState
    page_size: int
    page_token: str
    goal_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., report_state: _Optional[_Union[GoalReportState, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., goal_id: _Optional[str] = ...) -> None: ...

class ListGoalReportsResponse(_message.Message):
    __slots__ = ("reports", "next_page_token")
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    reports: _containers.RepeatedCompositeFieldContainer[GoalReport]
    next_page_token: str
    def __init__(self, reports: _Optional[_Iterable[_Union[GoalReport, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class RetryGoalReportRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "report_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    REPORT_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    report_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., report_id: _Optional[str] = ...) -> None: ...

class RetryGoalReportResponse(_message.Message):
    __slots__ = ("report_state",)
    REPORT_STATE_FIELD_NUMBER: _ClassVar[int]
    report_state: GoalReportState
    def __init__(self, report_state: _Optional[_Union[GoalReportState, str]] = ...) -> None: ...

class GetGoalReflectionsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "goal_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    goal_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., goal_id: _Optional[str] = ...) -> None: ...

class GetGoalReflectionsResponse(_message.Message):
    __slots__ = ("reflections",)
    REFLECTIONS_FIELD_NUMBER: _ClassVar[int]
    reflections: _containers.RepeatedCompositeFieldContainer[GoalReflection]
    def __init__(self, reflections: _Optional[_Iterable[_Union[GoalReflection, _Mapping]]] = ...) -> None: ...

class ListRecentGoalsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ...) -> None: ...

class ListRecentGoalsResponse(_message.Message):
    __slots__ = ("goals",)
    GOALS_FIELD_NUMBER: _ClassVar[int]
    goals: _containers.RepeatedCompositeFieldContainer[RecentGoal]
    def __init__(self, goals: _Optional[_Iterable[_Union[RecentGoal, _Mapping]]] = ...) -> None: ...

class RecentGoal(_message.Message):
    __slots__ = ("goal_id", "objective", "reflections")
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    REFLECTIONS_FIELD_NUMBER: _ClassVar[int]
    goal_id: str
    objective: str
    reflections: _containers.RepeatedCompositeFieldContainer[GoalReflection]
    def __init__(self, goal_id: _Optional[str] = ..., objective: _Optional[str] = ..., reflections: _Optional[_Iterable[_Union[GoalReflection, _Mapping]]] = ...) -> None: ...

class DeleteGoalReflectionsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "goal_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    goal_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., goal_id: _Optional[str] = ...) -> None: ...

class DeleteGoalReflectionsResponse(_message.Message):
    __slots__ = ("deleted_count",)
    DELETED_COUNT_FIELD_NUMBER: _ClassVar[int]
    deleted_count: int
    def __init__(self, deleted_count: _Optional[int] = ...) -> None: ...

class BuildGoalContextRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "request_id", "goal_id", "task", "max_items")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    MAX_ITEMS_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    request_id: str
    goal_id: str
    task: str
    max_items: int
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., request_id: _Optional[str] = ..., goal_id: _Optional[str] = ..., task: _Optional[str] = ..., max_items: _Optional[int] = ...) -> None: ...

class BuildGoalContextResponse(_message.Message):
    __slots__ = ("block",)
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    block: _common_pb2.ContextBlock
    def __init__(self, block: _Optional[_Union[_common_pb2.ContextBlock, _Mapping]] = ...) -> None: ...

class WatchGoalReflectionsRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id", "goal_id", "cursor", "follow", "new_only")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    NEW_ONLY_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    goal_id: str
    cursor: str
    follow: bool
    new_only: bool
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., goal_id: _Optional[str] = ..., cursor: _Optional[str] = ..., follow: bool = ..., new_only: bool = ...) -> None: ...

class WatchGoalReflectionsResponse(_message.Message):
    __slots__ = ("cursor", "reflection", "heartbeat", "closing", "gap")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    CLOSING_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    reflection: GoalReflection
    heartbeat: _thinking_pb2.Heartbeat
    closing: _thinking_pb2.Closing
    gap: _thinking_pb2.Gap
    def __init__(self, cursor: _Optional[str] = ..., reflection: _Optional[_Union[GoalReflection, _Mapping]] = ..., heartbeat: _Optional[_Union[_thinking_pb2.Heartbeat, _Mapping]] = ..., closing: _Optional[_Union[_thinking_pb2.Closing, _Mapping]] = ..., gap: _Optional[_Union[_thinking_pb2.Gap, _Mapping]] = ...) -> None: ...
