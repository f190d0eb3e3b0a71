"""ListPrunings: a page of the log of prunings."""

from collections.abc import Sequence

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, size_of, token_for
from sidemirror_server.rpc.wire.common import numbers_of, timestamp
from sidemirror_server.trace.pruning import Pruned, PrunedKind, Pruning

_KINDS = numbers_of(PrunedKind, pb.PrunedKind)


async def list_prunings(pruning: Pruning, request: pb.ListPruningsRequest, call: Call) -> pb.ListPruningsResponse:
    size, query = size_of(request.page_size, 50), (call.scope, "prunings")
    before = place_in(request.page_token, int, "page_token", *query)
    found = await pruning.list(call.scope, before, size + 1)
    token = token_for(found[size - 1].number, *query) if len(found) > size else ""
    return pb.ListPruningsResponse(prunings=_prunings_to_wire(found[:size]), next_page_token=token)


def _prunings_to_wire(found: Sequence[Pruned]) -> list[pb.Pruning]:
    return [
        pb.Pruning(
            kind=_KINDS[pruned.kind],
            count=pruned.count,
            prune_time=timestamp(pruned.pruned_us),
            before_time=timestamp(pruned.before_us),
            importance_below=pruned.importance_below or 0.0,
        )
        for pruned in found
    ]
