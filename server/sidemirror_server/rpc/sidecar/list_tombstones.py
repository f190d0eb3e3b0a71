"""ListTombstones: a page of a project's tombstones."""

import msgspec

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, size_of, token_for
from sidemirror_server.rpc.wire.common import timestamp
from sidemirror_server.trace.erasure import Erasures, Tombstone
from sidemirror_server.trace.sources import SourceKind


class TombstoneKey(msgspec.Struct, frozen=True):
    """A place in the list of tombstones, which is in the order of kinds and digests."""

    kind: SourceKind
    digest: bytes


async def list_tombstones(
    erasures: Erasures, request: pb.ListTombstonesRequest, call: Call
) -> pb.ListTombstonesResponse:
    size, query = size_of(request.page_size, 50), (call.scope, "tombstones")
    place = place_in(request.page_token, TombstoneKey, "page_token", *query)
    after = Tombstone(place.kind, place.digest, 0) if place else None
    found = await erasures.tombstones(call.scope, after, size + 1)
    last = found[size - 1] if len(found) > size else None
    return pb.ListTombstonesResponse(
        tombstones=[
            pb.Tombstone(kind=one.kind.value, digest=one.digest.hex(), erase_time=timestamp(one.erased_us))
            for one in found[:size]
        ],
        next_page_token=token_for(TombstoneKey(last.kind, last.digest), *query) if last else "",
    )
