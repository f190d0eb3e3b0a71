"""Erase: removes a turn, a session or a subject, with everything that was derived from it."""

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.vocabulary.errors import Disabled


async def erase(request: pb.EraseRequest, call: Call) -> pb.EraseResponse:
    raise Disabled(detail="this server does not erase yet")
