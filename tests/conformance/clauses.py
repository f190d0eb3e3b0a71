"""What a conformance suite is: one coroutine function per clause of a port, named after it (`wq1_…` tests WQ1)."""

import re
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

Clause = Callable[[Any], Awaitable[None]]

_NAME = re.compile(r"([a-z]{2}\d+)_\w+")


def clauses_of(suite: ModuleType) -> dict[str, Clause]:
    """The suite's functions by clause, as the port's docstring numbers it: {"WQ1": …}."""
    found: dict[str, Clause] = {}
    for name, value in vars(suite).items():
        match = _NAME.fullmatch(name)
        if match is not None:
            assert match[1].upper() not in found, f"{match[1].upper()} is tested twice"
            found[match[1].upper()] = value
    return found
