"""How the agent decides: a few fixed rules where another agent has a language model, so that it needs no key.

It knows four facts to find and one first idea for each. When a step brings nothing, its habit is the habit of weak
agents (recorded runs are full of it): the same call again, a few times, and then something
else. It has a better way for each fact, but takes it only when somebody says so. Whether anybody does is the one thing
that differs between two attempts: `hear` is all that the sidecar has to do with it.
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
    """What the agent can do other than the same again; the value is how it says so."""

    CHANGE_ARGUMENTS = "search with fewer words"
    LOOK_UP = "look up which columns there are"
    ASK_FOR_LESS = "ask for fewer rows"
    PAUSE = "pause before the next try"


# What the agent makes of a suggested action, as a model would by reading it: words, and what they mean to it.
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
    """What the last of the directives that the agent understands asks for; None when there is none."""
    tactic: Tactic | None = None
    for directive in directives:
        if directive.HasField("nudge") and directive.nudge.pattern in _CIRCLES:
            tactic = Tactic.CHANGE_ARGUMENTS
        elif directive.HasField("reflection") and directive.reflection.status == common_pb2.RESULT_STATUS_OK:
            said = directive.reflection.suggested_action.lower()
            tactic = next((meant for words, meant in _WORDS if words in said), tactic)
    return tactic


class DemoStep(msgspec.Struct, frozen=True):
    """What to do next."""

    call: DemoCall
    pause_s: float = 0.0


class Policy:
    """Chooses each step from what is known and from what was heard."""

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
        """Learns from what the step brought."""
        learnt = None if outcome.failed else self._learn(outcome.text)
        if learnt is not None:
            self._facts[self._fact] = learnt
            self._turn_to_another()
        else:
            self._tries += 1

    def hear(self, directives: Iterable[pb.TurnDirective]) -> Tactic | None:
        """Listens to the sidecar, and returns what the agent will do because of it; None if it goes on as before."""
        tactic = tactic_in(directives)
        if tactic is not None and self._follow(tactic):
            self._tries = 0
            return tactic
        if self._tries >= _HABIT:
            self._turn_to_another()
        return None

    def read(self, block: str) -> Tactic | None:
        """Takes to heart what earlier attempts have taught: what to do from the start; None if nothing of it helps."""
        if any(tactic is Tactic.LOOK_UP for words, tactic in _WORDS if words in block.lower()):
            self._columns_wanted = True
            return Tactic.LOOK_UP
        return None

    def answer(self) -> Decimal:
        """In euros. Only when all facts are known."""
        facts = self._facts
        return owed_eur(int(facts["invoiced"]), int(facts["discount"]), int(facts["paid"]), Decimal(facts["rate"]))

    def _follow(self, tactic: Tactic) -> bool:
        """Changes the way to the present fact; False when this tactic is of no use there."""
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
        """The fact that a result holds, or None."""
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
        """The next fact that is missing, after the present one and then from the start."""
        facts = ("discount", "invoiced", "paid", "rate")
        place = facts.index(self._fact) + 1
        self._fact = next((fact for fact in facts[place:] + facts[:place] if fact not in self._facts), "")
        self._tries = 0
