"""The session calls of ThinkingService."""

import msgspec

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, size_of, token_for
from sidemirror_server.rpc.boundary.recent import given_a_moment
from sidemirror_server.rpc.thinking.directives import config_to_wire, reflection_to_wire
from sidemirror_server.rpc.wire.common import timestamp
from sidemirror_server.rpc.wire.events import wish_of
from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.thinking.plan import resolve
from sidemirror_server.thinking.sessions import config_body, config_in
from sidemirror_server.thinking.store import SessionKey, SessionRecord, Sessions
from sidemirror_server.trace.event import ThinkingWish
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.head import head_in
from sidemirror_server.vocabulary.errors import AlreadyExists, BadInput, NotFound
from sidemirror_server.vocabulary.ids import SessionId

_FIELDS = tuple(field.name for field in pb.ThinkingConfig.DESCRIPTOR.fields)


class SessionCalls:
    """Makes, shows, changes and deletes sessions."""

    def __init__(self, sessions: Sessions, conductor: Conductor) -> None:
        self._sessions = sessions
        self._conductor = conductor

    async def CreateSession(self, request: pb.CreateSessionRequest, call: Call) -> pb.CreateSessionResponse:
        now_us = call.clock.now_us()
        session_id = SessionId(call.make_id(request.session_id))
        config = resolve(wish_of(request.config), ThinkingConfig())
        record = SessionRecord(session_id, config_body(config), now_us, now_us)
        try:
            await self._sessions.create(call.scope, record)
        except AlreadyExists:
            # A request whose answer was lost in a crash makes the same session again.
            kept = await self._sessions.get(call.scope, session_id)
            if not call.request_id or request.session_id or kept is None:
                raise
            record = kept
        return pb.CreateSessionResponse(session=_to_wire(record))

    async def GetSession(self, request: pb.GetSessionRequest, call: Call) -> pb.GetSessionResponse:
        return pb.GetSessionResponse(session=_to_wire(await self._get(call, request.session_id)))

    async def UpdateSession(self, request: pb.UpdateSessionRequest, call: Call) -> pb.UpdateSessionResponse:
        record = await self._get(call, request.session_id)
        wish = _masked(wish_of(request.config), request)
        config = resolve(wish, config_in(record.body))
        await self._sessions.update(call.scope, record.session_id, config_body(config), call.clock.now_us())
        self._conductor.session_changed(call.scope, record.session_id, config)
        return pb.UpdateSessionResponse(session=_to_wire(await self._get(call, request.session_id)))

    async def ListSessions(self, request: pb.ListSessionsRequest, call: Call) -> pb.ListSessionsResponse:
        size = size_of(request.page_size, 50)
        query = (call.scope, "sessions")
        after = place_in(request.page_token, SessionKey, "page_token", *query)
        records = await self._sessions.list(call.scope, after, size + 1)
        more = records[size - 1] if len(records) > size else None
        return pb.ListSessionsResponse(
            sessions=[_to_wire(record) for record in records[:size]],
            next_page_token=token_for(SessionKey(more.created_us, more.session_id), *query) if more else "",
        )

    async def DeleteSession(self, request: pb.DeleteSessionRequest, call: Call) -> pb.DeleteSessionResponse:
        await self._conductor.delete_session(call.scope, SessionId(request.session_id))
        return pb.DeleteSessionResponse()

    async def _get(self, call: Call, session_id: str) -> SessionRecord:
        await given_a_moment(self._conductor.settle_session(call.scope, SessionId(session_id)))
        record = await self._sessions.get(call.scope, SessionId(session_id))
        if record is None:
            raise NotFound("session", session_id)
        return record


def _masked(wish: ThinkingWish, request: pb.UpdateSessionRequest) -> ThinkingWish:
    """What the request changes: without a mask every field that says something, with one the fields that it names,
    which then take their default where the request says nothing."""
    if not request.HasField("update_mask"):
        return wish
    named: set[str] = set()
    for index, path in enumerate(request.update_mask.paths):
        field = path.removeprefix("config.")
        if path == "config":
            named.update(_FIELDS)
        elif field != path and field in _FIELDS:
            named.add(field)
        else:
            raise BadInput([(f"update_mask.paths[{index}]", f"config, or config. and one of {', '.join(_FIELDS)}")])
    default = ThinkingConfig()
    values: dict[str, object] = {}
    for name in named:
        asked = getattr(wish, name)
        fallback = getattr(default, name)
        values[name] = asked if asked is not None else getattr(fallback, "value", fallback)
    return msgspec.structs.replace(ThinkingWish(), **values)


def _to_wire(record: SessionRecord) -> pb.Session:
    carried = head_in(record.newest_head).carried if record.newest_head else None
    reflection = carried.last_reflection if carried else None
    return pb.Session(
        session_id=record.session_id,
        config=config_to_wire(config_in(record.body)),
        turn_count=record.turn_count,
        last_reflection=None if reflection is None else reflection_to_wire(reflection),
        create_time=timestamp(record.created_us),
        update_time=timestamp(record.updated_us),
    )
