"""ListClusters: a page of clusters of memories."""

import msgspec

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.kin.clusters import Cluster, ClusterKind
from sidemirror_server.memory.kin.project_clusters import Grouping
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import fitting, place_in, size_of, token_for
from sidemirror_server.rpc.wire.common import numbers_of

_CLUSTERS = numbers_of(ClusterKind, pb.ClusterKind)
_CLUSTER_NAMES = {number: kind for kind, number in _CLUSTERS.items()}


class ClusterPlace(msgspec.Struct, frozen=True):
    """A place in the order of clusters."""

    episodes: int
    importance: float
    created_us: int
    cluster_id: str


async def list_clusters(grouping: Grouping, request: pb.ListClustersRequest, call: Call) -> pb.ListClustersResponse:
    size = size_of(request.page_size, 50)
    query = (call.scope, "clusters", request.kind)
    after = place_in(request.page_token, ClusterPlace, "page_token", *query)
    kind = _CLUSTER_NAMES.get(request.kind)
    found = await grouping.clusters(call.scope, tuple(ClusterKind) if kind is None else (kind,))
    left = [one for one in found if after is None or _order(_place(one)) > _order(after)]
    shown = fitting(map(_cluster_to_wire, left[:size]), pb.MemoryCluster.ByteSize)
    token = token_for(_place(left[len(shown) - 1]), *query) if len(shown) < len(left) else ""
    return pb.ListClustersResponse(clusters=shown, next_page_token=token)


def _place(cluster: Cluster) -> ClusterPlace:
    return ClusterPlace(len(cluster.episodes), cluster.importance, cluster.members[0].created_us, cluster.cluster_id)


def _order(place: ClusterPlace) -> tuple[int, float, int, str]:
    """The sort key of `Grouping.clusters`."""
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
