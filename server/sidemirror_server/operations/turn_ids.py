"""Finds the turn that a person names by its id, by the beginning or the end of it, or by its session, and the lesson
that is named by its id, the beginning of it or a part of its text. Used by `turns.py` and `turns_why.py`."""

import sys
from collections.abc import Iterator
from typing import Any

import grpc

from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.operations.shown import clock_time, in_short, plain
from sidemirror_server.operations.turn_entries import TIMEOUT_S

# How many of the newest turns are looked through for a part of an id; how many are named when several fit.
_MOST_TURNS, _MOST_NAMED = 10_000, 10
_PAGE = 1_000
# How many of the newest memories are looked through for the beginning of an id.
_MOST_MEMORIES = 5_000
# Among how many memories a text is looked for, and the longest id.
_MOST_HITS, _ID_CHARS = 100, 128


def turn_named(channel: grpc.Channel, name: str, scope: dict[str, Any]) -> str | None:
    """The id of the turn that is meant; None after saying on standard error what was looked up and what to do. Raises
    grpc.RpcError."""
    stub = ThinkingServiceStub(channel)
    try:
        return stub.GetTurn(pb.GetTurnRequest(turn_id=name, page_size=1, **scope), timeout=TIMEOUT_S).turn.turn_id
    except grpc.RpcError as error:
        # What no id can be, such as one that is too long, may still be a part of one, or of none.
        if error.code() not in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT):
            raise
    of_session = _listed(stub, pb.ListTurnsRequest(session_id=name, page_size=_MOST_NAMED, **scope))
    if of_session:
        _say(f"{plain(name)} is a session; name one of its turns:", of_session)
        return None
    looked_at, fitting = 0, list[pb.Turn]()
    request = pb.ListTurnsRequest(page_size=_PAGE, **scope)
    while looked_at < _MOST_TURNS:
        page = stub.ListTurns(request, timeout=TIMEOUT_S)
        looked_at += len(page.turns)
        fitting += [turn for turn in page.turns if turn.turn_id.startswith(name) or turn.turn_id.endswith(name)]
        request.page_token = page.next_page_token
        if not page.next_page_token:
            break
    if len(fitting) == 1:
        return fitting[0].turn_id
    if fitting:
        _say(f"{len(fitting)} turns begin or end with {plain(name)}; name more of the id:", fitting)
        return None
    told = f"no turn has the id {plain(name)}, none of the newest {looked_at:,} begins or ends with it"
    _say(f"{told}, and it is no session. `sidemirror turns list` shows the ids of turns; --scope names another project")
    return None


def _listed(stub: ThinkingServiceStub, request: pb.ListTurnsRequest) -> list[pb.Turn]:
    try:
        return list(stub.ListTurns(request, timeout=TIMEOUT_S).turns)
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.INVALID_ARGUMENT:
            raise
        return []


def _say(told: str, turns: list[pb.Turn] | None = None) -> None:
    print(f"sidemirror: {told}", file=sys.stderr)
    for turn in (turns or [])[:_MOST_NAMED]:
        print(f"  {plain(turn.turn_id)}  {clock_time(turn.start_time)}  {in_short(turn.task, 80)}", file=sys.stderr)


def lesson_named(
    stub: ReflectiveMemoryServiceStub, name: str, record: pb.GetTurnResponse | None, scope: dict[str, Any]
) -> str | None:
    """The id of the lesson or recovery that is meant by its id, the beginning of it, or a part of its text; None after
    saying on standard error what was looked up. `record`: the turn that it should have been shown in, if one is named.
    Raises grpc.RpcError."""
    wanted = " ".join(name.casefold().split())
    if " " not in name:  # it may be an id
        request = memory_pb.ListReceiptsRequest(lesson_id=name[:_ID_CHARS], page_size=1, **scope)
        if stub.ListReceipts(request, timeout=TIMEOUT_S).receipts or _is_memory(stub, name, scope):
            return name
    found = dict.fromkeys(_beginning_with(stub, name, record, scope), "")
    for one, text in _texts(stub, name, record, scope):
        if one in found or one.startswith(name) or wanted in " ".join(text.casefold().split()):
            found[one] = text
    if len(found) == 1:
        return next(iter(found))
    if not found and " " not in name:
        found = dict(_memories_beginning(stub, name, scope))
        if len(found) == 1:
            return next(iter(found))
    if not found:
        told = f"no lesson, and no recovery that was shown, has the id {plain(name)} or one that begins so"
        _say(f"{told}, and none was found with this in its text")
        return None
    _say(f"{len(found)} lessons have this in their text or begin their id so; name one by its id:")
    for one, text in list(found.items())[:_MOST_NAMED]:
        print(f"  {plain(one)}  {in_short(text, 120)}", file=sys.stderr)
    return None


def _is_memory(stub: ReflectiveMemoryServiceStub, name: str, scope: dict[str, Any]) -> bool:
    request = memory_pb.GetReflectionRequest(reflection_id=name[:_ID_CHARS], **scope)
    try:
        stub.GetReflection(request, timeout=TIMEOUT_S)
    except grpc.RpcError as error:
        if error.code() not in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT):
            raise
        return False
    return True


def _memories_beginning(
    stub: ReflectiveMemoryServiceStub, name: str, scope: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    """Ids and texts of the newest memories whose ids begin so, shown or not."""
    request, looked_at = memory_pb.ListReflectionsRequest(page_size=_PAGE, **scope), 0
    while looked_at < _MOST_MEMORIES:
        page = stub.ListReflections(request, timeout=TIMEOUT_S)
        looked_at += len(page.memories)
        yield from ((one.id, one.content) for one in page.memories if one.id.startswith(name))
        request.page_token = page.next_page_token
        if not page.next_page_token:
            return


def _beginning_with(
    stub: ReflectiveMemoryServiceStub, name: str, record: pb.GetTurnResponse | None, scope: dict[str, Any]
) -> Iterator[str]:
    """The ids that begin so, among what the turn and the newest receipts show or hold back."""
    of = () if record is None else (record.turn.turn_id,)
    for turn_id in (*of, ""):
        request = memory_pb.ListReceiptsRequest(turn_id=turn_id, page_size=_PAGE, **scope)
        for receipt in stub.ListReceipts(request, timeout=TIMEOUT_S).receipts:
            yield from (item.id for item in receipt.items if item.id.startswith(name))


def _texts(
    stub: ReflectiveMemoryServiceStub, name: str, record: pb.GetTurnResponse | None, scope: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    """Ids and texts among which a lesson may be: those that the turn's record has, those that fit the words, and what
    is told of recoveries."""
    for entry in () if record is None else record.entries:
        said = entry.directive
        for block in (said.turn_plan.context, said.advice.block, said.reflection.lessons):
            yield from ((item.id, item.text) for item in block.items)
    query = memory_pb.QueryReflectionsRequest(
        query_text=name, k=_MOST_HITS, min_importance=0, include_quarantined=True, include_retired=True, **scope
    )
    for hit in stub.QueryReflections(query, timeout=TIMEOUT_S).hits:
        yield hit.memory.id, hit.memory.content
    request = memory_pb.ListRecoveriesRequest(page_size=_PAGE, **scope)
    for known in stub.ListRecoveries(request, timeout=TIMEOUT_S).signatures:
        yield from ((move.recovery_id, move.sentence) for move in known.moves if move.sentence)
