"""The calls of ReflectiveMemoryService about what belongs together: clusters, links and the graph."""

import asyncio
from typing import Any

import msgspec

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.clusters import Cluster, ClusterKind
from sidemirror_server.memory.graph import Explored, Explorer, MemoryGraph
from sidemirror_server.memory.grouping import Grouping
from sidemirror_server.memory.links import Link, Node, NodeKind, check_link, node_of
from sidemirror_server.memory.record import LinkKind
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, size_of, token_for
from sidemirror_server.rpc.memory.memories import memory_to_wire
from sidemirror_server.rpc.wire.common import timestamp
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.text import enter

_DEFAULT_DEPTH, _DEFAULT_NODES = 2, 100
# A message holds 4 MiB: memories that do not fit are left out of their nodes' place, the farthest first.
_ANSWER_BYTES = 3 * 1024 * 1024
_PAGE_BYTES = 2 * 1024 * 1024

_CLUSTERS: dict[ClusterKind, Any] = {kind: pb.ClusterKind.Value(f"CLUSTER_KIND_{kind.name}") for kind in ClusterKind}
_CLUSTER_NAMES = {number: kind for kind, number in _CLUSTERS.items()}
_LINKS: dict[LinkKind, Any] = {kind: pb.LinkKind.Value(f"LINK_KIND_{kind.name}") for kind in LinkKind}
_LINK_NAMES = {number: kind for kind, number in _LINKS.items()}
_NODES: dict[NodeKind, Any] = {
    NodeKind.MEMORY: pb.GRAPH_NODE_KIND_MEMORY,
    NodeKind.TOOL: pb.GRAPH_NODE_KIND_TOOL,
    NodeKind.CATEGORY: pb.GRAPH_NODE_KIND_ERROR_CATEGORY,
    NodeKind.SIGNATURE: pb.GRAPH_NODE_KIND_ERROR_SIGNATURE,
    NodeKind.NAME: pb.GRAPH_NODE_KIND_NAME,
}
_NODE_NAMES = {number: kind for kind, number in _NODES.items()}
_LONGEST_MEMORY_ID = 128


class ClusterPlace(msgspec.Struct, frozen=True):
    """A place in the order of clusters."""

    episodes: int
    importance: float
    created_us: int
    cluster_id: str


class MemoryGraphCalls:
    """What belongs together."""

    def __init__(self, grouping: Grouping, graph: MemoryGraph, explorer: Explorer) -> None:
        self._grouping = grouping
        self._graph = graph
        self._explorer = explorer

    async def ListClusters(self, request: pb.ListClustersRequest, call: Call) -> pb.ListClustersResponse:
        size = size_of(request.page_size, 50)
        query = (call.scope, "clusters", request.kind)
        after = place_in(request.page_token, ClusterPlace, "page_token", *query)
        kind = _CLUSTER_NAMES.get(request.kind)
        found = await self._grouping.clusters(call.scope, tuple(ClusterKind) if kind is None else (kind,))
        left = [one for one in found if after is None or _order(_place(one)) > _order(after)]
        shown, room = list[pb.MemoryCluster](), _PAGE_BYTES
        for one in left[:size]:
            wire = _cluster_to_wire(one)
            room -= wire.ByteSize()
            if shown and room < 0:
                break
            shown.append(wire)
        token = token_for(_place(left[len(shown) - 1]), *query) if len(shown) < len(left) else ""
        return pb.ListClustersResponse(clusters=shown, next_page_token=token)

    async def LinkReflections(self, request: pb.LinkReflectionsRequest, call: Call) -> pb.LinkReflectionsResponse:
        if not request.links:
            raise BadInput([("links", "required")])
        now_us = call.clock.now_us()
        links = tuple(_link_of(link, now_us, f"links[{at}]") for at, link in enumerate(request.links))
        changed = await (self._graph.unlink if request.remove else self._graph.link)(call.scope, links)
        return pb.LinkReflectionsResponse(changed_count=changed)

    async def ExploreGraph(self, request: pb.ExploreGraphRequest, call: Call) -> pb.ExploreGraphResponse:
        if not request.start:
            raise BadInput([("start", "required")])
        kinds = tuple(dict.fromkeys(_LINK_NAMES[kind] for kind in request.kinds if kind)) or tuple(LinkKind)
        start = [_node_of(point, f"start[{at}]") for at, point in enumerate(request.start)]
        depth, most = request.depth or _DEFAULT_DEPTH, request.max_nodes or _DEFAULT_NODES
        explored = await self._explorer.explore(call.scope, start, depth, kinds, most)
        return await asyncio.to_thread(_explored_to_wire, explored, call.scope)


def _node_of(point: pb.GraphPoint, place: str) -> Node:
    kind = _NODE_NAMES.get(point.kind, NodeKind.MEMORY)
    name = enter(point.id)
    if kind is NodeKind.MEMORY and len(name) > _LONGEST_MEMORY_ID:
        raise BadInput([(f"{place}.id", f"at most {_LONGEST_MEMORY_ID} characters for a memory")])
    return Node(kind, name.casefold() if kind is NodeKind.NAME else name)


def _link_of(wire: pb.MemoryLink, now_us: int, place: str) -> Link:
    if wire.kind not in _LINK_NAMES:
        raise BadInput([(f"{place}.kind", "required")])
    source, target = _node_of(wire.source, f"{place}.source"), _node_of(wire.target, f"{place}.target")
    link = Link(source.key, _LINK_NAMES[wire.kind], target.key, now_us)
    check_link(link, place)
    return link


def _place(cluster: Cluster) -> ClusterPlace:
    return ClusterPlace(len(cluster.episodes), cluster.importance, cluster.members[0].created_us, cluster.cluster_id)


def _order(place: ClusterPlace) -> tuple[int, float, int, str]:
    """As `clusters` orders them."""
    return -place.episodes, -place.importance, place.created_us, place.cluster_id


def _cluster_to_wire(cluster: Cluster) -> pb.MemoryCluster:
    return pb.MemoryCluster(
        id=cluster.cluster_id,
        kind=_CLUSTERS[cluster.kind],
        key=cluster.key,
        terms=cluster.terms,
        memory_ids=cluster.memory_ids,
        episode_count=len(cluster.episodes),
        importance=cluster.importance,
    )


def _point(key: str) -> pb.GraphPoint:
    node = node_of(key)
    return pb.GraphPoint(kind=_NODES[node.kind], id=node.name)


def _explored_to_wire(explored: Explored, scope: Scope) -> pb.ExploreGraphResponse:
    """What was reached, as far as there is room in a message: the nearest first."""
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
            kind=_LINKS[link.kind],
            create_time=timestamp(link.created_us),
        )
        room -= told.ByteSize()
        if room < -(_ANSWER_BYTES // 4):
            response.truncated = True
            break
        response.links.append(told)
    return response
