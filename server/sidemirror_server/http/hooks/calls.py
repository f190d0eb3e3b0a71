"""The RPCs that hooks need, through the same handlers and boundary as every call over HTTP."""

from collections.abc import Mapping
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from sidemirror.v1 import common_pb2, sidecar_pb2, thinking_pb2
from sidemirror_server.http.context import Ended, HttpContext

A = TypeVar("A", bound=Message)

# Full names of the RPCs, as paths.
_THINKING, _SIDECAR = "/sidemirror.v1.ThinkingService", "/sidemirror.v1.SidecarService"

# The turn is not there, or it is over.
GONE = (grpc.StatusCode.NOT_FOUND.value[0], grpc.StatusCode.FAILED_PRECONDITION.value[0])
# There is such a turn.
TAKEN = grpc.StatusCode.ALREADY_EXISTS.value[0]
# What a page may hold of turns and of entries.
_PAGE = 1_000
# Somebody else may do it.
REFUSED = (grpc.StatusCode.PERMISSION_DENIED.value[0], grpc.StatusCode.UNAUTHENTICATED.value[0])


def block_of(directive: thinking_pb2.TurnDirective) -> common_pb2.ContextBlock:
    """The lessons and recoveries that a host is told with a directive: those of a plan, and advice."""
    return directive.turn_plan.context if directive.HasField("turn_plan") else directive.advice.block


class Calls:
    """The RPCs of one caller in one project; every call is made as if the caller had made it."""

    def __init__(self, handlers: Mapping[str, Any], context: HttpContext, project_id: str) -> None:
        """`handlers`: gRPC's, by path."""
        self._handlers = handlers
        self._context = context
        self._project_id = project_id

    async def start_turn(self, request: thinking_pb2.StartTurnRequest) -> thinking_pb2.StartTurnResponse:
        """StartTurn. Raises Ended, as the others do."""
        return await self._call(f"{_THINKING}/StartTurn", request, thinking_pb2.StartTurnResponse)

    async def report_events(self, request: thinking_pb2.ReportEventsRequest) -> thinking_pb2.ReportEventsResponse:
        """ReportEvents."""
        return await self._call(f"{_THINKING}/ReportEvents", request, thinking_pb2.ReportEventsResponse)

    async def finish_turn(self, request: thinking_pb2.FinishTurnRequest) -> bool:
        """FinishTurn. False if there is no such open turn."""
        try:
            await self._call(f"{_THINKING}/FinishTurn", request, thinking_pb2.FinishTurnResponse)
        except Ended as ended:
            if ended.status.code not in GONE:
                raise
            return False
        return True

    async def newest_turn(self, session_id: str) -> thinking_pb2.Turn | None:
        """The session's newest turn, open or not; None if it has none."""
        request = thinking_pb2.ListTurnsRequest(session_id=session_id, page_size=1)
        page = await self._call(f"{_THINKING}/ListTurns", request, thinking_pb2.ListTurnsResponse)
        return page.turns[0] if page.turns else None

    async def stores_answer(self) -> bool:
        """Whether every store of the sidecar answers, and takes what is written."""
        path, request = f"{_SIDECAR}/GetServerInfo", sidecar_pb2.GetServerInfoRequest()
        told = await self._call(path, request, sidecar_pb2.GetServerInfoResponse)
        return all(store.available for store in told.stores)

    async def told_last(self, session_id: str) -> tuple[str, ...]:
        """The ids of the lessons and recoveries in the block that the session was given last; empty if it had none."""
        request = thinking_pb2.ListTurnsRequest(session_id=session_id, page_size=_PAGE)
        newest_first = (await self._call(f"{_THINKING}/ListTurns", request, thinking_pb2.ListTurnsResponse)).turns
        for turn in newest_first:
            if turn.lesson_count and (told := await self._told_in(turn.turn_id)):
                return told
        return ()

    async def _told_in(self, turn_id: str) -> tuple[str, ...]:
        last: tuple[str, ...] = ()
        request = thinking_pb2.GetTurnRequest(turn_id=turn_id, page_size=_PAGE)
        while True:
            page = await self._call(f"{_THINKING}/GetTurn", request, thinking_pb2.GetTurnResponse)
            for directive in (entry.directive for entry in page.entries):
                items = () if directive.is_shadow else block_of(directive).items
                last = tuple(item.id for item in items) or last
            if not page.next_page_token:
                return last
            request.page_token = page.next_page_token

    async def change_advice(self, *, off: bool | None = None, silenced: tuple[str, ...] = ()) -> None:
        """Turns all advice of the project off or on, if `off` says so, and silences these ids."""
        stored = (
            await self._call(f"{_SIDECAR}/GetPolicy", sidecar_pb2.GetPolicyRequest(), sidecar_pb2.GetPolicyResponse)
        ).project
        advice = stored.policy.advice
        if off is not None:
            kinds = [kind for kind in advice.off if kind != sidecar_pb2.ADVICE_KIND_ALL]
            del advice.off[:]
            advice.off.extend([sidecar_pb2.ADVICE_KIND_ALL] if off else kinds)
        advice.silenced_ids.extend(one for one in silenced if one not in advice.silenced_ids)
        request = sidecar_pb2.SetPolicyRequest(
            level=sidecar_pb2.POLICY_LEVEL_PROJECT, policy=stored.policy, if_version=stored.version
        )
        await self._call(f"{_SIDECAR}/SetPolicy", request, sidecar_pb2.SetPolicyResponse)

    async def _call(self, path: str, request: Any, answer: type[A]) -> A:
        request.project_id = self._project_id
        raw = await self._handlers[path].unary_unary(request.SerializeToString(), self._context)
        return answer.FromString(raw)
