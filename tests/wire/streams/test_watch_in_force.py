"""An idle watch says that it is in force before it has anything to tell."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import goal_reflection_pb2, goal_reflection_pb2_grpc, thinking_pb2, thinking_pb2_grpc
from tests.faults.sidecars import channel, running

WATCHES: list[tuple[Any, str, Any]] = [
    (thinking_pb2_grpc.ThinkingServiceStub, "WatchTurns", thinking_pb2.WatchTurnsRequest()),
    (
        *(goal_reflection_pb2_grpc.GoalReflectionServiceStub, "WatchGoalReflections"),
        goal_reflection_pb2.WatchGoalReflectionsRequest(),
    ),
]


@pytest.mark.parametrize(("service", "name", "request_"), WATCHES, ids=["turns", "goals"])
async def test_initial_metadata_comes_at_once(service: Any, name: str, request_: Any, tmp_path: Path) -> None:
    """With the first heartbeat 20 s away. Seen to fail when `Watches._begin` does not call `in_force`."""
    async with running(tmp_path) as served, channel(served.address) as connection:
        watch = getattr(service(connection), name)(request_)
        async with asyncio.timeout(10):
            await watch.initial_metadata()
        assert not watch.done()
        watch.cancel()
