"""ListTombstones: a page of a project's tombstones."""

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.vocabulary.errors import Disabled


async def list_tombstones(request: pb.ListTombstonesRequest, call: Call) -> pb.ListTombstonesResponse:
    raise Disabled(detail="this server does not erase yet")
