"""Lessons that a turn taught, and those in quarantine that are about it. Used by `turn_silences.py`. The console says
the same: `console/src/taught.tsx`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import grpc
import msgspec

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import thinking_pb2
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.operations.shown import in_short, scope_option
from sidemirror_server.operations.shown_texts import FIRST_CHARS, held_because, review_command
from sidemirror_server.operations.turn_entries import TIMEOUT_S
from sidemirror_server.rpc.wire.common import name_of

# How many of the newest lessons are looked through, in quarantine and in any state; how many are told at a call.
_MOST, _MOST_TOLD = 200, 3
_CORRECTION = "correction"
# The contract cuts Turn.task to 1,000 characters.
_TASK_CHARS = 1_000


class NewestLessons(msgspec.Struct, frozen=True):
    """The newest lessons of a project. `held`: those in quarantine. `scope`: by which the project was named."""

    scope: Mapping[str, str]
    held: Sequence[pb.Memory] = ()
    all: Sequence[pb.Memory] = ()


def newest_lessons(channel: grpc.Channel, scope: dict[str, Any]) -> NewestLessons:
    """Asks for them; none where reflective memory is turned off. Raises grpc.RpcError."""
    stub = ReflectiveMemoryServiceStub(channel)
    request = pb.ListReflectionsRequest(page_size=_MOST, **scope)
    in_quarantine = pb.ListReflectionsRequest(page_size=_MOST, state=pb.MEMORY_STATE_QUARANTINED, **scope)
    try:
        held, every = (stub.ListReflections(one, timeout=TIMEOUT_S).memories for one in (in_quarantine, request))
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.UNIMPLEMENTED:
            raise
        return NewestLessons(scope)
    return NewestLessons(scope, held, every)


def held_about(newest: NewestLessons, tool: str, signature: str, at_us: int) -> Iterator[str]:
    """Lines for the lessons in quarantine that were there when a call of this tool failed in this way."""
    fits = [
        one
        for one in newest.held
        if one.create_time.ToMicroseconds() < at_us
        and ((signature and one.error_signature == signature) or tool in one.applies_when.tools)
    ]
    for one in fits[:_MOST_TOLD]:
        yield f"  in quarantine, for this tool or failure: {_named(one)} ({_to_release(one, newest.scope)}"
    if len(fits) > _MOST_TOLD:
        lists = f"`sidemirror memory search --state quarantined{scope_option(newest.scope)}`"
        yield f"  and {len(fits) - _MOST_TOLD} more in quarantine; {lists}"


def lessons_around(newest: NewestLessons, turn: thinking_pb2.Turn) -> Iterator[str]:
    """Lines for what a turn taught, and for corrections of its task that waited for a person when it began."""
    known = {one.id: one for one in (*newest.held, *newest.all)}
    for one in known.values():
        if turn.turn_id in one.source_turn_ids:
            what = "a user's correction was kept" if is_correction(one) else "a lesson was learned from it"
            state = name_of(pb.MemoryState, one.state)
            held = f" ({_to_release(one, newest.scope)}" if one.state == pb.MEMORY_STATE_QUARANTINED else ""
            yield f"  {what}: {_named(one)}, {state}{held}"
    for one in newest.held:
        if one.quarantine == _CORRECTION and _waited(one, turn):
            what = "a user's correction of this task waits for a person, and was not told"
            yield f"  {what}: {_named(one)}; to release it: {review_command(one, newest.scope)}"


def is_correction(memory: pb.Memory) -> bool:
    """Whether a lesson was learned from a user who corrected the agent."""
    causes = memory.metadata.fields["learned_from"].list_value.values if "learned_from" in memory.metadata else ()
    return memory.quarantine == _CORRECTION or any(one.string_value == _CORRECTION for one in causes)


def _waited(memory: pb.Memory, turn: thinking_pb2.Turn) -> bool:
    task = memory.metadata.fields["task_description"].string_value if "task_description" in memory.metadata else ""
    is_earlier = memory.create_time.ToMicroseconds() < turn.start_time.ToMicroseconds()
    return is_earlier and bool(turn.task.strip()) and task[:_TASK_CHARS] == turn.task


def _named(memory: pb.Memory) -> str:
    return f"{in_short(memory.id)} “{in_short(memory.content, FIRST_CHARS)}”"


def _to_release(memory: pb.Memory, scope: Mapping[str, str]) -> str:
    return f"{held_because(memory)}); to release it: {review_command(memory, scope)}"
