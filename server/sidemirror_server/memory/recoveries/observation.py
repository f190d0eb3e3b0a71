"""Observations: what followed one failing call, as it is kept. Field names and values are part of the stored format.

`trail.py` makes them, `moves.py` counts them. `silencing_ids`: the ids by which a policy silences a move.
"""

from enum import StrEnum
from hashlib import blake2b

import msgspec

from sidemirror_server.memory.kin.signature import tool_of
from sidemirror_server.trace.event import NAMELESS
from sidemirror_server.vocabulary.ids import EventId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope

# What hosts call a coding agent's shell, one tool: Claude Code and Codex, Cursor, Gemini CLI, OpenHands.
_SHELLS = frozenset(("Bash", "Shell", "run_shell_command", "terminal"))


class MoveKind(StrEnum):
    """What was done between a failure and the next attempt. The values are stored and never change."""

    # Calls that only read.
    LOOKED_UP = "looked_up"
    # Nothing, and the attempt was the same call.
    SENT_AGAIN = "sent_again"
    # Nothing, and the attempt had other arguments.
    CHANGED = "changed"
    # There was no attempt; another tool was called.
    WENT_ON = "went_on"
    # There was no attempt and no other call.
    STOPPED = "stopped"
    # Anything else, such as a call that writes. It is counted and never shown.
    OTHER = "other"


# After these moves there was no next attempt.
NO_ATTEMPT = (MoveKind.WENT_ON, MoveKind.STOPPED)


class ValueKind(StrEnum):
    """How an argument differs from the one that failed, or the kind of its new value. Stored, never changed."""

    RENAMED = "renamed"
    REMOVED = "removed"
    REFORMATTED = "reformatted"
    TRUE = "true"
    FALSE = "false"
    NULL = "null"
    NUMBER = "number"
    DATE = "date"
    EMAIL = "email"
    ID = "id"
    WORD = "word"
    TEXT = "text"


class CameFrom(StrEnum):
    """Where a new value had stood before it was sent. Stored, never changed."""

    ERROR = "error"
    RESULT = "result"
    USER = "user"
    # The user gave it after the failure.
    USER_ASKED = "user_asked"
    NOWHERE = "nowhere"


# How a value is written, part by part (`forms.py`).
Form = tuple[str, ...]


class Move(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was done after a failure; equal moves are one move.

    `steps`: LOOKED_UP: the labels of the look-ups in the order of their first use. CHANGED with JSON: the argument's
    path; of RENAMED ones the old path and the new one; several paths if more than one argument changed. WENT_ON: the
    other tool. `are_tools`: the steps are names of tools with JSON arguments, and not commands. `form`: of REFORMATTED;
    empty in older rows. `is_added`: the argument was not there before; not of TRUE, FALSE and NULL, nor in older rows.
    """

    kind: MoveKind
    steps: tuple[str, ...] = ()
    are_tools: bool = False
    value: ValueKind | None = None
    came_from: CameFrom | None = None
    form: Form = ()
    is_added: bool = False


class Where(msgspec.Struct, frozen=True):
    """The turn in which something was observed. `identity`: the token's name; without tokens the session's id.
    `conversation`: of a turn made of spans, the session that they named, or empty; None: an agent reported the turn.
    `recorded_us`: of a turn made of spans, when it was recorded, since its times are its sender's words; 0 in older
    rows."""

    scope: Scope
    turn_id: TurnId
    session_id: SessionId
    identity: str
    conversation: str | None = None
    recorded_us: int = 0

    @property
    def is_anybody(self) -> bool:
        """Whether spans without a token tell of it: whoever sent them may have made up the conversation."""
        return self.conversation is not None and self.identity in (self.conversation, NAMELESS)


class Observation(msgspec.Struct, frozen=True, omit_defaults=True):
    """A failing call and what followed, one row.

    `observation_id`: equal whenever the same failure is observed, so that it counts once. `worked`: the next attempt
    worked, hid no error, and its turn did not fail. `informed`: a new value of the attempt stands in what was looked
    up. `pause_ms`: from the failure to the attempt. `at_us`: when the attempt ended; without one, when the last call
    ended. `advised`: the id of the recovery that was shown at this failure, or empty; `followed`: the move does it.
    """

    observation_id: str
    where: Where
    failure_id: EventId
    signature: str
    # The label of the failing call (`asked.py`).
    label: str
    move: Move
    worked: bool
    at_us: int
    informed: bool = False
    pause_ms: int = 0
    advised: str = ""
    followed: bool = False
    # The labels of the calls that followed, the attempt last; at most six. For people, and for predictions.
    then: tuple[str, ...] = ()
    # In shadow mode: the id of the recovery that would have been told at this failure, and the tokens of its block.
    shadow: str = ""
    shadow_tokens: int = 0
    # The turn of the last call that followed, if it is a later one than that of the failure.
    last_turn_id: TurnId = TurnId("")
    # The event of the attempt's call; empty without one, and in older rows.
    attempt_id: EventId = EventId("")
    # Of the failing call: whether its arguments are JSON (None in older rows), and whose SQL it was
    # (`starter.py:dialect_of`).
    is_json: bool | None = None
    dialect: str = ""
    # The attempt worked, and counts as one that did not because its turn failed; False in older rows.
    turn_failed: bool = False


def follows(advised: Move, done: Move) -> bool:
    """Whether what was done is what was advised: of look-ups, all that were said, and perhaps more; in another form,
    any form where none was said; else the same."""
    if advised.kind is MoveKind.LOOKED_UP:
        return done.kind is MoveKind.LOOKED_UP and set(advised.steps) <= set(done.steps)
    if advised.value is ValueKind.REFORMATTED and not advised.form:
        return advised == msgspec.structs.replace(done, form=())
    return advised == done


def observation_id(where: Where, failure_id: str) -> str:
    """The id of the observation of a failure: a digest of its scope, turn and event."""
    parts = (where.scope.tenant_id, where.scope.project_id, where.turn_id, failure_id)
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16, person=b"observation").hexdigest()


def recovery_id(signature: str, move: Move) -> str:
    """The id of a move as advice for a signature: equal in every scope and process."""
    parts = (signature, move.kind, *move.steps, move.value or "", move.came_from or "", *move.form)
    parts = (*parts, "added") if move.is_added else parts
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16, person=b"recovery").hexdigest()


def silencing_ids(signature: str, move: Move) -> tuple[str, ...]:
    """The ids of which each silences a move as advice for a signature: its own, and that of the move without its form,
    which it had before forms were told; of a failure in a shell those in the shell of each host, whichever of them runs
    the command."""
    tool = tool_of(signature)
    shells = _SHELLS if tool in _SHELLS else (tool,)
    moves = dict.fromkeys((move, msgspec.structs.replace(move, form=())))
    return tuple(recovery_id(f"{shell}{signature.removeprefix(tool)}", of) for shell in shells for of in moves)
