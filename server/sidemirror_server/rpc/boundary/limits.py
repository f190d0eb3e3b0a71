"""Checks requests against the table of limits (`limit_table.py`).

`checker_of(message type)` is called once for each request type; the checker returns a message's violations, field by
field. A text, number or list field without a rule raises NoRule when the server starts.
"""

import math
from collections.abc import Callable
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import Message

from sidemirror_server.rpc.boundary.limit_table import (
    BYTES,
    CLAMPED,
    LONG,
    LONGEST_TEXT_BYTES,
    OBJECT_BYTES,
    TABLE,
    Count,
    Id,
    IdList,
    Number,
    Required,
    Rule,
    Seconds,
    Text,
)

Violation = tuple[str, str]
Check = Callable[[Message, str, list[Violation]], None]
ValueCheck = Callable[[Any], str | None]

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
    """A function that returns the violations of a message of this type, an empty list if there are none. `text_bytes`:
    the server's limit of long texts, if it is lower than the contract's."""
    steps = _steps(cast("Descriptor", message_type.DESCRIPTOR), _Made(text_bytes))

    def violations(message: Message) -> list[Violation]:
        found: list[Violation] = []
        for step in steps:
            step(message, "", found)
        return found

    return violations


class _Made(dict[str, Check]):
    """A cache of checks by the message's full name, with the text limit that they share."""

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
    made[descriptor.full_name] = check = _all_of(_steps(descriptor, made))
    return check


def _steps(descriptor: Descriptor, made: _Made) -> tuple[Check, ...]:
    """The checks of a message's fields, in field order."""
    steps: list[Check] = [_sized(BYTES[descriptor.name])] if descriptor.name in BYTES else []
    texts: list[_Plain] = []  # text fields in a row share one check
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
    return tuple(steps)


# A text field: its name; the shortest and longest text, in characters, that surely passes; whether it must be
# printable; and the full check for all other texts.
_Plain = tuple[str, int, int, bool, Check]


def _plain(field: FieldDescriptor, made: _Made) -> _Plain | None:
    """The field in the form for `_texts`; None unless it is a single text without reserved ids or a test for blanks."""
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
    """Checks text fields together. Nearly all texts of events pass by their length alone, and a function call for each
    field would cost several times as much as that test."""

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
    """The check of a oneof's field that is known to be set."""
    plain = _plain(field, made)
    if plain is not None:
        return _texts((plain,))
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
        if isinstance(rule, IdList):
            return [_values(name, rule, _id(required=True, taken=()))]
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
    """The field's rule in the table; a lower limit of the server's own replaces the limit of a long text."""
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


def _repeated(name: str, rule: Count | IdList, element: Check | None) -> Check:
    def check(message: Message, prefix: str, found: list[Violation]) -> None:
        values = getattr(message, name)
        if len(values) > rule.most:
            found.append((prefix + name, f"at most {rule.most} elements"))
        elif element is not None:
            for index, value in enumerate(values):
                element(value, f"{prefix}{name}[{index}].", found)

    return check


def _values(name: str, rule: Count | IdList, value_check: ValueCheck) -> Check:
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

    def check(text: str) -> str | None:
        if not text:
            return wrong if required else None
        if text in taken:
            return f"{text} is taken"
        return None if len(text) <= _ID_CHARS and text.isprintable() else wrong

    return check


def _text(rule: Text) -> ValueCheck:
    def check(text: str) -> str | None:
        if rule.required and not text:
            return "required"
        if rule.not_blank and (not text or text.isspace()):
            return "required, and not of blanks only"
        if rule.chars is not None and len(text) > rule.chars:
            return f"at most {rule.chars} characters"
        # A character takes at most 4 bytes: short texts need no encoding.
        if rule.bytes is not None and len(text) * 4 > rule.bytes and len(text.encode()) > rule.bytes:
            return f"at most {rule.bytes} bytes of UTF-8"
        return None

    return check


def _number(low: float, high: float) -> ValueCheck:
    wrong = f"a number from {low:,} to {high:,}"

    def check(value: float) -> str | None:
        return None if low <= value <= high else wrong

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
    """Checks a google.protobuf.Struct: its size, and that its numbers are finite as in JSON."""
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
