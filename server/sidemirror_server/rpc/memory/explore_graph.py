"""ExploreGraph: the nodes and links around a memory, a tool, an error or a name."""

import asyncio

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.kin.graph import Explored, Explorer, Reached
from sidemirror_server.memory.kin.links import Link, node_of
from sidemirror_server.memory.record import LinkKind
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import fitting
from sidemirror_server.rpc.memory.graph import LINK_NAMES, LINKS, NODES, node_in
from sidemirror_server.rpc.memory.memories import memory_to_wire
from sidemirror_server.rpc.wire.common import timestamp
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.scope import Scope

_DEFAULT_DEPTH, _DEFAULT_NODES = 2, 100
# A message holds 4 MiB: nodes that do not fit are left out, the farthest first.
_ANSWER_BYTES = 3 * 1024 * 1024


async def explore_graph(explorer: Explorer, request: pb.ExploreGraphRequest, call: Call) -> pb.ExploreGraphResponse:
    if not request.start:
        raise BadInput([("start", "required")])
    kinds = tuple(dict.fromkeys(LINK_NAMES[kind] for kind in request.kinds if kind)) or tuple(LinkKind)
    start = [node_in(point, f"start[{at}]") for at, point in enumerate(request.start)]
    depth, most = request.depth or _DEFAULT_DEPTH, request.max_nodes or _DEFAULT_NODES
    explored = await explorer.explore(call.scope, start, depth, kinds, most)
    return await asyncio.to_thread(_explored_to_wire, explored, call.scope)


def _point(key: str) -> pb.GraphPoint:
    node = node_of(key)
    return pb.GraphPoint(kind=NODES[node.kind], id=node.name)


def _explored_to_wire(explored: Explored, scope: Scope) -> pb.ExploreGraphResponse:
    """The nodes that fit into a message, the nearest first, with the links between them."""
    nodes = fitting((_node(one, scope) for one in explored.nodes), pb.GraphNode.ByteSize, _ANSWER_BYTES, at_least=0)
    shown = {reached.node.key for reached in explored.nodes[: len(nodes)]}
    between = [link for link in explored.links if link.source in shown and link.target in shown]
    room_bytes = _ANSWER_BYTES + _ANSWER_BYTES // 4 - sum(map(pb.GraphNode.ByteSize, nodes))
    links = fitting(map(_link, between), pb.MemoryLink.ByteSize, room_bytes, at_least=0)
    is_cut = len(nodes) < len(explored.nodes) or len(links) < len(between)
    return pb.ExploreGraphResponse(nodes=nodes, links=links, truncated=explored.truncated or is_cut)


def _node(reached: Reached, scope: Scope) -> pb.GraphNode:
    memory = None if reached.memory is None else memory_to_wire(reached.memory, scope)
    return pb.GraphNode(point=_point(reached.node.key), distance=reached.distance, memory=memory)


def _link(link: Link) -> pb.MemoryLink:
    ends = {"source": _point(link.source), "target": _point(link.target)}
    return pb.MemoryLink(**ends, kind=LINKS[link.kind], create_time=timestamp(link.created_us))
