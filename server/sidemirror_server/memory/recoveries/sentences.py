"""What is said of a recovery: fixed sentences with typed slots. Pure.

A slot holds a count, a pause, a kind of value, a look-up of the reviewed list, or a name: of a tool or of an argument.
Everything else that was recorded stays out, literal values too, so that no sentence carries what a tool, a model or a
user wrote. Names are short, since words in them could steer. A name that does not look like one, or that names an act
which advice must not name, is no slot; its move is counted but not said. Sentences say what was observed and command
nothing.
"""

from collections.abc import Collection

import msgspec

from sidemirror_server.memory.recoveries.moves import Recovery, Tally
from sidemirror_server.memory.recoveries.observation import CameFrom, Move, MoveKind, ValueKind
from sidemirror_server.memory.recoveries.reviewed_lookups import LOOKUPS
from sidemirror_server.vocabulary.slots import is_argument_name, is_tool_name

_KINDS = {
    ValueKind.NUMBER: "a number",
    ValueKind.DATE: "a date",
    ValueKind.EMAIL: "an email address",
    ValueKind.ID: "an id",
    ValueKind.WORD: "a word",
    ValueKind.TEXT: "a text",
}
_SOURCES = {
    CameFrom.ERROR: ", which the error names,",
    CameFrom.RESULT: ", which an earlier result had,",
    CameFrom.USER: ", which the user had given,",
    CameFrom.USER_ASKED: ", which the user gave when asked,",
    CameFrom.NOWHERE: "",
}
_LITERALS = (ValueKind.TRUE, ValueKind.FALSE, ValueKind.NULL)


class Sentence(msgspec.Struct, frozen=True):
    """A recovery as it is told: the sentence, and its move with the steps that the sentence names."""

    text: str
    move: Move


def said(recovery: Recovery, looked_up: Collection[str] = ()) -> Sentence | None:
    """The sentence for a recovery; None if there is nothing to say. `looked_up`: the labels of the look-ups that the
    turn has done already, which are left out."""
    move = left_to_say(recovery.move, looked_up)
    slots = _slots(move)
    if slots is None or (not slots and move.kind is not MoveKind.SENT_AGAIN):
        return None
    text = _text(recovery, move, slots)
    return Sentence(text, move) if text else None


def left_to_say(move: Move, looked_up: Collection[str]) -> Move:
    """The move without the look-ups that the turn has done already."""
    if move.kind is not MoveKind.LOOKED_UP:
        return move
    return msgspec.structs.replace(move, steps=tuple(step for step in move.steps if step not in looked_up))


def said_of_repeats(unchanged: Tally) -> str:
    """The sentence about a call that is sent again unchanged, for the nudge about a loop."""
    return f"Unchanged it worked in {_of(unchanged)}."


def _text(recovery: Recovery, move: Move, slots: tuple[str, ...]) -> str:
    count = _of(recovery.told)
    match move.kind:
        case MoveKind.LOOKED_UP:
            without = f"; without, in {_of(recovery.otherwise)}" if recovery.otherwise.tries else ""
            return f"In {_of(recovery.told, 'earlier tries')} the call worked after {' and '.join(slots)}{without}."
        case MoveKind.SENT_AGAIN:
            return f"Sent again {_pause(recovery.pause_ms)} it worked in {count}."
        case MoveKind.CHANGED:
            return _change(move, slots, count)
        case MoveKind.WENT_ON:
            runs = f"{recovery.told.tries:,} runs"
            return f"It did not work again in {runs}; {recovery.told.worked:,} went on with {slots[0]}."
        case _:
            return ""


def _change(move: Move, slots: tuple[str, ...], count: str) -> str:
    if move.value is ValueKind.RENAMED and len(slots) == 2:
        return f"{slots[1]} in the place of {slots[0]} worked in {count}."
    if len(slots) != 1 or move.value is None or move.value is ValueKind.RENAMED:
        return ""
    if move.value is ValueKind.REMOVED:
        return f"Without {slots[0]} it worked in {count}."
    if move.value is ValueKind.REFORMATTED:
        return f"{slots[0]}: the same value in another form worked in {count}."
    if move.value in _LITERALS:
        return f"{slots[0]}: {move.value.value} worked in {count}."
    source = _SOURCES[move.came_from or CameFrom.NOWHERE]
    return f"{slots[0]}: another value, {_KINDS[move.value]}{source or ','} worked in {count}."


def _slots(move: Move) -> tuple[str, ...] | None:
    """The names of a move's steps as they are said; None if one of them may not be."""
    if move.kind is MoveKind.LOOKED_UP and not move.are_tools:
        return tuple(f"`{step}`" for step in move.steps) if all(step in LOOKUPS for step in move.steps) else None
    if move.kind is MoveKind.CHANGED and not move.are_tools:
        return None
    are_arguments = move.kind is MoveKind.CHANGED
    names = [_last_field(step) if are_arguments else step for step in move.steps]
    may_say = is_argument_name if are_arguments else is_tool_name
    return tuple(f"`{name}`" for name in names) if all(map(may_say, names)) else None


def _last_field(path: str) -> str:
    """The field that a path such as `payment_methods[].amount` ends in."""
    return path.rsplit(".", 1)[-1].removesuffix("[]")


def _of(tally: Tally, tries: str = "") -> str:
    return f"{tally.worked:,} of {tally.tries:,}{f' {tries}' if tries else ''}"


def _pause(pause_ms: int) -> str:
    seconds = round(pause_ms / 1000)
    if seconds < 1:
        return "at once"
    return f"after {seconds} s" if seconds < 120 else f"after {round(seconds / 60)} min"
