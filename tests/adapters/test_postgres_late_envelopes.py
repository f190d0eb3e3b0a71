"""The envelope of an open turn is up to a minute behind its turn, and nobody sees a difference."""

import asyncpg
import pytest

from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.trace.log import TurnStanding
from sidemirror_server.vocabulary.scope import SERVES_ALL
from tests.conformance.turn_log import ONE, T0, batch, head
from tests.postgres.databases import Databases

MINUTE_US = 60_000_000
ENVELOPES = "SELECT updated_us - $1 FROM sidemirror.open_turn_envelopes"


@pytest.mark.parametrize(
    ("changes_us", "kept_us"),
    [
        ((1, MINUTE_US), 0),
        ((1, MINUTE_US + 1), MINUTE_US + 1),
        ((MINUTE_US + 1, MINUTE_US + 2, 2 * MINUTE_US), MINUTE_US + 1),
        ((-5,), -5),
    ],
)
async def test_an_envelope_follows_once_a_minute(
    changes_us: tuple[int, ...], kept_us: int, databases: Databases
) -> None:
    """And a turn is silent by its own time. Seen to fail when the envelope's time counts, and when it is ahead."""
    async with databases.opened() as database:
        log = PostgresTurnLog(database)
        name = await database.first(ONE, "SELECT current_database(), $1::text, $2::text")
        assert name is not None
        observer = await asyncpg.connect(databases.cluster.url("superuser", name[0]))
        try:
            await log.append(ONE, (batch(head("t", updated=T0), b"{}"),))
            heads = [head("t", number, updated=T0 + change_us) for number, change_us in enumerate(changes_us, start=2)]
            for changed in heads:
                await log.append(ONE, (batch(changed, b"{}"),))
            last_us = T0 + changes_us[-1]
            assert await observer.fetchval(ENVELOPES, T0) == kept_us
            assert await log.idle(SERVES_ALL, last_us, 10) == ()
            assert await log.idle(SERVES_ALL, last_us + 1, 10) == ((ONE, heads[-1]),)
            ended = head("t", len(changes_us) + 2, updated=last_us, standing=TurnStanding.FINISHED)
            await log.append(ONE, (batch(ended, b"{}"),))
            assert await observer.fetchval(ENVELOPES, T0) is None
        finally:
            await observer.close()


async def test_the_longest_silent_come_first(databases: Databases) -> None:
    """By their own times: the envelopes are in the other order. Seen to fail when the order is the envelopes'."""
    async with databases.opened() as database:
        log = PostgresTurnLog(database)
        await log.append(ONE, (batch(head("a", updated=T0), b"{}"),))
        await log.append(ONE, (batch(head("b", updated=T0 + 1), b"{}"),))
        await log.append(ONE, (batch(head("a", 2, updated=T0 + 2), b"{}"),))
        found = await log.idle(SERVES_ALL, T0 + 10, 10)
        assert [turn.turn_id for _, turn in found] == ["b", "a"]
