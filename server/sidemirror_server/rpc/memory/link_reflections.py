"""LinkReflections: makes or removes an agent's links."""

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.kin.graph import MemoryGraph
from sidemirror_server.memory.kin.links import Link, check_link
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.memory.graph import LINK_NAMES, node_in
from sidemirror_server.vocabulary.errors import BadInput


async def link_reflections(
    graph: MemoryGraph, request: pb.LinkReflectionsRequest, call: Call
) -> pb.LinkReflectionsResponse:
    if not request.links:
        raise BadInput([("links", "required")])
    now_us = call.clock.now_us()
    links = tuple(_link_of(link, now_us, f"links[{at}]") for at, link in enumerate(request.links))
    changed = await (graph.unlink if request.remove else graph.link)(call.scope, links)
    return pb.LinkReflectionsResponse(changed_count=changed)


def _link_of(wire: pb.MemoryLink, now_us: int, place: str) -> Link:
    if wire.kind not in LINK_NAMES:
        raise BadInput([(f"{place}.kind", "required")])
    source, target = node_in(wire.source, f"{place}.source"), node_in(wire.target, f"{place}.target")
    link = Link(source.key, LINK_NAMES[wire.kind], target.key, now_us)
    check_link(link, place)
    return link
