"""The JSON in the log's `TurnHead.body`: what lists show of a turn, and what the next turn inherits from it."""

from collections.abc import Callable

import msgspec

from sidemirror_server.thinking.record import Carry
from sidemirror_server.thinking.turn import carry
from sidemirror_server.thinking.turn_state import TurnState
from sidemirror_server.vocabulary.budget import Spent, TurnBudget
from sidemirror_server.vocabulary.text import clip

# The contract cuts Turn.task to 1,000 characters.
TASK_CHARS = 1_000


class HeadBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of a turn that lists show and that its session's next turn inherits. `unlearned`: why the turn should
    be learned from (`teaching.Cause`), if that was left to dreaming."""

    task: str = ""
    outcome: str = ""
    score: float | None = None
    event_count: int = 0
    budget: TurnBudget = TurnBudget()
    spent: Spent = Spent()
    carried: Carry = Carry()
    unlearned: tuple[str, ...] = ()
    tool_call_count: int = 0
    tool_error_count: int = 0
    lesson_count: int = 0
    is_shadow: bool = False
    # Those that the turn was told.
    nudge_count: int = 0
    reflection_count: int = 0
    critique_count: int = 0


# A head's body from its JSON.
head_in: Callable[[bytes], HeadBody] = msgspec.json.Decoder(HeadBody).decode


def head_body(state: TurnState, unlearned: tuple[str, ...] = ()) -> bytes:
    """The head's body for the turn's present state."""
    return msgspec.json.encode(
        HeadBody(
            task=clip(state.task, TASK_CHARS),
            outcome=state.outcome,
            score=state.score,
            event_count=state.event_count,
            budget=state.budget,
            spent=state.spent,
            carried=carry(state),
            unlearned=unlearned,
            tool_call_count=state.tool_call_count,
            tool_error_count=state.tool_error_count,
            lesson_count=len(state.told_lessons),
            is_shadow=state.is_shadow,
            nudge_count=state.told_nudges,
            reflection_count=state.told_reflections,
            critique_count=state.told_critiques,
        )
    )
