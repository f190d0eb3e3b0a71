"""The events of a turn in messages that a sidecar takes."""

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations.turn_stream import messages_of
from tests.wire.calls import said


@pytest.mark.parametrize(
    ("sizes", "parts"),
    [([], []), ([1] * 31, [15, 15, 1]), ([1_000_000] * 7, [3, 3, 1]), ([900_000] + [262_144] * 14, [9, 6])],
)
def test_no_message_is_over_its_limits(sizes: list[int], parts: list[int]) -> None:
    events = [said("x" * size) for size in sizes]

    messages = list(messages_of(events))

    assert [len(message) for message in messages] == parts
    assert [event for message in messages for event in message] == events
    assert all(pb.RunTurnRequest(events=message).ByteSize() < 4 * 1024 * 1024 for message in messages)
