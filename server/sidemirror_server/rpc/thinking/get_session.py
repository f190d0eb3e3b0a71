"""GetSession: a session as it is now."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.thinking.sessions import read_session, session_to_wire
from sidemirror_server.thinking.store import Sessions
from sidemirror_server.turns.conductor import Conductor


async def get_session(
    sessions: Sessions, conductor: Conductor, request: pb.GetSessionRequest, call: Call
) -> pb.GetSessionResponse:
    return pb.GetSessionResponse(
        session=session_to_wire(await read_session(sessions, conductor, call, request.session_id))
    )
