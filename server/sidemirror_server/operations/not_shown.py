"""What is known of a lesson that a turn was not shown. Used by `turns_why.py`."""

from collections.abc import Iterator, Sequence
from typing import Any

import grpc

from sidemirror.v1 import common_pb2, sidecar_pb2, thinking_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.operations.advice_history import about, advice_changes, shadow_then
from sidemirror_server.operations.lesson_sources import author_of
from sidemirror_server.operations.shown import clock_time, in_short
from sidemirror_server.operations.shown_texts import held_because, review_command
from sidemirror_server.operations.turn_entries import TIMEOUT_S
from sidemirror_server.operations.turned_off import is_off_at, rests_on
from sidemirror_server.rpc.wire.common import name_of

# The most versions of a lesson that are looked through; among how many memories the task may find it.
_MOST_VERSIONS, _MOST_HITS = 1_000, 100
_MOST_RECEIPTS = 1_000


def not_shown(
    channel: grpc.Channel, record: thinking_pb2.GetTurnResponse, lesson_id: str, scope: dict[str, Any]
) -> Iterator[str]:
    """What the turn's record says of the lesson, its state when the turn began, and whether the task finds it today.
    Nothing of a recovery. Raises grpc.RpcError."""
    stub = ReflectiveMemoryServiceStub(channel)
    yield from _left_out(stub, record, lesson_id, scope)
    request = pb.ListReflectionVersionsRequest(reflection_id=lesson_id, page_size=_MOST_VERSIONS, **scope)
    try:
        versions = stub.ListReflectionVersions(request, timeout=TIMEOUT_S).versions
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.NOT_FOUND:
            raise
        return
    began_us = record.turn.start_time.ToMicroseconds()
    before = [one for one in versions if one.update_time.ToMicroseconds() <= began_us]
    if not before:
        yield "  it did not exist yet when the turn began"
        return
    then = max(before, key=lambda one: one.version)
    why = f": {in_short(then.reason)}" if then.reason else ""
    state = name_of(pb.MemoryState, then.state)
    changed = f"{in_short(then.change)} at {clock_time(then.update_time)} by {author_of(then)}{why}"
    yield f"  when the turn began it was {state}, version {then.version} ({changed})"
    yield from _turned_off(advice_changes(channel, scope), then, began_us)
    last = max(versions, key=lambda one: one.version)
    if last.state != pb.MEMORY_STATE_ACTIVE:
        why = held_because(last) if last.quarantine else in_short(last.reason)
        command = review_command(last, scope)
        yield f"  today it is {name_of(pb.MemoryState, last.state)} ({why}); to change that: {command}"
    if record.turn.task.strip():
        query = pb.QueryReflectionsRequest(
            query_text=record.turn.task, k=_MOST_HITS, min_importance=0, explain=True, explain_ids=[lesson_id], **scope
        )
        found = stub.QueryReflections(query, timeout=TIMEOUT_S)
        for place, hit in enumerate(found.hits, start=1):
            if hit.memory.id == lesson_id:
                yield f"  today the task finds it in place {place} of {len(found.hits)}"
        yield from (
            f"  today the task does not find it: {in_short(one.reason)}" for one in found.misses if one.id == lesson_id
        )


def _left_out(
    stub: ReflectiveMemoryServiceStub, record: thinking_pb2.GetTurnResponse, lesson_id: str, scope: dict[str, Any]
) -> Iterator[str]:
    """That a block of the turn left the lesson out, also one that its agent asked for."""
    said = [entry.directive for entry in record.entries]
    blocks = [block for one in said for block in (one.turn_plan.context, one.advice.block, one.reflection.lessons)]
    left: list[tuple[str, Sequence[common_pb2.OmittedItem]]] = [("then", block.omitted) for block in blocks]
    request = pb.ListReceiptsRequest(turn_id=record.turn.turn_id, page_size=_MOST_RECEIPTS, **scope)
    receipts = stub.ListReceipts(request, timeout=TIMEOUT_S).receipts[::-1]
    left += [(f"when the agent asked, at {clock_time(one.time)}", one.omitted) for one in receipts]
    for when, omitted in left:
        yield from (f"  left out {when}: {in_short(one.reason)}" for one in omitted if one.id == lesson_id)


def _turned_off(changes: Sequence[sidecar_pb2.AdviceChange], lesson: pb.Memory, at_us: int) -> Iterator[str]:
    """What policies and the mode made of a lesson when a turn began. A policy holds everywhere after 10 s at most."""
    if is_off_at(changes, lesson, at_us):
        yield "  when the turn began a policy had turned it off, or what it rests on:"
        before = [one for one in changes if not one.mode and one.time.ToMicroseconds() <= at_us]
        lines = about(before, lesson.id, sidecar_pb2.ADVICE_KIND_LESSONS, rests_on=rests_on(lesson))
        yield from (f"    {line}" for line in lines)
    if shadow_then(changes, at_us):
        yield "  when the turn began the sidecar's setting was shadow mode, which tells nothing"
