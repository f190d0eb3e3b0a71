"""Waits for turns, and converts them to messages."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.critique.store import Critiques, Verdicts
from sidemirror_server.rpc.thinking.directives import left_to_wire
from sidemirror_server.rpc.wire.common import OUTCOMES, TURN_STATES, timestamp
from sidemirror_server.trace.log import TurnHead, TurnStanding
from sidemirror_server.trace.receipts import RECALLED_IN, Receipt, Receipts
from sidemirror_server.turns.head import head_in
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.vocabulary.budget import budget_left
from sidemirror_server.vocabulary.scope import Scope

T = TypeVar("T")

# Contract: Turn.recalled_count counts in so many of a turn's receipts.
_MOST_RECEIPTS = 200


async def until(turn: LiveTurn, find: Callable[[], T | None]) -> T:
    """The first result of `find` that is not None; `find` is called after each change of the turn. Raises why the turn
    is lost, after which nothing changes any more."""
    listener = turn.listen(turn.state.last_sequence)
    try:
        while (found := find()) is None:
            if turn.lost is not None:
                raise turn.lost
            await listener.wait()
            listener.take()
        return found
    finally:
        listener.close()


class Beside(msgspec.Struct, frozen=True):
    """What a turn's head does not have, by turn. `recalled`: how many lessons and recoveries its agent asked for, and
    was not told unasked."""

    recalled: Mapping[str, int]
    verdicts: Mapping[str, Verdicts]


async def beside_turns(receipts: Receipts, critiques: Critiques, scope: Scope, turn_ids: Sequence[str]) -> Beside:
    """What stands beside these turns. Raises StoreUnavailable."""
    found, verdicts = await asyncio.gather(
        receipts.of_turns(scope, turn_ids, _MOST_RECEIPTS), critiques.verdicts(scope, turn_ids)
    )
    recalled = {turn: len(_recalled(of)) for turn, of in found.items()}
    return Beside(recalled, verdicts)


def _recalled(receipts: Sequence[Receipt]) -> set[str]:
    """What an agent was given because it asked, without what it was told too."""
    told = {item.id for one in receipts if one.place not in RECALLED_IN for item in one.items}
    return {item.id for one in receipts if one.place in RECALLED_IN for item in one.items} - told


def turn_to_wire(head: TurnHead, now_us: int, pending_ids: Sequence[str], beside: Beside) -> pb.Turn:
    """A turn from its head. `pending_ids`: the directives in progress. `beside`: of `beside_turns`."""
    body = head_in(head.body)
    verdicts = beside.verdicts.get(head.turn_id, Verdicts())
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
        recalled_count=beside.recalled.get(head.turn_id, 0),
        nudge_count=body.nudge_count,
        reflection_count=body.reflection_count,
        critique_count=body.critique_count,
        judged_count=verdicts.judged,
        revise_count=verdicts.revise,
    )
