"""Reads sessions, and converts them to messages."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.recorded_turns import given_a_moment
from sidemirror_server.rpc.thinking.directives import reflection_to_wire
from sidemirror_server.rpc.wire.common import timestamp
from sidemirror_server.rpc.wire.config import config_to_wire
from sidemirror_server.thinking.sessions import config_in
from sidemirror_server.thinking.store import SessionRecord, Sessions
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.head import head_in
from sidemirror_server.vocabulary.errors import NotFound
from sidemirror_server.vocabulary.ids import SessionId


async def read_session(sessions: Sessions, conductor: Conductor, call: Call, session_id: str) -> SessionRecord:
    """The session, after a short wait for entries that its turns have just recorded. Raises NotFound."""
    await given_a_moment(conductor.settle_session(call.scope, SessionId(session_id)))
    record = await sessions.get(call.scope, SessionId(session_id))
    if record is None:
        raise NotFound("session", session_id)
    return record


def session_to_wire(record: SessionRecord) -> pb.Session:
    """A session, its configuration and its last reflection."""
    carried = head_in(record.newest_head).carried if record.newest_head else None
    reflection = carried.last_reflection if carried else None
    return pb.Session(
        session_id=record.session_id,
        config=config_to_wire(config_in(record.body)),
        turn_count=record.turn_count,
        last_reflection=None if reflection is None else reflection_to_wire(reflection),
        create_time=timestamp(record.created_us),
        update_time=timestamp(record.updated_us),
        subject_ids=record.subject_ids,
    )
