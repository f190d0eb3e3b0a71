"""`sidemirror watch`: shows turns and the sidecar's directives live.

Called by `cli.py`. Follows WatchTurns, and resumes at its cursor when the connection breaks, so that no entry is lost.
Ends with Ctrl-C, when its output is closed, with the summary of the one turn that it shows, or at the present, if it
follows nothing.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable

import grpc
from google.protobuf.json_format import MessageToDict

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1 import thinking_pb2_grpc as pb_grpc
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.loop import run
from sidemirror_server.operations.shown import plain, timestamp_of
from sidemirror_server.operations.target import Unreachable, address_of, dial, is_answer, reason_of, scope_of
from sidemirror_server.operations.watch_lines import Timeline

# The first pause after a break. Chosen here: a restarted sidecar is back within a second.
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 2.0
# A stream that is silent for longer than two heartbeats (20 s each) is broken.
_SILENCE_S = 45.0
# Entries are in the order in which they came, and their times are those of the agents: the watch of one turn begins so
# long before it. Chosen here: more than clocks on one machine differ.
_BEFORE_US = 60_000_000
# A running sidecar answers within milliseconds whether it knows a session.
_LOOK_S = 5.0
_BROKEN = (
    *(grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED),
    # Too many streams, or this one has lasted too long. A retry can succeed.
    grpc.StatusCode.RESOURCE_EXHAUSTED,
)

Say = Callable[[str], None]


def watch(options: argparse.Namespace) -> int:
    """Shows entries until it is interrupted. It ends by itself only if the sidecar refuses, or cannot be reached at
    first. Returns the exit code."""
    since = None if options.since is None else timestamp_of(options.since)
    # Of one turn all is shown: it may have ended already.
    new_only = not (options.all_from_start or since or options.turn or options.no_follow)
    request = pb.WatchTurnsRequest(
        session_id=options.session,
        new_only=new_only,
        from_time=since,
        follow=not options.no_follow,
        **scope_of(options),
    )
    return run(_watch(address_of(options.address), request, options.turn, as_json=options.json))


async def _watch(address: str, request: pb.WatchTurnsRequest, turn_id: str, *, as_json: bool) -> int:
    show = _as_json if as_json else _timeline()
    try:
        unknown = ""
        if turn_id and not await _begins_with(address, request, turn_id):
            unknown = f"nothing is recorded of turn {plain(turn_id)}"
        elif request.session_id and not await _is_known(address, request):
            unknown = f"nothing is recorded of session {request.session_id!r}"
        if unknown and not request.follow:
            _tell(unknown)
            return exit_codes.FAILED
        if unknown:
            _tell(f"{unknown} so far; waiting for it")
        entries = follow(address, request, _tell) if request.follow else _recorded(address, request)
        async for entry in entries:
            if turn_id and entry.turn_id != turn_id:
                continue
            show(entry)
            if turn_id and entry.directive.HasField("turn_summary"):
                return 0
    except Unreachable as error:
        _tell(str(error))
        return exit_codes.UNAVAILABLE
    except grpc.aio.AioRpcError as error:
        _tell(f"{address} refuses: {error.code().name}: {plain(error.details() or '')}")
        return exit_codes.FAILED
    return 0


async def _begins_with(address: str, request: pb.WatchTurnsRequest, turn_id: str) -> bool:
    """Makes the watch that of the turn's session, from a little before the turn began; False if the turn is not known.
    Raises Unreachable, AioRpcError."""
    asked = pb.GetTurnRequest(tenant_id=request.tenant_id, project_id=request.project_id, turn_id=turn_id, page_size=1)
    async with dial(address) as channel:
        try:
            turn = (await pb_grpc.ThinkingServiceStub(channel).GetTurn(asked, timeout=_LOOK_S)).turn
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                raise
            request.new_only = request.follow
            return False
    request.session_id = turn.session_id
    if not request.HasField("from_time"):
        request.from_time.FromMicroseconds(max(0, turn.start_time.ToMicroseconds() - _BEFORE_US))
    return True


async def _is_known(address: str, request: pb.WatchTurnsRequest) -> bool:
    """Whether the session is known; True if that cannot be determined. Raises Unreachable."""
    asked = pb.ListTurnsRequest(
        tenant_id=request.tenant_id, project_id=request.project_id, session_id=request.session_id, page_size=1
    )
    async with dial(address) as channel:
        try:
            found = await pb_grpc.ThinkingServiceStub(channel).ListTurns(asked, timeout=_LOOK_S)
        except grpc.aio.AioRpcError:
            return True  # the watch will report the error
    return bool(found.turns)


async def follow(address: str, request: pb.WatchTurnsRequest, tell: Say) -> AsyncIterator[pb.TurnEntry]:
    """All entries from the cursor in `request`, each once, over as many connections as needed. Updates the cursor in
    `request`. Calls `tell` after a break.

    Raises Unreachable if the first connection fails, AioRpcError if the sidecar refuses.
    """
    reached, outage, pause_s = False, _Outage(address, tell), _FIRST_PAUSE_S
    while True:
        why = _lost(address)
        try:
            async with dial(address) as channel:
                reached = True
                async for entry in _entries(channel, request, tell):
                    outage.over()
                    pause_s = _FIRST_PAUSE_S
                    if entry.sequence:
                        yield entry
        except Unreachable:
            if not reached:
                raise
        except grpc.aio.AioRpcError as error:
            if error.code() not in _BROKEN:
                raise
            why = _lost(address, error)
        except TimeoutError:
            tell(f"{address} has said nothing for {_SILENCE_S:g} s")
        outage.goes_on(why)
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


class _Outage:
    """Says why nothing is heard, whenever the reason changes, and that something is heard again."""

    def __init__(self, address: str, tell: Say) -> None:
        self._address = address
        self._tell = tell
        self._told = ""

    def goes_on(self, why: str) -> None:
        if self._told != why:
            self._tell(f"{why}; trying again")
        self._told = why

    def over(self) -> None:
        if self._told:
            self._tell(f"{self._address} answers again")
        self._told = ""


async def _recorded(address: str, request: pb.WatchTurnsRequest) -> AsyncIterator[pb.TurnEntry]:
    """The entries that are there now. Raises Unreachable, AioRpcError."""
    async with dial(address) as channel:
        async for entry in _entries(channel, request, _tell):
            if entry.sequence:
                yield entry


def _lost(address: str, error: grpc.RpcError | None = None) -> str:
    """Why a stream has ended: what the sidecar answered, if it did. A store that is away is told from a connection that
    is lost."""
    if error is not None and is_answer(error):
        if reason_of(error) == "STORE_UNAVAILABLE":
            return f"the sidecar at {address} answers, but not its store: {error.details()}"
        return f"{address}: {error.code().name}: {error.details()}"
    return f"the connection to {address} is lost"


async def _entries(channel: grpc.aio.Channel, request: pb.WatchTurnsRequest, tell: Say) -> AsyncIterator[pb.TurnEntry]:
    """The messages of one stream, including heartbeats. Calls `tell` for a gap. Raises TimeoutError after a silence."""
    stream = pb_grpc.ThinkingServiceStub(channel).WatchTurns(request)
    try:
        while True:
            async with asyncio.timeout(_SILENCE_S):
                response = await stream.read()
            if not isinstance(response, pb.WatchTurnsResponse):
                return
            if response.entry.directive.HasField("gap"):
                tell(f"there is a gap: {response.entry.directive.gap.reason}")
            request.cursor, request.new_only = response.entry.cursor, False
            request.ClearField("from_time")  # which only begins a watch
            yield response.entry
    finally:
        stream.cancel()


def _timeline() -> Callable[[pb.TurnEntry], None]:
    from rich.console import Console

    console = Console(highlight=False)
    timeline = Timeline()
    cut = console.is_terminal  # files and pipes get whole lines

    def show(entry: pb.TurnEntry) -> None:
        line = timeline.line(entry)
        if cut:
            console.print(line, overflow="ellipsis", no_wrap=True)
        else:
            console.print(line, soft_wrap=True)
        console.file.flush()

    return show


def _as_json(entry: pb.TurnEntry) -> None:
    told = MessageToDict(entry, preserving_proto_field_name=True)
    told["sequence"] = entry.sequence  # protobuf's JSON writes 64-bit integers as strings
    print(json.dumps(told), flush=True)


def _tell(text: str) -> None:
    print(f"sidemirror: {plain(text)}", file=sys.stderr, flush=True)
