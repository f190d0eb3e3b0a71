"""CreateSession: creates a session with its configuration."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.thinking.sessions import session_to_wire
from sidemirror_server.rpc.wire.common import subjects_of
from sidemirror_server.rpc.wire.config import wish_of
from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.thinking.plan import resolve
from sidemirror_server.thinking.sessions import config_body
from sidemirror_server.thinking.store import SessionRecord, Sessions
from sidemirror_server.vocabulary.errors import AlreadyExists
from sidemirror_server.vocabulary.ids import SessionId


async def create_session(
    sessions: Sessions, default: ThinkingConfig, request: pb.CreateSessionRequest, call: Call
) -> pb.CreateSessionResponse:
    now_us = call.clock.now_us()
    session_id = SessionId(call.make_id(request.session_id))
    config = resolve(wish_of(request.config), default)
    subject_ids = subjects_of(request.subject_ids)
    record = SessionRecord(session_id, config_body(config), now_us, now_us, subject_ids=tuple(sorted(subject_ids)))
    try:
        await sessions.create(call.scope, record)
    except AlreadyExists:
        # A repeated request whose first answer was lost in a crash finds its own session.
        kept = await sessions.get(call.scope, session_id)
        if not call.request_id or request.session_id or kept is None:
            raise
        record = kept
    return pb.CreateSessionResponse(session=session_to_wire(record))
