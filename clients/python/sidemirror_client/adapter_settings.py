"""The settings of the adapters of agent frameworks. What is wrong with one is said when it is made."""

import inspect
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_client.turn import ADVICE_S, CRITIQUE_S, RECALL_S

_LEVEL = "THINK_LEVEL_"
# In seconds, and in characters. Chosen here, a day: more is a mistake. Ids are those that the sidecar takes.
_LONGEST_S = 86_400.0
_LONGEST_ID = 128


@dataclass(frozen=True)
class Settings:
    """What an adapter does, the same for every framework. Times are in seconds, and are waited at most.

    Raises TypeError for a value of another type and ValueError for one out of range, both with the setting's name."""

    # How deep the sidecar thinks about a run: a `ThinkLevel`, or its name, such as "HIGH". "OFF": no reflections.
    level: pb.ThinkLevel | str = pb.THINK_LEVEL_MEDIUM
    # What reflections on a run may spend; the sidecar's own defaults without one.
    budget: pb.TurnBudget | None = None
    # Lessons for the task are shown at the start.
    lessons: bool = True
    lessons_s: float = RECALL_S
    # The agent can run commands: it is told fixed sentences and lessons that a person reviewed, and nothing else.
    has_shell: bool = False
    # What the sidecar says to what was reported is shown with the next request to the model. Off, it says nothing.
    advice: bool = True
    advice_s: float = ADVICE_S
    # How often a final answer may be sent back, at most; 0: no answer is judged.
    revisions: int = 1
    critique_s: float = CRITIQUE_S
    # Of each text that is reported, what may be: task, arguments, results, errors, what the model said.
    redact: Callable[[str], str] | None = None
    # How a run went that ended with this answer: a text, or JSON where the agent's answer is an object. Without it such
    # a run is UNSPECIFIED, from which nothing is learned: that it ended does not say that its task was done.
    # True is SUCCESS, False is FAILURE, None is UNSPECIFIED.
    outcome: Callable[[str], common_pb2.TaskOutcome | bool | None] | None = None
    # The goal that runs work towards, reported with the outcome; its objective is the task.
    goal_id: str = ""
    # The session of all runs, in the place of what the framework knows of conversations.
    session_id: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", _level(self.level))
        if self.budget is not None:
            instance_of("budget", self.budget, pb.TurnBudget)
        for name in ("lessons", "has_shell", "advice"):
            if not isinstance(getattr(self, name), bool):
                raise _mistyped(name, "True or False", getattr(self, name))
        for name in ("lessons_s", "advice_s", "critique_s"):
            _check_seconds(name, getattr(self, name))
        _check_count("revisions", self.revisions)
        for name in ("redact", "outcome"):
            _check_function(name, getattr(self, name))
        for name in ("goal_id", "session_id"):
            _check_id(name, getattr(self, name))


def instance_of(name: str, value: object, kind: type) -> None:
    """Raises TypeError, with the setting's name, unless the value is an instance of the class."""
    if not isinstance(value, kind):
        raise _mistyped(name, f"an instance of {kind.__name__}", value)


def _level(given: Any) -> int:
    names = [value.name.removeprefix(_LEVEL) for value in pb.ThinkLevel.DESCRIPTOR.values]
    if isinstance(given, bool) or not isinstance(given, int | str):
        raise _mistyped("level", f"a ThinkLevel, or one of {', '.join(names[1:])}", given)
    if isinstance(given, int) and given in pb.ThinkLevel.values():
        return given
    if isinstance(given, str) and (name := given.strip().upper().removeprefix(_LEVEL)) in names:
        return pb.ThinkLevel.Value(f"{_LEVEL}{name}")
    raise ValueError(f"level: one of {', '.join(names[1:])} is expected, not {reprlib.repr(given)}")


def _check_count(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _mistyped(name, "a whole number", value)
    if value < 0:
        raise ValueError(f"{name}: 0 or more is expected, not {value}")


def _check_seconds(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _mistyped(name, "a number of seconds", value)
    if not 0 <= float(value) <= _LONGEST_S:
        raise ValueError(f"{name}: 0 to {_LONGEST_S:.0f} seconds are expected, not {value}")


def _check_function(name: str, value: Any) -> None:
    if value is None:
        return
    if not callable(value):
        raise _mistyped(name, "a function of a text", value)
    if inspect.iscoroutinefunction(value):
        raise TypeError(f"{name}: a function of a text is expected, and not an async one")


def _check_id(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise _mistyped(name, "a text", value)
    if len(value) > _LONGEST_ID or not value.isprintable():
        raise ValueError(f"{name}: at most {_LONGEST_ID} printable characters are expected, not {reprlib.repr(value)}")


def _mistyped(name: str, expected: str, value: object) -> TypeError:
    return TypeError(f"{name}: {expected} is expected, not {reprlib.repr(value)}")
