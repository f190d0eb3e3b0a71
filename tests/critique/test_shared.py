"""Identical critiques in flight share one call to a model that costs something, and cancelling one cancels no other."""

import asyncio
import contextlib
from pathlib import Path

import msgspec
import pytest

from sidemirror_server.critique.critique import critique
from sidemirror_server.models.caps import Caps
from sidemirror_server.models.gateway import Gateway, Provider, Route
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.models.prices import OwnPrice, Prices
from sidemirror_server.models.spending import Spending
from sidemirror_server.storage.sqlite.ledger import SqliteLedger
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus
from tests.adapters.sqlite_store import sqlite_database
from tests.critique.cast import FINE, MATERIAL, SCOPE, Cast, until


@contextlib.asynccontextmanager
async def priced(folder: Path, cast: Cast):  # type: ignore[no-untyped-def]  # a gateway
    clock = SystemClock()
    async with sqlite_database(folder) as database:
        provider = Provider(cast, Prices(cast.provider, cast.name, None, OwnPrice(1.0, 1.0)), 8, clock)
        spending = Spending(SqliteLedger(database), Caps(), clock)
        gateway = Gateway(dict.fromkeys(Purpose, Route(provider)), spending, clock)
        yield gateway
        await gateway.close()


async def test_a_hundred_identical_critiques_make_one_call(tmp_path: Path) -> None:
    cast = Cast(held=(Purpose.CRITIQUE,), critique=FINE)
    async with priced(tmp_path, cast) as gateway:
        asking = [asyncio.create_task(critique(gateway, SCOPE, MATERIAL, 10.0)) for _ in range(100)]
        await until(lambda: len(cast.asked) == 1)
        for task in asking[1:]:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking[1]
        cast.let_go()
        verdict = await asking[0]
    assert (verdict.status, verdict.confidence, len(cast.asked)) == (ResultStatus.OK, 0.9, 1)


async def test_other_material_and_other_tenants_make_their_own(tmp_path: Path) -> None:
    cast = Cast(critique=FINE)
    async with priced(tmp_path, cast) as gateway:
        other = msgspec.structs.replace(MATERIAL, response="Another response.")
        await asyncio.gather(
            critique(gateway, SCOPE, MATERIAL, 10.0),
            critique(gateway, SCOPE, other, 10.0),
            critique(gateway, Scope("other", "shop"), MATERIAL, 10.0),
        )
    assert len(cast.asked) == 3
