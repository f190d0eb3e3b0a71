"""What every field of a request may hold: one table, enforced in one place, and stated in the proto's comments.

`checker_of(message type)` is made once for each request type and returns the violations of a message, field by field. A
field of text, number or list without a rule is a defect of this table, found when the server is built.
"""

import math
from collections.abc import Callable
from typing import cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import Message
from msgspec import Struct

Violation = tuple[str, str]
Check = Callable[[Message, str, list[Violation]], None]
ValueCheck = Callable[[object], str | None]


class Id(Struct, frozen=True):
    """1 to 128 printable characters, or empty where `required` is not said; none of `taken`."""

    required: bool = False
    taken: tuple[str, ...] = ()


class Text(Struct, frozen=True):
    """At most `chars` characters and `bytes` bytes of UTF-8; `not_blank`: required, and not of blanks only."""

    chars: int | None = None
    bytes: int | None = None
    required: bool = False
    not_blank: bool = False


class Number(Struct, frozen=True):
    """From `low` to `high`, both included; never NaN."""

    low: float
    high: float


class Count(Struct, frozen=True):
    """At most `most` elements; those that are texts have at most `chars` characters."""

    most: int
    chars: int | None = None


class Seconds(Struct, frozen=True):
    """A duration from 0 to `high` seconds."""

    high: int


class Required(Struct, frozen=True):
    """The field, or one arm of the oneof, must be there."""


Rule = Id | Text | Number | Count | Seconds | Required

# Design section 11: event text 256 KiB. Every long text of the contract.
LONGEST_TEXT_BYTES = 256 * 1024
LONG = Text(bytes=LONGEST_TEXT_BYTES)
NAME = Text(chars=256)
TOKENS = Number(0, 1_000_000_000)
SCORE = Number(0, 1)
MESSAGES = Count(100)
# Design section 7: the seed's list of recent goals has the key that this goal's reflections would have.
TAKEN_GOAL_IDS = ("recent_goals",)
GOAL = Id(required=True, taken=TAKEN_GOAL_IDS)
EVENTS = Count(1_000)

# By "Message.field", else by "field"; times and enums follow their type.
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
    "RunTurnRequest.events": EVENTS,
    "ReportEventsRequest.events": EVENTS,
    "ReportEventsRequest.turn_id": Id(required=True),
    "ReportEventsRequest.wait": Seconds(60),
    "FinishTurnRequest.turn_id": Id(required=True),
    "GetTurnRequest.turn_id": Id(required=True),
    "ReflectRequest.turn_id": Id(required=True),
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
    "source_event_ids": Count(100, chars=128),
    "tags": Count(32, chars=64),
    "error_categories": Count(32),
    "importance": SCORE,
    "min_importance": SCORE,
    "reason": Text(chars=1_000),
    "if_version": Number(0, 2**31 - 1),
    "task_description": LONG,
    "task_goal": LONG,
    "query_text": LONG,
    "tool_name": NAME,
    "error_message": LONG,
    "GenerateReflectionRequest.events": EVENTS,
    "AppliesWhen.tools": Count(32, chars=256),
    "AppliesWhen.not_when": Text(chars=1_000),
    "ReflectionResult.reflection_text": Text(chars=16_000, required=True),
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
    "Usage.parameters": Count(100),
    "Usage.cost_usd": Number(0, 1_000_000_000),
    "Usage.latency": Seconds(7 * 24 * 3600),
    "ImportReflectionsRequest.lines": Count(1_000),
    "goal_id": Id(taken=TAKEN_GOAL_IDS),
    "report_id": Id(required=True),
    "objective": Text(bytes=256 * 1024, not_blank=True),
    "output_summary": LONG,
    "max_items": Number(0, 10),
    "GoalTask.name": NAME,
    "ReportGoalRequest.goal_id": GOAL,
    "ReportGoalRequest.tasks": Count(100),
    "GetGoalReflectionsRequest.goal_id": GOAL,
    "DeleteGoalReflectionsRequest.goal_id": GOAL,
}

# The most that a whole message takes on the wire. An answer holds at least one event, and has to fit into the 4 MiB
# that gRPC's clients take by default.
BYTES = {"TurnEvent": 1024 * 1024}

# The most that a JSON-like object takes on the wire.
OBJECT_BYTES = 64 * 1024

# Enums whose unknown numbers are not refused: the converter clamps them (design section 2).
CLAMPED = {"ThinkLevel"}

_ID_CHARS = 128
_LATEST_S = 253_402_300_799  # 9999-12-31T23:59:59Z, the end of google.protobuf.Timestamp
_BIG = (FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64)
_NUMBERS = (
    *_BIG,
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_DOUBLE,
    FieldDescriptor.CPPTYPE_FLOAT,
)


class NoRule(Exception):
    """A field of the contract has no row in the table of limits."""


def checker_of(
    message_type: type[Message], text_bytes: int = LONGEST_TEXT_BYTES
) -> Callable[[Message], list[Violation]]:
    """A function that returns what is wrong with a message of this type; an empty list when nothing is. `text_bytes`:
    what the server takes of a long text, where that is less than the contract allows."""
    check = _message(cast("Descriptor", message_type.DESCRIPTOR), _Made(text_bytes))

    def violations(message: Message) -> list[Violation]:
        found: list[Violation] = []
        check(message, "", found)
        return found

    return violations


class _Made(dict[str, Check]):
    """The checks that are made already, by the message's name, and what all of them are made with."""

    def __init__(self, text_bytes: int) -> None:
        super().__init__()
        self.text_bytes = text_bytes


def _message(descriptor: Descriptor, made: _Made) -> Check:
    if descriptor.full_name in made:
        return made[descriptor.full_name]
    if descriptor.full_name == "google.protobuf.Timestamp":
        return _timestamp
    if descriptor.full_name == "google.protobuf.Struct":
        return _object
    steps: list[Check] = [_sized(BYTES[descriptor.name])] if descriptor.name in BYTES else []
    texts: list[_Plain] = []  # those that follow each other are looked at together
    oneofs: set[str] = set()
    for field in descriptor.fields:
        oneof = field.containing_oneof
        is_alone = oneof is None or oneof.name.startswith("_")
        if is_alone and (plain := _plain(field, made)) is not None:
            texts.append(plain)
            continue
        if texts:
            steps.append(_texts(tuple(texts)))
            texts = []
        if is_alone:
            steps.extend(_field(field, made))
        elif oneof is not None and oneof.name not in oneofs:
            oneofs.add(oneof.name)
            steps.append(_oneof(oneof, made))
    if texts:
        steps.append(_texts(tuple(texts)))
    made[descriptor.full_name] = check = _all_of(tuple(steps))
    return check


# A field of text: its name; the shortest and the longest text, in characters, that is surely fine; whether it has to be
# printable; and the check of all others.
_Plain = tuple[str, int, int, bool, Check]


def _plain(field: FieldDescriptor, made: _Made) -> _Plain | None:
    """A field of text as `_texts` takes it; None for any other."""
    if field.is_repeated or field.cpp_type != FieldDescriptor.CPPTYPE_STRING:
        return None
    rule = _rule(field, made)
    value_check = _value(field, rule)
    if value_check is None:
        return None
    whole = _single(field.name, value_check)
    match rule:
        case Id(required=required, taken=()):
            return field.name, int(required), _ID_CHARS, True, whole
        case Text(chars=chars, bytes=size_bytes, required=required, not_blank=False):
            # A character takes at most 4 bytes.
            most = min(most for most in (chars, size_bytes and size_bytes // 4, 2**31) if most is not None)
            return field.name, int(required), most, False, whole
        case _:
            return None


def _texts(fields: tuple[_Plain, ...]) -> Check:
    """Fields of text at once. Events are mostly these, and nearly all of them are fine at a glance: a function's call
    for each would cost several times the glance."""

    def check(message: Message, prefix: str, found: list[Violation]) -> None:
        for name, least, most, printable, whole in fields:
            text: str = getattr(message, name)
            if not least <= len(text) <= most or (printable and not text.isprintable()):
                whole(message, prefix, found)

    return check


def _all_of(steps: tuple[Check, ...]) -> Check:
    if len(steps) == 1:
        return steps[0]

    def check(message: Message, prefix: str, found: list[Violation]) -> None:
        for step in steps:
            step(message, prefix, found)

    return check


def _sized(most: int) -> Check:
    def check(message: Message, prefix: str, found: list[Violation]) -> None:
        if message.ByteSize() > most:
            found.append((prefix.removesuffix("."), f"at most {most} bytes in all"))

    return check


def _oneof(oneof: OneofDescriptor, made: _Made) -> Check:
    arms = {field.name: _arm(field, made) for field in oneof.fields}
    required = isinstance(TABLE.get(f"{_owner(oneof)}.{oneof.name}"), Required)
    name = oneof.name

    def check(message: Message, prefix: str, found: list[Violation]) -> None:
        arm = message.WhichOneof(name)
        if arm is not None:
            arms[arm](message, prefix, found)
        elif required:
            found.append((prefix + name, f"one of {', '.join(arms)} is required"))

    return check


def _arm(field: FieldDescriptor, made: _Made) -> Check:
    """The check of an arm that is known to be set."""
    if field.message_type is None or isinstance(_rule(field, made), Required | Seconds):
        return _all_of(tuple(_field(field, made)))
    name, inner = field.name, _message(field.message_type, made)

    def check(message: Message, prefix: str, found: list[Violation]) -> None:
        inner(getattr(message, name), f"{prefix}{name}.", found)

    return check


def _field(field: FieldDescriptor, made: _Made) -> list[Check]:
    name = field.name
    rule = _rule(field, made)
    if field.is_repeated:
        if not isinstance(rule, Count):
            raise NoRule(f"{_owner(field)}.{name}")
        if field.cpp_type == FieldDescriptor.CPPTYPE_STRING and rule.chars is not None:
            return [_values(name, rule, _text(Text(chars=rule.chars)))]
        if field.enum_type is not None:
            return [_values(name, rule, _enum(field.enum_type))]
        return [_repeated(name, rule, _element(field, made))]
    if field.message_type is not None and not isinstance(rule, Seconds):
        nested = _nested(name, _message(field.message_type, made))
        return [nested, _there(name)] if isinstance(rule, Required) else [nested]
    value_check = _value(field, rule)
    return [_single(name, value_check)] if value_check else []


def _rule(field: FieldDescriptor, made: _Made) -> Rule | None:
    """The field's row of the table."""
    rule = TABLE.get(f"{_owner(field)}.{field.name}", TABLE.get(field.name))
    return Text(bytes=min(LONGEST_TEXT_BYTES, made.text_bytes)) if rule == LONG else rule


def _owner(part: FieldDescriptor | OneofDescriptor) -> str:
    return part.containing_type.name if part.containing_type is not None else ""


def _there(name: str) -> Check:
    def check(message: Message, prefix: str, found: list[Violation]) -> None:
        if not message.HasField(name):
            found.append((prefix + name, "required"))

    return check


def _element(field: FieldDescriptor, made: _Made) -> Check | None:
    if field.message_type is None or field.message_type.GetOptions().map_entry:
        return None
    return _message(field.message_type, made)


def _repeated(name: str, rule: Count, element: Check | None) -> Check:
    def check(message: Message, prefix: str, found: list[Violation]) -> None:
        values = getattr(message, name)
        if len(values) > rule.most:
            found.append((prefix + name, f"at most {rule.most} elements"))
        elif element is not None:
            for index, value in enumerate(values):
                element(value, f"{prefix}{name}[{index}].", found)

    return check


def _values(name: str, rule: Count, value_check: ValueCheck) -> Check:
    counted = _repeated(name, rule, None)

    def check(message: Message, prefix: str, found: list[Violation]) -> None:
        counted(message, prefix, found)
        for index, value in enumerate(getattr(message, name)):
            wrong = value_check(value)
            if wrong is not None:
                found.append((f"{prefix}{name}[{index}]", wrong))

    return check


def _nested(name: str, inner: Check) -> Check:
    def check(message: Message, prefix: str, found: list[Violation]) -> None:
        if message.HasField(name):
            inner(getattr(message, name), f"{prefix}{name}.", found)

    return check


def _single(name: str, value_check: ValueCheck) -> Check:
    def check(message: Message, prefix: str, found: list[Violation]) -> None:
        wrong = value_check(getattr(message, name))
        if wrong is not None:
            found.append((prefix + name, wrong))

    return check


def _value(field: FieldDescriptor, rule: Rule | None) -> ValueCheck | None:
    if field.enum_type is not None:
        return None if field.enum_type.name in CLAMPED else _enum(field.enum_type)
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return None
    match rule:
        case Id(required=required, taken=taken):
            return _id(required, taken)
        case Text():
            return _text(rule)
        case Number(low=low, high=high) if field.cpp_type in _NUMBERS:
            return _number(low, high)
        case Seconds(high=high):
            return _seconds(high)
        case _:
            raise NoRule(f"{_owner(field)}.{field.name}")


def _id(required: bool, taken: tuple[str, ...]) -> ValueCheck:
    wrong = "1 to 128 printable characters" + (", required" if required else "")

    def check(value: object) -> str | None:
        text = cast("str", value)
        if not text:
            return wrong if required else None
        if text in taken:
            return f"{text} is taken"
        return None if len(text) <= _ID_CHARS and text.isprintable() else wrong

    return check


def _text(rule: Text) -> ValueCheck:
    def check(value: object) -> str | None:
        text = cast("str", value)
        if rule.required and not text:
            return "required"
        if rule.not_blank and (not text or text.isspace()):
            return "required, and not of blanks only"
        if rule.chars is not None and len(text) > rule.chars:
            return f"at most {rule.chars} characters"
        # A character takes at most 4 bytes: short texts need no counting.
        if rule.bytes is not None and len(text) * 4 > rule.bytes and len(text.encode()) > rule.bytes:
            return f"at most {rule.bytes} bytes of UTF-8"
        return None

    return check


def _number(low: float, high: float) -> ValueCheck:
    wrong = f"a number from {low:,} to {high:,}"

    def check(value: object) -> str | None:
        return None if low <= cast("float", value) <= high else wrong

    return check


def _seconds(high: int) -> ValueCheck:
    wrong = f"a duration from 0 to {high:,} seconds"

    def check(value: object) -> str | None:
        seconds, nanos = value.seconds, value.nanos  # type: ignore[attr-defined]  # a google.protobuf.Duration
        inside = 0 <= seconds <= high and 0 <= nanos < 1_000_000_000 and not (seconds == high and nanos)
        return None if inside else wrong

    return check


def _enum(enum: EnumDescriptor) -> ValueCheck:
    known = frozenset(value.number for value in enum.values)
    wrong = f"a known number of {enum.name}"

    def check(value: object) -> str | None:
        return None if value in known else wrong

    return check


def _timestamp(message: Message, prefix: str, found: list[Violation]) -> None:
    seconds, nanos = message.seconds, message.nanos  # type: ignore[attr-defined]  # a google.protobuf.Timestamp
    if not (0 <= seconds <= _LATEST_S and 0 <= nanos < 1_000_000_000):
        found.append((prefix.removesuffix("."), "a time from 1970-01-01T00:00:00Z to 9999-12-31T23:59:59Z"))


def _object(message: Message, prefix: str, found: list[Violation]) -> None:
    """A google.protobuf.Struct: not too large, and nothing in it that JSON does not have."""
    if message.ByteSize() > OBJECT_BYTES:
        found.append((prefix.removesuffix("."), f"at most {OBJECT_BYTES} bytes in all"))
    elif not _is_finite(message):
        found.append((prefix.removesuffix("."), "numbers that are finite"))


def _is_finite(message: Message) -> bool:
    kind = message.DESCRIPTOR.name
    if kind == "Struct":
        return all(_is_finite(value) for value in message.fields.values())  # type: ignore[attr-defined]
    if kind == "ListValue":
        return all(_is_finite(value) for value in message.values)  # type: ignore[attr-defined]
    arm = message.WhichOneof("kind")
    if arm == "number_value":
        return math.isfinite(message.number_value)  # type: ignore[attr-defined]
    return _is_finite(getattr(message, arm)) if arm in ("struct_value", "list_value") else True
