"""An agent that heeds what it is told, in the world of `conventions.py`.

It tries a call, and after a refusal up to `PATIENCE` of the options that it can think of, each once. It has no memory
of its own. Options that are named in what it was told come first, in the order of their naming; those that one name
tells of, and the others, are in any order. It reads all that the sidecar says the same way: recoveries, reflections and
nudges.
"""

import json
import re
from collections.abc import Sequence
from enum import StrEnum
from random import Random
from typing import Final, NamedTuple, Protocol

from bench.world.conventions import Call, Option, Situation, World, passes

PATIENCE: Final = 2
"""Attempts after a refusal. Chosen here: of five options that is a chance of two in five without advice."""

_NAME = re.compile(r"`(\w+)`")
_QUOTED = re.compile(r"“[^”]*”")
_AGAIN = "it was sent again"
"""How the sidecar's sentence about the same call begins."""
_WRITTEN = re.compile(r"`(\w+)` written as ([^.]+)\.")
_FORMS: Final = {
    "capital letters": "[A-Z]+",
    "digits": "[0-9]+",
    "a hyphen": "-",
    "a number sign": "#",
}
"""What the agent understands of how a value is to be written."""
_FILLED = re.compile(r"(\d+) digits with zeros in front")


class Told(NamedTuple):
    """What was heard at a failing call. `recoveries`: the sentences about what repaired such a failure before."""

    recoveries: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


class Ear(Protocol):
    """Whom the agent reports to; None where it has no sidecar."""

    async def ended(self, call: Call, text: str, *, failed: bool) -> Told:
        """A call has ended; what is said to it."""
        ...


class Role(StrEnum):
    """What an option is in its world."""

    RIGHT = "right"
    FALSE = "false"
    PLANTED = "planted"
    OUTDATED = "outdated"
    OTHER = "other"


class Met(NamedTuple):
    """One call that a task needed. `told`: the roles of the options that a recovery named, at the first refusal;
    `other` also where it named none of them. `tried`: the roles of what was tried, in order. `repaired`: the first
    attempt after the refusal worked."""

    seed: int
    episode: int
    convention: str
    failed: bool
    told: tuple[Role, ...]
    tried: tuple[Role, ...]
    repaired: bool
    passed: bool
    true: bool
    calls: int


def role_of(situation: Situation, option: Option) -> Role:
    known = {
        Role.RIGHT: situation.right,
        Role.FALSE: situation.false,
        Role.PLANTED: situation.planted,
        Role.OUTDATED: situation.outdated,
    }
    return next((role for role, one in known.items() if option == one), Role.OTHER)


def named(options: Sequence[Option], sentences: Sequence[str]) -> list[Option]:
    """The options that the sentences name, in the order of their naming. Names stand in backquotes; what is quoted is
    the agent's own call or its error, and names nothing."""
    words = [word for sentence in sentences for word in _NAME.findall(_QUOTED.sub(" ", sentence))]
    again = any(_AGAIN in sentence for sentence in sentences)
    found = [
        option
        for option in options
        if (option.name in words and _is_written_so(option, sentences) if option.name else again)
    ]
    return sorted(found, key=lambda option: words.index(option.name) if option.name else -1)


def _is_written_so(option: Option, sentences: Sequence[str]) -> bool:
    """Whether the option writes its argument as the sentences say, if they say how."""
    forms = [form for sentence in sentences for name, form in _WRITTEN.findall(sentence) if name == option.name]
    value = str(option.call.arguments.get(option.name, ""))
    return not forms or any(re.fullmatch(_pattern(form), value) for form in forms)


def _pattern(form: str) -> str:
    parts = re.split(r", | and ", form)
    filled = [_FILLED.fullmatch(part) for part in parts]
    return "".join(
        f"[0-9]{{{match[1]}}}" if match else _FORMS.get(part, ".*") for part, match in zip(parts, filled, strict=True)
    )


async def live(situation: Situation, world: World, episode: int, ear: Ear | None, rng: Random) -> Met:
    """The agent makes a call until it passes or its patience ends."""
    passed = passes(situation, None, rng)
    told = await _ended(ear, situation.call, _text(situation, passed), failed=not passed)
    failed, calls, tried = not passed, 1, list[Option]()
    shuffled = rng.sample(situation.options, len(situation.options))
    hints = named(shuffled, (*told.recoveries, *told.others))
    plan = [*hints, *(one for one in shuffled if one not in hints)]
    repaired = False
    while not passed and len(tried) < PATIENCE:
        option = plan.pop(0)
        tried.append(option)
        if option.before is not None:
            await _ended(ear, option.before, _found(situation, option), failed=False)
        passed = passes(situation, option, rng)
        more = await _ended(ear, option.call, _text(situation, passed), failed=not passed)
        calls += 1 + (option.before is not None)
        repaired = repaired or (passed and len(tried) == 1)
        later = named(plan, (*more.recoveries, *more.others))
        plan = [*later, *(one for one in plan if one not in later)]
    roles = tuple(role_of(situation, option) for option in tried)
    names = tuple(role_of(situation, one) for one in named(situation.options, told.recoveries))
    true = passed and Role.FALSE not in roles
    told_roles = names or ((Role.OTHER,) if told.recoveries else ())
    return Met(
        *(world.seed, episode, situation.convention, failed, told_roles, roles, repaired and true, passed, true, calls)
    )


async def _ended(ear: Ear | None, call: Call, text: str, *, failed: bool) -> Told:
    return Told() if ear is None else await ear.ended(call, text, failed=failed)


def _text(situation: Situation, passed: bool) -> str:
    return json.dumps({"status": "ok"}) if passed else situation.refusal


def _found(situation: Situation, option: Option) -> str:
    """The answer of the call before: what the next one needs stands in it."""
    needed = [value for value in option.call.arguments.values() if value not in situation.call.arguments.values()]
    return json.dumps({"status": "ok", "found": needed})
