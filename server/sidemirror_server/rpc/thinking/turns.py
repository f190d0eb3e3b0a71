"""Waits for turns, and converts them to messages."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.thinking.directives import left_to_wire
from sidemirror_server.rpc.wire.common import OUTCOMES, TURN_STATES, timestamp
from sidemirror_server.trace.log import TurnHead, TurnStanding
from sidemirror_server.turns.head import head_in
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.vocabulary.budget import budget_left

T = TypeVar("T")


async def until(turn: LiveTurn, find: Callable[[], T | None]) -> T:
    """The first result of `find` that is not None; `find` is called after each change of the turn."""
    listener = turn.listen(turn.state.last_sequence)
    try:
        while (found := find()) is None:
            await listener.wait()
            listener.take()
        return found
    finally:
        listener.close()


def turn_to_wire(head: TurnHead, now_us: int, pending_ids: Sequence[str]) -> pb.Turn:
    """A turn from its head. `pending_ids`: the directives in progress."""
    body = head_in(head.body)
    until_us = now_us if head.standing is TurnStanding.OPEN else head.updated_us
    return pb.Turn(
        turn_id=head.turn_id,
        session_id=head.session_id,
        turn_count=head.turn_count,
        state=TURN_STATES[head.standing],
        task=body.task,
        outcome=OUTCOMES[body.outcome],
        score=body.score,
        last_sequence=head.last_sequence,
        event_count=body.event_count,
        budget_left=left_to_wire(budget_left(body.budget, body.spent, max(0, until_us - head.started_us) / 1e6)),
        pending_ids=pending_ids,
        start_time=timestamp(head.started_us),
        update_time=timestamp(head.updated_us),
        tool_call_count=body.tool_call_count,
        tool_error_count=body.tool_error_count,
        lesson_count=body.lesson_count,
        is_shadow=body.is_shadow,
    )
