"""The agent's policy: a few fixed rules in place of a language model, so that the demonstration needs no key.

The agent looks for four facts, and has a first idea for each. When a step finds nothing, it repeats the call a few
times and then turns to another fact, as weak agents do (recorded runs show it often). It knows a better way for each
fact, but takes it only on advice. The sidecar's advice, through `hear` and `read`, is the only difference between the
two attempts.
"""

from collections.abc import Iterable
from decimal import Decimal
from enum import Enum

import msgspec

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations.demo.books import CUSTOMER, owed_eur
from sidemirror_server.operations.demo.tools import DemoCall, DemoOutcome

# How often the agent repeats a step before it turns to another one.
_HABIT = 4
# Longer than the rate service takes to start (service.py).
_PAUSE_S = 0.8
_COLUMNS = "SELECT name FROM pragma_table_info('invoices')"


class Tactic(Enum):
    """An alternative to repeating the call; the value is the agent's phrase for it."""

    CHANGE_ARGUMENTS = "search with fewer words"
    LOOK_UP = "look up which columns there are"
    ASK_FOR_LESS = "ask for fewer rows"
    PAUSE = "pause before the next try"


# Words in a suggested action, and the tactic that the agent takes from them in place of a model.
_WORDS = (
    ("look up what exists", Tactic.LOOK_UP),
    ("for less", Tactic.ASK_FOR_LESS),
    ("smaller input", Tactic.ASK_FOR_LESS),
    ("after a pause", Tactic.PAUSE),
    ("wait before", Tactic.PAUSE),
    ("with the same arguments again", Tactic.CHANGE_ARGUMENTS),
)
_CIRCLES = {pb.PATTERN_REPEATED_CALL, pb.PATTERN_ALTERNATION, pb.PATTERN_NOTHING_NEW}


def tactic_in(directives: Iterable[pb.TurnDirective]) -> Tactic | None:
    """The tactic of the last directive that the agent understands; None when there is none."""
    tactic: Tactic | None = None
    for directive in directives:
        if directive.HasField("nudge") and directive.nudge.pattern in _CIRCLES:
            tactic = Tactic.CHANGE_ARGUMENTS
        elif directive.HasField("reflection") and directive.reflection.status == common_pb2.RESULT_STATUS_OK:
            said = directive.reflection.suggested_action.lower()
            tactic = next((meant for words, meant in _WORDS if words in said), tactic)
    return tactic


class DemoStep(msgspec.Struct, frozen=True):
    """The next call, after a pause."""

    call: DemoCall
    pause_s: float = 0.0


class Policy:
    """Chooses each step from the known facts and the sidecar's advice."""

    def __init__(self) -> None:
        self._search = f"{CUSTOMER} framework"
        self._amount = "amount"
        self._columns_wanted = False
        self._rows = 5_000
        self._pause = False
        self._facts: dict[str, str] = {}
        self._fact = "discount"
        self._tries = 0

    def next_step(self) -> DemoStep | None:
        """The next step; None when all facts are known."""
        match self._fact:
            case "discount":
                return DemoStep(DemoCall("search_contracts", {"text": self._search}))
            case "invoiced":
                total = f"SELECT SUM({self._amount}) FROM invoices WHERE customer = '{CUSTOMER}' AND state = 'open'"  # noqa: S608  # the demonstration's own books
                return DemoStep(DemoCall("run_sql", {"query": _COLUMNS if self._columns_wanted else total}))
            case "paid":
                return DemoStep(DemoCall("list_payments", {"customer": CUSTOMER, "limit": str(self._rows)}))
            case "rate":
                return DemoStep(DemoCall("get_rate", {"from": "USD", "to": "EUR"}), _PAUSE_S if self._pause else 0.0)
        return None

    def take(self, outcome: DemoOutcome) -> None:
        """Records the fact that the step found, or counts a failed try."""
        learnt = None if outcome.failed else self._learn(outcome.text)
        if learnt is not None:
            self._facts[self._fact] = learnt
            self._turn_to_another()
        else:
            self._tries += 1

    def hear(self, directives: Iterable[pb.TurnDirective]) -> Tactic | None:
        """Follows the sidecar's advice; returns the tactic, or None if the agent goes on as before."""
        tactic = tactic_in(directives)
        if tactic is not None and self._follow(tactic):
            self._tries = 0
            return tactic
        if self._tries >= _HABIT:
            self._turn_to_another()
        return None

    def read(self, block: str) -> Tactic | None:
        """Applies lessons of earlier attempts from the start; returns the tactic, or None if none applies."""
        if any(tactic is Tactic.LOOK_UP for words, tactic in _WORDS if words in block.lower()):
            self._columns_wanted = True
            return Tactic.LOOK_UP
        return None

    def answer(self) -> Decimal:
        """In euros. Call it only when all facts are known."""
        facts = self._facts
        return owed_eur(int(facts["invoiced"]), int(facts["discount"]), int(facts["paid"]), Decimal(facts["rate"]))

    def _follow(self, tactic: Tactic) -> bool:
        """Changes how the current fact is looked up; False when the tactic does not apply to it."""
        match self._fact, tactic:
            case "discount", Tactic.CHANGE_ARGUMENTS:
                self._search = self._search.rpartition(" ")[0] or self._search
            case "invoiced", Tactic.LOOK_UP:
                self._columns_wanted = True
            case "paid", Tactic.ASK_FOR_LESS:
                self._rows = max(10, self._rows // 100)
            case "rate", Tactic.PAUSE:
                self._pause = True
            case _:
                return False
        return True

    def _learn(self, text: str) -> str | None:
        """The fact in a result, or None."""
        found = msgspec.json.decode(text)
        match self._fact:
            case "discount" if found:
                return str(found[0][1])
            case "invoiced" if self._columns_wanted:
                self._amount = next(name for (name,) in found if name.startswith("amount"))
                self._columns_wanted = False
            case "invoiced":
                return str(found[0][0])
            case "paid":
                return str(sum(found["paid_cents"]))
            case "rate":
                return str(found["usd_in_eur"])
        return None

    def _turn_to_another(self) -> None:
        """Moves to the next missing fact, cyclically after the current one."""
        facts = ("discount", "invoiced", "paid", "rate")
        place = facts.index(self._fact) + 1
        self._fact = next((fact for fact in facts[place:] + facts[:place] if fact not in self._facts), "")
        self._tries = 0
