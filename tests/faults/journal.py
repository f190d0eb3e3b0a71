"""The oracle: what was asked, what came of it, and whether what is found afterwards agrees.

An operation that was begun and not answered is UNKNOWN: a broken stream says nothing about what the server did before
it broke. Only what was answered binds: OK is found exactly once, FAIL not at all.
"""

from collections import Counter
from collections.abc import Iterable
from enum import Enum


class Outcome(Enum):
    OK = "ok"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Journal:
    """The outcomes of operations by their ids."""

    def __init__(self) -> None:
        self._outcomes: dict[str, Outcome] = {}

    def begin(self, operation: str) -> None:
        """The operation is sent, perhaps again. One that was OK stays OK."""
        if self._outcomes.get(operation) is not Outcome.OK:
            self._outcomes[operation] = Outcome.UNKNOWN

    def ok(self, operation: str) -> None:
        """It was answered: it happened, and is durable."""
        assert operation in self._outcomes, f"{operation} was answered and never sent"
        self._outcomes[operation] = Outcome.OK

    def fail(self, operation: str) -> None:
        """It was refused: it did not happen."""
        assert self._outcomes.get(operation) is Outcome.UNKNOWN
        self._outcomes[operation] = Outcome.FAIL

    def was_begun(self, operation: str) -> bool:
        return operation in self._outcomes

    def count(self, outcome: Outcome) -> int:
        return sum(known is outcome for known in self._outcomes.values())

    def violations(self, found: Iterable[str]) -> list[str]:
        """Where what is found does not agree with what was answered; empty when all is well."""
        times = Counter(found)
        wrong = []
        for operation, outcome in self._outcomes.items():
            seen = times.pop(operation, 0)
            if outcome is Outcome.OK and seen == 0:
                wrong.append(f"lost: {operation}")
            elif outcome is Outcome.FAIL and seen > 0:
                wrong.append(f"refused and there: {operation}")
            elif seen > 1:
                wrong.append(f"{seen} times: {operation}")
        wrong.extend(f"never sent: {operation}" for operation in times)
        return wrong
