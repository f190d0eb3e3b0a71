"""Converters for the links and nodes of the graph."""

from typing import Any

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.kin.links import Node, NodeKind
from sidemirror_server.memory.record import LinkKind
from sidemirror_server.rpc.wire.common import numbers_of
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.text import enter

LINKS = numbers_of(LinkKind, pb.LinkKind)
LINK_NAMES = {number: kind for kind, number in LINKS.items()}
NODES: dict[NodeKind, Any] = {
    NodeKind.MEMORY: pb.GRAPH_NODE_KIND_MEMORY,
    NodeKind.TOOL: pb.GRAPH_NODE_KIND_TOOL,
    NodeKind.CATEGORY: pb.GRAPH_NODE_KIND_ERROR_CATEGORY,
    NodeKind.SIGNATURE: pb.GRAPH_NODE_KIND_ERROR_SIGNATURE,
    NodeKind.NAME: pb.GRAPH_NODE_KIND_NAME,
}
_NODE_NAMES = {number: kind for kind, number in NODES.items()}
_LONGEST_MEMORY_ID = 128


def node_in(point: pb.GraphPoint, place: str) -> Node:
    """The node of a request's point. `place`: the point's field, named in errors. Raises BadInput."""
    kind = _NODE_NAMES.get(point.kind, NodeKind.MEMORY)
    name = enter(point.id)
    if kind is NodeKind.MEMORY and len(name) > _LONGEST_MEMORY_ID:
        raise BadInput([(f"{place}.id", f"at most {_LONGEST_MEMORY_ID} characters for a memory")])
    return Node(kind, name.casefold() if kind is NodeKind.NAME else name)
