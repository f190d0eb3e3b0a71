"""What a hook of a coding agent tells, in the same form for every host. Made by `hosts/`, used by `conversation.py`."""

from typing import TypeAlias

from msgspec import Struct


class Prompted(Struct, frozen=True):
    """The user has sent a prompt: a turn begins."""

    prompt: str


class CallEnded(Struct, frozen=True):
    """A tool call has ended. `call_id`: the host's id of it, or what stands for one; empty if there is nothing to tell
    the same call by. `arguments`: as JSON or as text. `failed` None: the host does not say. `transcript`: the path of
    what may say it instead; empty if nothing does."""

    call_id: str
    name: str
    arguments: str
    result: str
    failed: bool | None
    transcript: str = ""


class SaidByAgent(Struct, frozen=True):
    """The agent has said this to the user. It is the answer, if the turn ends without another one."""

    text: str


class AnswerGiven(Struct, frozen=True):
    """The agent wants to end its turn with this answer; empty if what it said last is the answer. `again`: it was
    already sent back once in this turn."""

    text: str
    again: bool


class HostLeft(Struct, frozen=True):
    """The session, or the subagent, has ended."""


What: TypeAlias = Prompted | CallEnded | SaidByAgent | AnswerGiven | HostLeft


class Happening(Struct, frozen=True):
    """One event of a host. `turn` and `agent` (a subagent) are the host's ids; empty where it has none. `folder`: where
    the agent works, an absolute path."""

    session: str
    turn: str
    agent: str
    folder: str
    what: What
