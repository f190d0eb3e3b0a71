"""A turn with all its entries and critiques, asked for in pages. Used by `turns.py` and `turns_why.py`."""

from collections.abc import Iterator
from typing import Any

import grpc

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub

# How long one page may take.
TIMEOUT_S = 30.0
# The most entries of one page.
_PAGE = 1_000


def record_of(channel: grpc.Channel, turn_id: str, scope: dict[str, Any]) -> pb.GetTurnResponse:
    """A turn with all its entries in their order, its critiques, and what followed its failures. Raises
    grpc.RpcError."""
    pages = list(_pages(channel, pb.GetTurnRequest(turn_id=turn_id, page_size=_PAGE, **scope)))
    entries = [entry for page in pages for entry in page.entries]
    # Each page has what followed the failures of its own entries.
    follow_ups = {after.signature: after for page in reversed(pages) for after in reversed(page.follow_ups)}
    return pb.GetTurnResponse(
        turn=pages[0].turn,
        entries=entries,
        critiques=pages[0].critiques,
        follow_ups=reversed(follow_ups.values()),
    )


def _pages(channel: grpc.Channel, request: pb.GetTurnRequest) -> Iterator[pb.GetTurnResponse]:
    while True:
        page = ThinkingServiceStub(channel).GetTurn(request, timeout=TIMEOUT_S)
        yield page
        request.page_token = page.next_page_token
        if not page.next_page_token:
            return
