"""What a conformance suite is: one coroutine function per clause of a port, named after it (`wq1_…` tests WQ1)."""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from types import ModuleType
from typing import Any

import pytest

Clause = Callable[[Any], Awaitable[None]]

_NAME = re.compile(r"([a-z]{2}\d+)_\w+")


def clauses_of(suite: ModuleType) -> dict[str, Clause]:
    """The suite's functions by clause, as the port's docstring numbers it: {"WQ1": …}. A suite of several modules has
    the others as its PARTS."""
    found: dict[str, Clause] = {}
    for module in (suite, *getattr(suite, "PARTS", ())):
        for name, value in vars(module).items():
            match = _NAME.fullmatch(name)
            if match is not None:
                assert match[1].upper() not in found, f"{match[1].upper()} is tested twice"
                found[match[1].upper()] = value
    return found


def one_of_each_port(clauses: Mapping[str, Clause]) -> list[Any]:
    """For suites that run once more: of each port the clause that does most, by its length; the others are long."""
    most: dict[str, str] = {}
    for name, clause in clauses.items():
        port = name.rstrip("0123456789")
        other = most.setdefault(port, name)
        if len(inspect.getsource(clause)) > len(inspect.getsource(clauses[other])):
            most[port] = name
    return [pytest.param(name, marks=() if name in most.values() else pytest.mark.long) for name in clauses]
