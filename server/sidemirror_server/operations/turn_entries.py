"""A turn with all its entries, asked for in pages. Used by `turns.py` and `turns_why.py`."""

from collections.abc import Iterator
from typing import Any

import grpc

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub

# How long one page may take.
TIMEOUT_S = 30.0
# The most entries of one page.
_PAGE = 1_000


def entries_of(channel: grpc.Channel, turn_id: str, scope: dict[str, Any]) -> tuple[pb.Turn, list[pb.TurnEntry]]:
    """A turn, and all its entries in their order. Raises grpc.RpcError."""
    pages = list(_pages(channel, pb.GetTurnRequest(turn_id=turn_id, page_size=_PAGE, **scope)))
    return pages[0].turn, [entry for page in pages for entry in page.entries]


def _pages(channel: grpc.Channel, request: pb.GetTurnRequest) -> Iterator[pb.GetTurnResponse]:
    while True:
        page = ThinkingServiceStub(channel).GetTurn(request, timeout=TIMEOUT_S)
        yield page
        request.page_token = page.next_page_token
        if not page.next_page_token:
            return
