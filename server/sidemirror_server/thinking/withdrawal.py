"""What is withdrawn of what a turn was told: texts about a failing call that has worked since. Used by `turn.py`."""

import msgspec

from sidemirror_server.thinking.turn_state import CallOf, ToldOf, TurnState
from sidemirror_server.vocabulary.ids import DirectiveId, EventId

# Limits on the failing calls of a turn, and on the failures of each; the oldest are dropped. Chosen here: as many calls
# as may be open, and as many failures as wait for a reflection.
_MOST_FAILING = 1_000
_MOST_FAILURES = 20


def give_slot_back(state: TurnState) -> None:
    """A reflection that was counted takes none of the turn's budget."""
    state.spent = msgspec.structs.replace(state.spent, reflections=state.spent.reflections - 1)


def note_cause(state: TurnState, directive_id: DirectiveId, caused_by: tuple[EventId, ...]) -> None:
    """A directive is about the calls that failed in these events and did not work since."""
    causes = set(caused_by)
    calls = frozenset(call for call, failures in state.failing.items() if not causes.isdisjoint(failures))
    if calls:
        state.told_of[directive_id] = ToldOf(calls)


def supersede(state: TurnState, told: ToldOf) -> None:
    """Of one failure there is one text: that of the latest reflection."""
    for directive_id, earlier in state.told_of.items():
        if earlier.is_reflection and earlier.calls <= told.calls:
            _withdraw(state, directive_id)


def _withdraw(state: TurnState, directive_id: DirectiveId) -> None:
    if directive_id not in state.withdrawn:
        state.withdrawn = (*state.withdrawn, directive_id)


def call_failed(state: TurnState, call: CallOf, event_id: EventId) -> None:
    """A call has failed, in this event."""
    if len(state.failing) >= _MOST_FAILING:
        state.failing.pop(next(iter(state.failing)))
    before = state.failing.pop(call, ())
    state.failing[call] = (*before[-_MOST_FAILURES + 1 :], event_id)


def call_worked(state: TurnState, call: CallOf) -> None:
    """A call that failed before has worked unchanged: nothing needs to be said of its failures any more."""
    repaired = state.failing.pop(call, ())
    if not repaired:
        return
    state.tool_errors = tuple(error for error in state.tool_errors if error.event_id not in repaired)
    for directive_id, told in tuple(state.told_of.items()):
        left = told.calls - {call}
        if left:
            state.told_of[directive_id] = msgspec.structs.replace(told, calls=left)
            continue
        del state.told_of[directive_id]
        _withdraw(state, directive_id)
        if told.takes_slot:
            give_slot_back(state)
