"""WatchGoalReflections over gRPC: where a watch begins, goes on and ends."""

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import goal_reflection_pb2 as pb
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from tests.wire.calls import (
    bad_field,
    refused,
)
from tests.wire.goals import failed_goal, goals, reflections, report, watched
from tests.wire.sidecar import PATIENCE_S, SidecarThread, sidecar
from tests.wire.waiting import until_found


@pytest.fixture(scope="module")
def stub(server: SidecarThread) -> Iterator[GoalReflectionServiceStub]:
    with goals(server) as made:
        yield made


def test_a_watch_goes_on_where_it_was(stub: GoalReflectionServiceStub) -> None:
    request = pb.WatchGoalReflectionsRequest(tenant_id="watch", new_only=True)
    stream = stub.WatchGoalReflections(request, timeout=60)
    first = next(stream)
    assert first.HasField("heartbeat")
    for number in range(3):
        report(stub, failed_goal("watch", f"g{number}"))
    seen = [next(stream) for _ in range(3)]
    assert {one.reflection.goal_id for one in seen} == {"g0", "g1", "g2"}
    stream.cancel()
    after = watched(stub, "watch", cursor=seen[0].cursor)
    assert after == seen[1:]
    assert watched(stub, "watch", cursor=seen[2].cursor) == []
    assert watched(stub, "watch", cursor=first.cursor) == seen
    assert [one.reflection.goal_id for one in watched(stub, "watch", goal_id="g1")] == ["g1"]
    # Whoever begins at the present and does not stay learns where that is.
    (now,) = watched(stub, "watch", new_only=True)
    assert now.HasField("heartbeat")
    report(stub, failed_goal("watch", "g3"))
    until_found(lambda: reflections(stub, "watch", "g3"))
    assert [one.reflection.goal_id for one in until_found(lambda: watched(stub, "watch", cursor=now.cursor))] == ["g3"]
    other = pb.WatchGoalReflectionsRequest(tenant_id="watch 2", cursor=seen[0].cursor)
    assert refused(stub.WatchGoalReflections, other) == bad_field("cursor")


def test_a_watch_is_told_that_the_server_goes_away(tmp_path: Path) -> None:
    """With a cursor to go on from in the server's next life. Seen to fail when the watch does not look whether its end
    is due, and when `closing` carries no cursor (everything is told again)."""
    first = SidecarThread(tmp_path)
    first.start()
    with goals(first) as stub:
        watch = stub.WatchGoalReflections(pb.WatchGoalReflectionsRequest(tenant_id="t"), timeout=PATIENCE_S)
        report(stub, failed_goal("t", "before"))
        assert next(watch).reflection.goal_id == "before"
        first.stop()
        last = next(watch)
        assert last.closing.reason == "the server is shutting down"
        with pytest.raises(grpc.RpcError) as caught:
            next(watch)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    with sidecar(tmp_path) as server, goals(server) as stub:
        report(stub, failed_goal("t", "after"))
        request = pb.WatchGoalReflectionsRequest(tenant_id="t", cursor=last.cursor)
        assert next(stub.WatchGoalReflections(request, timeout=PATIENCE_S)).reflection.goal_id == "after"


def test_a_watch_that_is_old_says_so_and_ends(tmp_path: Path) -> None:
    """Seen to fail when the watch does not look whether its end is due."""
    with sidecar(tmp_path, settings={"limits__stream_age_s": "0.2"}) as server, goals(server) as stub:
        request = pb.WatchGoalReflectionsRequest(tenant_id="t", new_only=True)
        watch = stub.WatchGoalReflections(request, timeout=PATIENCE_S)
        assert next(watch).HasField("heartbeat")
        closing = next(watch)
        assert closing.closing.reason.startswith("the stream has been open for 0.2 s")
        assert closing.cursor
        with pytest.raises(grpc.RpcError) as caught:
            next(watch)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
