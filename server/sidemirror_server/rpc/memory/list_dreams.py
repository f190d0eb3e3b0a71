"""ListDreams: a page of the log of dreams."""

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.dreams.dreams import Dreams
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import fitting, place_in, size_of, token_for
from sidemirror_server.rpc.memory.dreams import dream_to_wire


async def list_dreams(dreams: Dreams, request: pb.ListDreamsRequest, call: Call) -> pb.ListDreamsResponse:
    size, query = size_of(request.page_size, 50), (call.scope, "dreams")
    before = place_in(request.page_token, int, "page_token", *query)
    found = await dreams.list(call.scope, before, size + 1)
    shown = fitting(map(dream_to_wire, found[:size]), pb.DreamLogEntry.ByteSize)
    token = token_for(shown[-1].number, *query) if len(shown) < len(found) else ""
    return pb.ListDreamsResponse(dreams=shown, next_page_token=token)
