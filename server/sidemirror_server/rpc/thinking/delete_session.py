"""DeleteSession: removes a session with its turns."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.vocabulary.ids import SessionId


async def delete_session(
    conductor: Conductor, request: pb.DeleteSessionRequest, call: Call
) -> pb.DeleteSessionResponse:
    await conductor.delete_session(call.scope, SessionId(request.session_id))
    return pb.DeleteSessionResponse()
