"""What is known of a lesson that a turn was not shown. Used by `turns_why.py`."""

from collections.abc import Iterator
from typing import Any

import grpc

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import thinking_pb2
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.operations.lesson_sources import author_of
from sidemirror_server.operations.shown import clock_time, in_short, name_of
from sidemirror_server.operations.shown_texts import held_because, review_command
from sidemirror_server.operations.turn_entries import TIMEOUT_S

# The most versions of a lesson that are looked through; among how many memories the task may find it.
_MOST_VERSIONS, _MOST_HITS = 1_000, 100


def not_shown(
    stub: ReflectiveMemoryServiceStub, record: thinking_pb2.GetTurnResponse, lesson_id: str, scope: dict[str, Any]
) -> Iterator[str]:
    """What the turn's record says of the lesson, its state when the turn began, and whether the task finds it today.
    Nothing of a recovery. Raises grpc.RpcError."""
    for entry in record.entries:
        said = entry.directive
        for block in (said.turn_plan.context, said.advice.block, said.reflection.lessons):
            yield from (f"  left out then: {in_short(one.reason)}" for one in block.omitted if one.id == lesson_id)
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
