"""Converter for context blocks."""

from collections.abc import Sequence

from sidemirror.v1 import common_pb2 as pb
from sidemirror_server.rpc.wire.common import ORIGINS
from sidemirror_server.vocabulary.block import ContextBlock, Omitted


def block_to_wire(block: ContextBlock) -> pb.ContextBlock:
    """A block with its items and the omitted ones."""
    return pb.ContextBlock(
        text=block.text,
        receipt_id=block.receipt_id,
        token_count=block.token_count,
        items=[
            pb.ContextItem(
                id=item.id,
                version=item.version,
                kind=item.kind,
                text=item.text,
                score=item.score,
                origin=ORIGINS[item.origin],
            )
            for item in block.items
        ],
        omitted=omitted_to_wire(block.omitted),
    )


def omitted_to_wire(omitted: Sequence[Omitted]) -> list[pb.OmittedItem]:
    """What was left out, and why."""
    return [pb.OmittedItem(id=left.id, reason=left.reason) for left in omitted]
