"""The machine that asks SQLite and Postgres the same of every port, and odd ids, texts and times to ask with.

Compared is all that a caller sees: values, order, what is refused and how. What a store may choose for itself is not:
the numbers of positions (each store's own cursors are followed instead), the ids of reservations, and the order of what
is equally old where no clause gives one.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from sidemirror_server.critique.store import Critiques
from sidemirror_server.memory.finding.search import MemorySearch
from sidemirror_server.memory.recoveries.observations import Observations
from sidemirror_server.memory.store import Memories
from sidemirror_server.memory.trials.trials import Trials
from sidemirror_server.models.ledger import Ledger, Reservation
from sidemirror_server.policy.store import Policies
from sidemirror_server.storage.postgres.critiques import PostgresCritiques
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.ledger import PostgresLedger
from sidemirror_server.storage.postgres.memories import PostgresMemories
from sidemirror_server.storage.postgres.memory_search import PostgresMemorySearch
from sidemirror_server.storage.postgres.observations import PostgresObservations
from sidemirror_server.storage.postgres.policies import PostgresPolicies
from sidemirror_server.storage.postgres.receipts import PostgresReceipts
from sidemirror_server.storage.postgres.requests import PostgresRequests
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.storage.postgres.trials import PostgresTrials
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.storage.sqlite.critiques import SqliteCritiques
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.ledger import SqliteLedger
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.storage.sqlite.observations import SqliteObservations
from sidemirror_server.storage.sqlite.policies import SqlitePolicies
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.storage.sqlite.requests import SqliteRequests
from sidemirror_server.storage.sqlite.sessions import SqliteSessions
from sidemirror_server.storage.sqlite.trials import SqliteTrials
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.storage.sqlite.work import SqliteWork
from sidemirror_server.thinking.store import Sessions
from sidemirror_server.trace.log import Entry, TurnLog
from sidemirror_server.trace.receipts import Receipts
from sidemirror_server.trace.requests import Requests
from sidemirror_server.vocabulary.errors import SidemirrorError
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.work.queue import Work
from tests.postgres.databases import Databases

T = TypeVar("T")

T0 = 1_700_000_000_000_000
SECOND = 1_000_000
ALL = 1_000_000_000
# Whatever an id or a text can hold once it was let in; what sorts apart by language and together by code point.
_ODD = [
    "a",
    "B",
    "b",
    "é",
    "e\u0301",
    "z",
    "Z",
    "שלום",
    "\u202eab",
    "\ufffd",
    "\U0001f642",
    "' OR 1=1 --",
    '"]}',
    "%s $1 :x",
]
names = st.sampled_from(_ODD)
scopes = st.builds(
    Scope, st.sampled_from(["acme", "Acme", "\U0001f642", "שלום"]), st.sampled_from(["shop", "é", "' --"])
)
texts = st.lists(st.sampled_from([*_ODD, " ", "\n", "\x7f", "\u2028", "\\u0000", "\\"]), max_size=6).map("".join)
times = st.integers(0, 4).map(lambda number: T0 + number * SECOND)  # few, so that many are equal
limits = st.sampled_from([1, 2, 3, 7, ALL])
bodies = st.one_of(
    texts.map(str.encode),
    st.binary(max_size=20),
    st.builds(lambda text: (text.encode() * (1 << 20))[: 1 << 20], st.sampled_from(["x", "\ufffd", "\U0001f642", "ש"])),
)
kinds = st.sampled_from(["goal", "dream", "ש"])


def seen(answer: Any) -> Any:
    """An answer without what a store may choose for itself."""
    if isinstance(answer, Entry):
        return (answer.key, answer.group, answer.sequence, answer.at_us, answer.body)
    if isinstance(answer, Reservation):
        return (answer.scope, answer.purpose, answer.day, answer.most)
    if isinstance(answer, tuple):
        return tuple(seen(part) for part in answer)
    return answer


class Stores(msgspec.Struct, frozen=True):
    """Every port of one store that is compared here."""

    log: TurnLog
    sessions: Sessions
    requests: Requests
    work: Work
    ledger: Ledger
    critiques: Critiques
    receipts: Receipts
    policies: Policies
    observations: Observations
    memories: Memories
    search: MemorySearch
    trials: Trials


class BothStores(RuleBasedStateMachine):
    """`databases` and `name` are set by `run`: the server and the database that all examples share in turn."""

    databases: Databases
    name: str

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.stores = self.runner.run(self._open())
        self.places: dict[tuple[Any, ...], Any] = {}

    async def _open(self) -> tuple[Stores, Stores]:
        await self.databases.empty(self.name)
        self.sqlite = await SqliteDatabase.open(Path(self.folder.name), now_us=0)
        self.postgres = await PostgresDatabase.open(self.databases.cluster.url("sidecar", self.name))
        one, other = self.sqlite, self.postgres
        return (
            Stores(
                *(SqliteTurnLog(one), SqliteSessions(one), SqliteRequests(one)),
                *(SqliteWork(one), SqliteLedger(one), SqliteCritiques(one)),
                *(SqliteReceipts(one), SqlitePolicies(one), SqliteObservations(one)),
                *(SqliteMemories(one), SqliteMemorySearch(one), SqliteTrials(one)),
            ),
            Stores(
                *(PostgresTurnLog(other), PostgresSessions(other), PostgresRequests(other)),
                *(PostgresWork(other), PostgresLedger(other), PostgresCritiques(other)),
                *(PostgresReceipts(other), PostgresPolicies(other), PostgresObservations(other)),
                *(PostgresMemories(other), PostgresMemorySearch(other), PostgresTrials(other)),
            ),
        )

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.envelopes_are_in_step()
            self.runner.run(self.sqlite.close())
            self.runner.run(self.postgres.close())
            self.runner.close()
            self.folder.cleanup()

    def ask(self, *asks: Callable[[Stores], Awaitable[Any]]) -> list[Any]:
        """Both stores' answers to the same (or each to its own) question, after they were found to be the same."""
        answers = []
        for stores, question in zip(self.stores, asks * 2 if len(asks) == 1 else asks, strict=True):
            try:
                answers.append(self.answer(question(stores)))
            except SidemirrorError as error:
                answers.append((type(error), str(error)))
        assert seen(answers[0]) == seen(answers[1])
        return answers

    def one(self, question: Callable[[Stores], Awaitable[Any]]) -> Any:
        return self.ask(question)[0]

    def answer(self, question: Awaitable[T]) -> T:
        """One store's answer."""

        async def awaited() -> T:
            return await question

        return self.runner.run(awaited())

    def page(
        self,
        place: tuple[Any, ...],
        begin: bool,
        question: Callable[[Stores, Any], Awaitable[Any]],
        key: Callable[[Any], Any],
    ) -> None:
        """The first page of a list, or the one after that of the last time, while records are added and removed."""
        after = None if begin else self.places.get(place)
        found = self.one(lambda stores: question(stores, after))
        if found:
            self.places[place] = key(found[-1])

    @rule()
    def envelopes_are_in_step(self) -> None:
        """What looks across scopes agrees with what it stands for."""
        assert self.runner.run(self.databases.strays(self.name)) == []


def run(machine: type[BothStores], databases: Databases, examples: int, steps: int, *, shrink: bool) -> None:
    machine.databases = databases
    machine.name = asyncio.run(databases.create())
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
            phases=[Phase.explicit, Phase.reuse, Phase.generate, *([Phase.shrink] if shrink else [])],
        ),
    )
