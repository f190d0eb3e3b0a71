"""ListSessions: a page of a project's sessions."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, size_of, token_for
from sidemirror_server.rpc.thinking.sessions import session_to_wire
from sidemirror_server.thinking.store import SessionKey, Sessions


async def list_sessions(sessions: Sessions, request: pb.ListSessionsRequest, call: Call) -> pb.ListSessionsResponse:
    size = size_of(request.page_size, 50)
    query = (call.scope, "sessions")
    after = place_in(request.page_token, SessionKey, "page_token", *query)
    records = await sessions.list(call.scope, after, size + 1)
    more = records[size - 1] if len(records) > size else None
    return pb.ListSessionsResponse(
        sessions=[session_to_wire(record) for record in records[:size]],
        next_page_token=token_for(SessionKey(more.created_us, more.session_id), *query) if more else "",
    )
