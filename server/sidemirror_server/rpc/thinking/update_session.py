"""UpdateSession: changes the thinking configuration of a session's next turns."""

import msgspec

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.thinking.sessions import read_session, session_to_wire
from sidemirror_server.rpc.wire.config import wish_of
from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.thinking.plan import resolve
from sidemirror_server.thinking.sessions import config_body, config_in
from sidemirror_server.thinking.store import Sessions
from sidemirror_server.trace.event import ThinkingWish
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.ids import SessionId

_FIELDS = tuple(field.name for field in pb.ThinkingConfig.DESCRIPTOR.fields)


async def update_session(
    sessions: Sessions, conductor: Conductor, default: ThinkingConfig, request: pb.UpdateSessionRequest, call: Call
) -> pb.UpdateSessionResponse:
    async with conductor.changing(call.scope, SessionId(request.session_id)):
        record = await read_session(sessions, conductor, call, request.session_id)
        wish = _masked(wish_of(request.config), request, default)
        config = resolve(wish, config_in(record.body))
        await sessions.update(call.scope, record.session_id, config_body(config), call.clock.now_us())
        conductor.session_changed(call.scope, record.session_id, config)
    return pb.UpdateSessionResponse(
        session=session_to_wire(await read_session(sessions, conductor, call, request.session_id))
    )


def _masked(wish: ThinkingWish, request: pb.UpdateSessionRequest, default: ThinkingConfig) -> ThinkingWish:
    """The fields that the request changes: those that the mask names, or those that are set if there is no mask. A
    named field that is not set gets the value of `default`. Raises BadInput."""
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
    values: dict[str, object] = {}
    for name in named:
        asked = getattr(wish, name)
        fallback = getattr(default, name)
        values[name] = asked if asked is not None else getattr(fallback, "value", fallback)
    return msgspec.structs.replace(ThinkingWish(), **values)
