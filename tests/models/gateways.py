"""A gateway in a test's hand: a real ledger in a fresh folder, and a model that does what the test says."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.caps import Caps
from sidemirror_server.models.embedder import Embedder
from sidemirror_server.models.embedding import PaidEmbedder
from sidemirror_server.models.gateway import Gateway, Provider, Route
from sidemirror_server.models.language_model import AnswerT, Ask, Completion, Purpose
from sidemirror_server.models.ledger import Amount, Ledger, Level, day_of
from sidemirror_server.models.prices import OwnPrice, Prices
from sidemirror_server.models.profiles import Profile, most_input_tokens
from sidemirror_server.models.spending import Spending
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.policy.record import Cap
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.ledger import SqliteLedger
from sidemirror_server.vocabulary.clock import Clock, SystemClock
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance.language_model import ask
from tests.policy.made import policies_on

SCOPE = Scope("acme", "shop")
# A token of the prompt costs a millionth of a USD, one of the answer ten times as much.
PRICE = OwnPrice(1.0, 10.0)
TOOK = Usage("test", "scripted", input_tokens=1_000, output_tokens=100)
TOOK_NANO_USD = 2_000_000
ANSWER = MidTurnAnswer(reflection="as told")


class Scripted:
    """A model whose calls answer, or fail with what `failures` holds, the first one first."""

    provider = "test"
    name = "scripted"

    def __init__(self) -> None:
        self.failures: list[ModelFailed] = []
        self.asked: list[Ask[MidTurnAnswer]] = []
        self.given_s: list[float] = []
        self.counted: int | None = None
        # Calls wait for it before they answer.
        self.gate = asyncio.Event()
        self.gate.set()
        self.usage = TOOK

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        self.asked.append(ask)  # type: ignore[arg-type]  # nothing else is asked here
        self.given_s.append(deadline_s)
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        assert isinstance(ANSWER, ask.answer_type)
        return Completion(ANSWER, self.usage)

    async def count_tokens(self, ask: Ask[AnswerT], deadline_s: float) -> int | None:
        return self.counted


def failed(*, retryable: bool = True, after_s: float | None = 0.0, usage: Usage | None = None) -> ModelFailed:
    return ModelFailed(ResultStatus.FAILED_MODEL, "as told", retryable=retryable, retry_after_s=after_s, usage=usage)


NOTHING = Usage("test", "scripted")


class Desk(msgspec.Struct, frozen=True):
    """The gateway and what stands around it."""

    gateway: Gateway
    model: Scripted
    provider: Provider
    spending: Spending
    ledger: Ledger
    clock: Clock
    policies: PoliciesInForce

    async def used(self) -> Amount:
        """What counts against the caps today, once the ledger knows of every call."""
        await self.spending.settled()
        day = day_of(self.clock.now_us())
        return (await self.ledger.used(SCOPE, Purpose.MID_TURN_REFLECTION.value, day))[Level.TOTAL]


@contextlib.asynccontextmanager
async def desk(
    folder: Path,
    *,
    caps: Caps | None = None,
    clock: Clock | None = None,
    slots: int = 8,
    profile: Profile | None = None,
    own_price: OwnPrice | None = PRICE,
    ledger: Callable[[Ledger], Ledger] = lambda made: made,
) -> AsyncIterator[Desk]:
    clock = clock or SystemClock()
    async with sqlite_database(folder) as database:
        kept = ledger(SqliteLedger(database))
        model = Scripted()
        provider = Provider(model, Prices(model.provider, model.name, None, own_price), slots, clock)
        policies = policies_on(database, clock)
        spending = Spending(kept, caps or Caps(), clock, policies)
        route = Route(provider, profile or Profile())
        gateway = Gateway(dict.fromkeys(Purpose, route), spending, clock, chance=lambda: 0.0)
        try:
            yield Desk(gateway, model, provider, spending, kept, clock, policies)
        finally:
            await gateway.close()


def paid(
    model: Embedder, database: SqliteDatabase, clock: Clock | None = None, caps: Caps | None = None
) -> PaidEmbedder:
    """The one way to an embedding model, with a ledger on this store."""
    clock = clock or SystemClock()
    spending = Spending(SqliteLedger(database), caps or Caps(), clock, policies_on(database, clock))
    return PaidEmbedder(model, Prices(model.provider, model.name, None, PRICE), 2, spending, clock)


def usd(amount: float) -> Cap:
    return Cap(nano_usd=round(amount * 1e9))


def question(number: int = 0) -> Ask[MidTurnAnswer]:
    """A question; another number, another question."""
    return msgspec.structs.replace(ask(), prompt=f"How is it going? {number}")


async def refused(made: Desk, asked: Ask[Any] | None = None, deadline_s: float = 10.0, **given: Any) -> ModelFailed:
    """How the question fails; without `asked` the first one."""
    with pytest.raises(ModelFailed) as caught:
        await made.gateway.ask(SCOPE, asked or question(), deadline_s, **given)
    return caught.value


def most(asked: Ask[MidTurnAnswer]) -> tuple[int, int]:
    """What is reserved for a call: tokens, and their price in nano USD."""
    tokens = most_input_tokens(asked)
    return tokens + asked.max_tokens, tokens * 1_000 + asked.max_tokens * 10_000
