"""The contract and the server say the same: every RPC is served, every error has its row, every field its limit."""

import re
from collections.abc import AsyncIterator, Iterator
from functools import cache
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet, MethodOptions

from sidemirror.v1 import (
    critique_pb2,
    errors_pb2,
    goal_reflection_pb2,
    reflective_memory_pb2,
    sidecar_pb2,
    thinking_pb2,
)
from sidemirror_server.rpc.boundary import services
from sidemirror_server.rpc.boundary.limit_table import (
    CLAMPED,
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
from sidemirror_server.rpc.boundary.limits import NoRule, checker_of
from sidemirror_server.rpc.boundary.status import INTERNAL, row_of
from sidemirror_server.rpc.boundary.status import TABLE as ROWS
from sidemirror_server.vocabulary import errors
from tests.architecture.repository import checked, run_tool
from tests.architecture.tables import SERVED

SERVICES = [
    service
    for file in (
        *(thinking_pb2.DESCRIPTOR, critique_pb2.DESCRIPTOR),
        *(goal_reflection_pb2.DESCRIPTOR, reflective_memory_pb2.DESCRIPTOR),
        sidecar_pb2.DESCRIPTOR,
    )
    for service in file.services_by_name.values()
]
SIDECAR = next(service for service in SERVED if service.contract is services.SIDECAR)
METHODS = [method for service in SERVICES for method in service.methods]


def test_every_service_of_the_contract_is_served() -> None:
    assert {service.contract.full_name for service in SERVED} == {service.full_name for service in SERVICES}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_what_is_no_write_says_that_it_has_no_side_effects(method: Any) -> None:
    """A request with a request_id makes a write. The stream of an import has none: its ids make it repeatable."""
    is_write = "request_id" in method.input_type.fields_by_name or method.name == "ImportReflections"
    level = method.GetOptions().idempotency_level
    assert level == (MethodOptions.IDEMPOTENCY_UNKNOWN if is_write else MethodOptions.NO_SIDE_EFFECTS)


async def answers(request: Any, call: Any) -> AsyncIterator[Any]:
    for answer in (request, call):
        yield answer


@pytest.mark.parametrize(
    ("rpcs", "told"),
    [
        (
            {name: how for name, how in SIDECAR.rpcs.items() if name != "GetServerInfo"},
            "GetServerInfo is not served",
        ),
        ({**SIDECAR.rpcs, "GetServerInf": SIDECAR.rpcs["GetServerInfo"]}, "GetServerInf is not in the contract"),
        (
            {**SIDECAR.rpcs, "GetServerInfo": services.ServerStream(answers)},
            "GetServerInfo is served as ServerStream, and is Unary",
        ),
    ],
)
def test_a_table_that_is_not_the_contract_is_refused_at_start(rpcs: dict[str, services.Rpc], told: str) -> None:
    with pytest.raises(services.NotTheContract, match=rf"^sidemirror\.v1\.SidecarService: {told}$"):
        services.ServiceTable(SIDECAR.contract, **rpcs)


def test_a_name_that_is_given_twice_is_refused_at_start() -> None:
    with pytest.raises(TypeError, match="multiple values for keyword argument 'GetServerInfo'"):
        services.ServiceTable(SIDECAR.contract, GetServerInfo=SIDECAR.rpcs["GetServerInfo"], **SIDECAR.rpcs)


# --- errors

# These never reach a client: a lost lease is the worker's affair, and a model's failure becomes a status.
INSIDE = {errors.SidemirrorError, errors.LostClaim, errors.ModelFailed}
CLASSES = [
    value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.SidemirrorError)
]


def test_every_error_has_its_row() -> None:
    assert len(CLASSES) >= 15
    without = {kind for kind in CLASSES if not any(parent in ROWS for parent in kind.__mro__)}
    assert without == INSIDE


def test_every_reason_is_used() -> None:
    used = {row.reason for row in ROWS.values()} | {INTERNAL.reason}
    assert used == set(errors_pb2.ErrorReason.values()) - {errors_pb2.ERROR_REASON_UNSPECIFIED}
    assert len({row.reason for row in ROWS.values()}) == len(ROWS), "two errors that a client cannot tell apart"


def test_a_reasons_comment_begins_with_its_code() -> None:
    told = comments()
    for row in (*ROWS.values(), INTERNAL):
        name = errors_pb2.ErrorReason.Name(row.reason)
        assert told[f"ErrorReason.{name}"].startswith(f"{row.code.name}."), name


def test_what_is_not_in_the_table_is_internal() -> None:
    assert row_of(ValueError("a defect")) is INTERNAL


# --- limits


def fields_of(descriptor: Any, seen: set[str]) -> Iterator[Any]:
    """Every field that can come in with a message, nested ones included."""
    if descriptor.full_name in seen or descriptor.full_name.startswith("google."):
        return
    seen.add(descriptor.full_name)
    for field in descriptor.fields:
        yield field
        # Of a map only its size is limited.
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            yield from fields_of(field.message_type, seen)


SEEN: set[str] = set()
FIELDS = [field for method in METHODS for field in fields_of(method.input_type, SEEN)]
RULED = [field for field in FIELDS if field.is_repeated or (field.message_type is None and not field.enum_type)]
LIMITED = [field for field in RULED if field.is_repeated or field.cpp_type != field.CPPTYPE_BOOL]


def rule_of(field: Any) -> Rule | None:
    return TABLE.get(f"{field.containing_type.name}.{field.name}", TABLE.get(field.name))


@pytest.mark.parametrize("field", LIMITED, ids=lambda field: field.full_name.removeprefix("sidemirror.v1."))
def test_every_text_number_and_list_has_its_rule(field: Any) -> None:
    rule = rule_of(field)
    if field.is_repeated:
        assert isinstance(rule, Count | IdList)
    elif field.cpp_type == field.CPPTYPE_STRING:
        assert isinstance(rule, Id | Text)
        assert not isinstance(rule, Text) or rule.chars or rule.bytes
    else:
        assert isinstance(rule, Number)
        assert rule.low <= rule.high < float("inf")


def test_enough_fields_were_looked_at() -> None:
    assert len(LIMITED) > 80
    assert {field.enum_type.name for field in FIELDS if field.enum_type} >= CLAMPED == {"ThinkLevel"}


def test_no_rule_is_left_over() -> None:
    used = {f"{field.containing_type.name}.{field.name}" for field in FIELDS} | {field.name for field in FIELDS}
    used |= {
        f"{field.containing_type.name}.{field.containing_oneof.name}" for field in FIELDS if field.containing_oneof
    }
    assert set(TABLE) - used == {"FieldMask.paths"}


def test_a_field_without_a_rule_is_found_when_the_server_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TABLE, "base_prompt")
    with pytest.raises(NoRule, match=r"^StartTurnRequest\.base_prompt$"):
        checker_of(thinking_pb2.StartTurnRequest)


# --- what the comments say of the limits


@cache
def comments() -> dict[str, str]:
    """The comment of every field and enum value, in one line, by "Message.field" or "Enum.VALUE"."""
    image = checked(run_tool("buf", "build", "protos", "-o", "-"))
    found: dict[str, str] = {}
    for file in FileDescriptorSet.FromString(image).file:
        if file.package != "sidemirror.v1":
            continue
        at = {tuple(place.path): place.leading_comments for place in file.source_code_info.location}
        for number, message in enumerate(file.message_type):
            for index, field in enumerate(message.field):
                found[f"{message.name}.{field.name}"] = " ".join(at.get((4, number, 2, index), "").split())
        for number, enum in enumerate(file.enum_type):
            for index, value in enumerate(enum.value):
                found[f"{enum.name}.{value.name}"] = " ".join(at.get((5, number, 2, index), "").split())
    return found


# Their limit is in the comment of what they are: a token of ours, a page, a score from 0 to 1.
PLAIN = {"page_token", "cursor", "page_size", "score", "confidence", "after_sequence"}
SECONDS = {604_800: "7 days", 60: "60 seconds"}


def stated(field: Any, rule: Rule | None) -> str:
    """What the comment must say of a rule."""
    match rule:
        case Id(required=required):
            return r"1 to 128 printable characters" if required else r"(1 to|At most) 128 printable characters"
        case Text(chars=128 | 256 as chars):
            return rf"(At most|1 to) {chars} characters"
        case Text(chars=1_000 | 16_000 as chars):
            return rf"[Aa]t most {chars:,} characters"
        case Text(bytes=262_144):
            return r"At most 256 KiB"
        case Count(most=most):
            return rf"At most {most:,}( events| messages)?\."
        case IdList(most=most):
            return rf"At most {most:,}\. Each has 1 to 128 printable characters"
        case Number(low=low, high=high):
            return rf"{low:g} to {high:,}"
        case Seconds(high=high):
            return rf"[Uu]p to {SECONDS[high]}"
        case Required():
            return "Required"
    pytest.fail(f"{field.full_name}: {rule} is not known here")


def states_one(field: Any) -> bool:
    """A limit is stated where it holds: not at an arm or a message, but at the fields in it."""
    return field.is_repeated or field.message_type is None or isinstance(rule_of(field), Seconds)


@pytest.mark.parametrize(
    "field",
    [field for field in FIELDS if field.name not in PLAIN and rule_of(field) and states_one(field)],
    ids=lambda field: field.full_name.removeprefix("sidemirror.v1."),
)
def test_a_comment_states_the_limit(field: Any) -> None:
    comment = comments()[f"{field.containing_type.name}.{field.name}"]
    assert re.search(stated(field, rule_of(field)), comment), comment


def test_the_comments_are_those_of_the_same_contract() -> None:
    assert {f"{field.containing_type.name}.{field.name}" for field in FIELDS} <= comments().keys()
