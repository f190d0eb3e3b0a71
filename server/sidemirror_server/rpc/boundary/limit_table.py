"""The limits of every request field: one table, stated in the proto's comments and enforced by `limits.py`."""

from msgspec import Struct


class Id(Struct, frozen=True):
    """1 to 128 printable characters, but none of the reserved ids in `taken`; may be empty unless `required`."""

    required: bool = False
    taken: tuple[str, ...] = ()


class Text(Struct, frozen=True):
    """At most `chars` characters and `bytes` bytes of UTF-8; `not_blank`: required, and not only white space."""

    chars: int | None = None
    bytes: int | None = None
    required: bool = False
    not_blank: bool = False


class Number(Struct, frozen=True):
    """From `low` to `high`, both included; never NaN."""

    low: float
    high: float


class Count(Struct, frozen=True):
    """At most `most` elements; elements that are texts have at most `chars` characters."""

    most: int
    chars: int | None = None


class IdList(Struct, frozen=True):
    """At most `most` ids, each of 1 to 128 printable characters."""

    most: int


class Seconds(Struct, frozen=True):
    """A duration from 0 to `high` seconds."""

    high: int


class Required(Struct, frozen=True):
    """The field, or one field of the oneof, must be set."""


Rule = Id | IdList | Text | Number | Count | Seconds | Required

# The limit of every long text in the contract (decision 005).
LONGEST_TEXT_BYTES = 256 * 1024
LONG = Text(bytes=LONGEST_TEXT_BYTES)
NAME = Text(chars=256)
TOKENS = Number(0, 1_000_000_000)
SCORE = Number(0, 1)
# A century at most, as in settings: stores can represent the resulting time.
DAYS = Number(0, 36_500)
MESSAGES = Count(100)
# A goal of this id would share its key in Redis with the list of recent goals (decision 028).
TAKEN_GOAL_IDS = ("recent_goals",)
GOAL = Id(required=True, taken=TAKEN_GOAL_IDS)
EVENTS = Count(1_000)

# Rules by "Message.field", else by "field". Times and enums have the rules of their type.
TABLE: dict[str, Rule] = {
    "tenant_id": Id(),
    "project_id": Id(),
    "request_id": Id(),
    "session_id": Id(),
    "turn_id": Id(),
    "event_id": Id(),
    "call_id": Id(),
    "page_token": Text(chars=1_024),
    "cursor": Text(chars=1_024),
    "page_size": Number(0, 2**31 - 1),
    "agent": NAME,
    "provider": NAME,
    "model": NAME,
    "task": LONG,
    "text": LONG,
    "content": LONG,
    "error": LONG,
    "detail": LONG,
    "base_prompt": LONG,
    "user_message": LONG,
    "arguments": LONG,
    "reflection": LONG,
    "suggested_action": LONG,
    "score": SCORE,
    "confidence": SCORE,
    "messages": MESSAGES,
    "tool_results": Count(100),
    "after_sequence": Number(0, 2**63 - 1),
    "input_tokens": TOKENS,
    "output_tokens": TOKENS,
    "ThinkingConfig.reflect_every": Number(0, 1_000_000),
    "TurnBudget.max_reflections": Number(0, 1_000),
    "TurnBudget.max_tokens": TOKENS,
    "TurnBudget.max_usd": Number(0, 1_000_000),
    "TurnBudget.time_limit": Seconds(7 * 24 * 3600),
    "ToolCalled.name": Text(chars=256, required=True),
    "ToolResult.name": NAME,
    "TurnEvent.kind": Required(),
    "ShouldReflectRequest.target": Required(),
    "EraseRequest.target": Required(),
    "EraseRequest.turn_id": Id(required=True),
    "EraseRequest.session_id": Id(required=True),
    "EraseRequest.subject_id": Id(required=True),
    "RunTurnRequest.events": EVENTS,
    "ReportEventsRequest.events": EVENTS,
    "ReportEventsRequest.wait": Seconds(60),
    "SessionNamed.session_id": Id(required=True),
    "GetTurnRequest.turn_id": Id(required=True),
    "GetReflectionPromptRequest.turn_id": Id(required=True),
    "ShouldReflectRequest.turn_id": Id(required=True),
    "ShouldReflectRequest.session_id": Id(required=True),
    "TurnResume.turn_id": Id(required=True),
    "GetSessionRequest.session_id": Id(required=True),
    "UpdateSessionRequest.session_id": Id(required=True),
    "DeleteSessionRequest.session_id": Id(required=True),
    "FieldMask.paths": Count(20),
    "response": LONG,
    "response_length": Number(0, 2**31 - 1),
    "compare_to": Id(),
    "critique_id": Id(),
    "ReviseRequest.max_revisions": Number(0, 3),
    "DebateRequest.critics": Number(0, 5),
    "DebateRequest.max_rounds": Number(0, 2),
    "EvaluateTraceRequest.events": EVENTS,
    "EvaluateTraceRequest.checklist": Count(50, chars=1_000),
    "ReportCritiqueOutcomeRequest.critique_id": Id(required=True),
    "reflection_id": Id(required=True),
    "related_memory_ids": Count(100, chars=128),
    "receipt_ids": Count(32, chars=128),
    "subject_ids": IdList(16),
    "source_event_ids": Count(100, chars=128),
    "tags": Count(32, chars=64),
    "error_categories": Count(32),
    "importance": SCORE,
    "min_importance": SCORE,
    "reason": Text(chars=1_000),
    "if_version": Number(0, 2**31 - 1),
    "SetPolicyRequest.if_version": Number(0, 2**63 - 1),
    "task_description": LONG,
    "task_goal": LONG,
    "query_text": LONG,
    "tool_name": NAME,
    "error_message": LONG,
    "GenerateReflectionRequest.events": EVENTS,
    "AppliesWhen.tools": Count(32, chars=256),
    "AppliesWhen.not_when": Text(chars=1_000),
    "ReflectionResult.reflection_text": Text(chars=16_000, not_blank=True),
    "ReflectionResult.strategy_text": Text(chars=16_000),
    "StoreReflectionRequest.result": Required(),
    "UpdateReflectionRequest.changes": Required(),
    "MemoryChanges.content": Text(chars=16_000),
    "ReviewReflectionRequest.reason": Text(chars=1_000, required=True),
    "QueryReflectionsRequest.k": Number(0, 1_000),
    "QueryReflectionsRequest.explain_ids": Count(20, chars=128),
    "BuildMemoryContextRequest.tools": Count(100, chars=256),
    "BuildMemoryContextRequest.max_items": Number(0, 20),
    "BuildMemoryContextRequest.max_tokens": Number(0, 1_000_000),
    "BuildMemoryContextRequest.holdout_fraction": Number(0, 0.9),
    "ReportOutcomeRequest.receipt_id": Id(required=True),
    "TaskErrors.failed_calls": Count(100),
    "reflection_ids": Count(100, chars=128),
    "ContextWish.tools": Count(100, chars=256),
    "ReflectionResult.error_signature": Text(chars=256),
    "GraphPoint.id": Text(chars=256, required=True),
    "MemoryLink.source": Required(),
    "MemoryLink.target": Required(),
    "LinkReflectionsRequest.links": Count(100),
    "ExploreGraphRequest.start": Count(20),
    "ExploreGraphRequest.depth": Number(0, 3),
    "ExploreGraphRequest.kinds": Count(6),
    "ExploreGraphRequest.max_nodes": Number(0, 1_000),
    "FindRecoveriesRequest.tool": NAME,
    "FindRecoveriesRequest.error_text": Text(bytes=256 * 1024, required=True),
    "ListRecoveriesRequest.signature": Text(chars=256),
    "ListReceiptsRequest.lesson_id": Id(),
    "ListTurnsRequest.outcomes": Count(6),
    "Usage.parameters": Count(100),
    "Usage.cost_usd": Number(0, 1_000_000_000),
    "Usage.latency": Seconds(7 * 24 * 3600),
    "ImportReflectionsRequest.lines": Count(1_000),
    "goal_id": Id(taken=TAKEN_GOAL_IDS),
    "report_id": Id(required=True),
    "objective": Text(bytes=256 * 1024, not_blank=True),
    "output_summary": LONG,
    "max_items": Number(0, 10),
    "RetentionPolicy.spend_days": DAYS,
    "RetentionPolicy.critique_days": DAYS,
    "RetentionPolicy.memory_days": DAYS,
    "RetentionPolicy.memory_importance": SCORE,
    "RetentionPolicy.memory_count": Number(0, 1_000_000_000),
    "RetentionPolicy.trace_days": DAYS,
    "Policy.caps": Count(20),
    "PolicyCap.purpose": NAME,
    "PolicyCap.tokens_per_day": Number(0, 1_000_000_000_000),
    "PolicyCap.usd_per_day": Number(0, 1_000_000),
    "AdvicePolicy.off": Count(3),
    "AdvicePolicy.silenced_ids": Count(100, chars=128),
    "SetPolicyRequest.policy": Required(),
    "GoalTask.name": NAME,
    "ReportGoalRequest.goal_id": GOAL,
    "ReportGoalRequest.tasks": Count(100),
    "GetGoalReflectionsRequest.goal_id": GOAL,
    "DeleteGoalReflectionsRequest.goal_id": GOAL,
}

# The largest size of a whole message on the wire. An answer holds at least one event, and must fit into the 4 MiB that
# gRPC's clients accept by default.
BYTES = {"TurnEvent": 1024 * 1024}

# The largest size of a JSON-like object on the wire.
OBJECT_BYTES = 64 * 1024

# Enums whose unknown numbers the converter clamps; those of others are refused (decision 002).
CLAMPED = {"ThinkLevel"}
