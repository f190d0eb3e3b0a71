"""ExploreGraph: the nodes and links around a memory, a tool, an error or a name."""

import asyncio

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.kin.graph import Explored, Explorer
from sidemirror_server.memory.kin.links import node_of
from sidemirror_server.memory.record import LinkKind
from sidemirror_server.rpc.boundary.call import Call
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
    response = pb.ExploreGraphResponse(truncated=explored.truncated)
    room = _ANSWER_BYTES
    shown: set[str] = set()
    for reached in explored.nodes:
        memory = None if reached.memory is None else memory_to_wire(reached.memory, scope)
        wire = pb.GraphNode(point=_point(reached.node.key), distance=reached.distance, memory=memory)
        room -= wire.ByteSize()
        if room < 0:
            response.truncated = True
            break
        response.nodes.append(wire)
        shown.add(reached.node.key)
    for link in explored.links:
        if link.source not in shown or link.target not in shown:
            continue
        told = pb.MemoryLink(
            source=_point(link.source),
            target=_point(link.target),
            kind=LINKS[link.kind],
            create_time=timestamp(link.created_us),
        )
        room -= told.ByteSize()
        if room < -(_ANSWER_BYTES // 4):
            response.truncated = True
            break
        response.links.append(told)
    return response
