"""A context block as a message has everything that the record has."""

from sidemirror.v1 import common_pb2 as pb
from sidemirror_server.rpc.wire.blocks import block_to_wire
from sidemirror_server.vocabulary.block import BlockItem, ContextBlock, Omitted
from sidemirror_server.vocabulary.origin import Origin


def test_a_block() -> None:
    item = BlockItem("i", 3, "goal_reflection", "prefer bullet lists", 0.8, Origin.TOOL)
    assert block_to_wire(ContextBlock("text", "r", 7, (item,), (Omitted("o", "no room"),))) == pb.ContextBlock(
        text="text",
        receipt_id="r",
        token_count=7,
        items=[
            pb.ContextItem(
                id="i", version=3, kind="goal_reflection", text="prefer bullet lists", score=0.8, origin=pb.ORIGIN_TOOL
            )
        ],
        omitted=[pb.OmittedItem(id="o", reason="no room")],
    )


def test_an_empty_block() -> None:
    assert block_to_wire(ContextBlock()) == pb.ContextBlock()
