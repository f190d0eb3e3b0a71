"""What is said of a recovery: fixed sentences with typed slots. Pure.

A slot holds a count, a pause, a kind of value or the form that one is written in, a look-up of the reviewed list, or a
name: of a tool or of an argument. Everything else that was recorded stays out, literal values too, so that no sentence
carries what a tool, a model or a user wrote. Names are short, since words in them could steer. A name that does not
look like one, or that names an act which advice must not name, is no slot; its move is counted but not said, and
`unsaid` tells people why. Sentences say what was observed and command nothing.
"""

from collections.abc import Collection

import msgspec

from sidemirror_server.memory.kin.signature import tool_of
from sidemirror_server.memory.recoveries.changed import OF_FLAGS
from sidemirror_server.memory.recoveries.forms import FORMS_OF_FLAGS, written
from sidemirror_server.memory.recoveries.moves import Recovery, Tally
from sidemirror_server.memory.recoveries.observation import CameFrom, Move, MoveKind, ValueKind
from sidemirror_server.memory.recoveries.reviewed_lookups import LOOKUPS
from sidemirror_server.vocabulary.slots import is_tool_name, why_no_argument_name, why_no_tool_name

_KINDS = {
    ValueKind.NUMBER: "a number",
    ValueKind.DATE: "an ISO date",
    ValueKind.EMAIL: "an email address",
    ValueKind.ID: "a word with digits",
    ValueKind.WORD: "a word",
    ValueKind.TEXT: "a text",
}
_SOURCES = {
    CameFrom.ERROR: " that the error names",
    CameFrom.RESULT: " that an earlier result had",
    CameFrom.USER: " that the user had given",
    CameFrom.USER_ASKED: " that the user gave when asked",
    CameFrom.NOWHERE: "",
}
# An argument that is a flag may confirm something, or turn it off.
_MAY_CONFIRM = OF_FLAGS | {ValueKind.REMOVED}


class Sentence(msgspec.Struct, frozen=True):
    """A recovery as it is told: the sentence, and its move with the steps that the sentence names."""

    text: str
    move: Move


def said(recovery: Recovery, looked_up: Collection[str] = ()) -> Sentence | None:
    """The sentence for a recovery; None if there is nothing to say. `looked_up`: the labels of the look-ups that the
    turn has done already, which are left out."""
    move = left_to_say(recovery.move, looked_up)
    if unsaid(move) or (not move.steps and move.kind is not MoveKind.SENT_AGAIN):
        return None
    text = _text(recovery, move, tuple(f"`{name}`" for name in _names(move)))
    return Sentence(text, move) if text else None


def unsaid(move: Move) -> str:
    """Which step of a move no sentence may hold, and by which rule; empty if all may be said."""
    if move.kind is MoveKind.CHANGED and not move.are_tools:
        return "a changed text is not said"
    if move.kind is MoveKind.CHANGED and move.value is ValueKind.TEXT and _is_from_nowhere(move):
        return "another text, which came from nowhere on record, is not said"
    if move.value is ValueKind.REFORMATTED and not written(move.form):
        return "a form that has no words is not said"
    if move.value is ValueKind.RENAMED and len(set(_names(move))) == 1:
        return "an argument that was moved to another place is not said"
    for name in _names(move):
        if move.kind is MoveKind.CHANGED:
            why = why_no_argument_name(name, is_flag=move.value in _MAY_CONFIRM or move.form in FORMS_OF_FLAGS)
        elif move.kind is MoveKind.LOOKED_UP and not move.are_tools:
            why = "" if name in LOOKUPS else "it is no look-up of the reviewed list"
        else:
            why = why_no_tool_name(name)
        if why:
            return f"the name `{name}` is not said: {why}"
    return ""


def left_to_say(move: Move, looked_up: Collection[str]) -> Move:
    """The move without the look-ups that the turn has done already."""
    if move.kind is not MoveKind.LOOKED_UP:
        return move
    return msgspec.structs.replace(move, steps=tuple(step for step in move.steps if step not in looked_up))


def said_of_repeats(unchanged: Tally) -> str:
    """The sentence about a call that is sent again unchanged, for the nudge about a loop."""
    return f"Unchanged it worked in {_of(unchanged)}."


def _text(recovery: Recovery, move: Move, slots: tuple[str, ...]) -> str:
    worked = f"In {_of(recovery.told)} earlier tries {_call(recovery.signature)} worked"
    match move.kind:
        case MoveKind.LOOKED_UP:
            without = f"; without, in {_of(recovery.otherwise)}" if recovery.otherwise.tries else ""
            return f"In {_of(recovery.told)} earlier tries the call worked after {' and '.join(slots)}{without}."
        case MoveKind.SENT_AGAIN:
            return f"{worked} when it was sent again {_pause(recovery.pause_ms)}."
        case MoveKind.CHANGED:
            change = _change(move, slots)
            return f"{worked} {change}." if change else ""
        case MoveKind.WENT_ON:
            call = _call(recovery.signature)
            runs = f"{recovery.told.tries:,} runs"
            return f"In {runs} {call} did not work again; {recovery.told.worked:,} went on with {slots[0]}."
        case _:
            return ""


def _call(signature: str) -> str:
    """The failed call as a sentence names it: by its tool, where that may be said."""
    tool = tool_of(signature)
    return f"`{tool}`" if is_tool_name(tool) else "the call"


def _change(move: Move, slots: tuple[str, ...]) -> str:
    if move.value is ValueKind.RENAMED and len(slots) == 2:
        return f"with {slots[1]} in the place of {slots[0]}"
    if len(slots) != 1 or move.value is None or move.value is ValueKind.RENAMED:
        return ""
    if move.value is ValueKind.REMOVED:
        return f"without {slots[0]}"
    if move.value is ValueKind.REFORMATTED:
        return f"with the same {slots[0]} written as {written(move.form)}"
    if move.value in OF_FLAGS:
        return f"with {slots[0]} set to {move.value.value}"
    value = f"{_KINDS[move.value]}{_SOURCES[move.came_from or CameFrom.NOWHERE]}"
    return f"with {slots[0]} added: {value}" if move.is_added else f"with another {slots[0]}: {value}"


def _is_from_nowhere(move: Move) -> bool:
    return move.came_from in (None, CameFrom.NOWHERE)


def _names(move: Move) -> tuple[str, ...]:
    """What a sentence about a move would name: of arguments the field that a path such as `payments[].amount` ends
    in."""
    if move.kind is not MoveKind.CHANGED:
        return move.steps
    return tuple(step.rsplit(".", 1)[-1].removesuffix("[]") for step in move.steps)


def _of(tally: Tally) -> str:
    return f"{tally.worked:,} of {tally.tries:,}"


def _pause(pause_ms: int) -> str:
    seconds = round(pause_ms / 1000)
    if seconds < 1:
        return "at once"
    return f"after {seconds} s" if seconds < 120 else f"after {round(seconds / 60)} min"
