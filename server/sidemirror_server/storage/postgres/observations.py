"""Observations of failures in Postgres."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from sidemirror_server.memory.recoveries.observation import Observation
from sidemirror_server.memory.recoveries.observations import (
    MOST_ROWS,
    UnlearnedTurn,
    heard_us,
    key_of,
    observation_body,
    observation_in,
    sources_of,
    subjects_in,
)
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.sources import note_sources, refuse_erased
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.vocabulary.ids import TurnId
from sidemirror_server.vocabulary.scope import Scope, Served, Serves

_SQL = load_statements(Path(__file__).with_name("observations.sql"))


class PostgresObservations:
    """The port `Observations` on the shared store. Triggers on `turns` keep the list of unlearned turns."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def claim(self, serves: Serves, now_us: int, until_us: int, limit: int) -> tuple[UnlearnedTurn, ...]:
        async with self._database.transaction(None) as transaction:
            rows = await transaction.fetch_served(serves, limit, _SQL["claim"], now_us, until_us)
        return tuple(UnlearnedTurn(Scope(*tuple(row)[:2]), *tuple(row)[2:]) for row in rows)

    async def keep(
        self,
        scope: Scope,
        turn_id: TurnId,
        observations: Sequence[Observation],
        again_us: int | None = None,
        most: int = MOST_ROWS,
    ) -> None:
        ids = ids_of(scope)
        async with self._database.transaction(scope) as transaction:
            if observations:
                turns = sorted({turn for one in observations for turn in _turns(one)})
                held = {row[0] for row in await transaction.fetch(_SQL["hold"], *ids, turns)}
                kept = [one for one in observations if held.issuperset(_turns(one))]
                await transaction.change(_SQL["put"], *ids, *_columns(kept))
                for signature in sorted({one.signature for one in kept}):
                    await transaction.change(_SQL["shorten"], *ids, signature, most)
            if again_us is None:
                await transaction.change(_SQL["learned"], *ids, turn_id)
            else:
                await transaction.change(_SQL["again"], *ids, turn_id, again_us)

    async def of_signature(self, scope: Scope, signature: str) -> tuple[Observation, ...]:
        rows = await self._database.fetch(scope, _SQL["of_signature"], signature)
        return tuple(observation_in(row[0]) for row in rows)

    async def signatures(self, scope: Scope, after: str, limit: int) -> tuple[str, ...]:
        rows = await self._database.fetch(scope, _SQL["signatures"], after, limit)
        return tuple(row[0] for row in rows)

    async def put(
        self, scope: Scope, observation: Observation, subjects: Collection[str] = (), most: int = MOST_ROWS
    ) -> bool:
        ids, own_id, heard = ids_of(scope), observation.observation_id, heard_us(observation)
        sources = (*sources_of(observation), *subjects)
        async with self._database.transaction(scope, derives=True) as transaction:
            await refuse_erased(transaction, scope, sources, heard)
            if await transaction.change(_SQL["put"], *ids, *_columns([observation], turns=[("", "")])) == 0:
                return False
            await transaction.change(_SQL["note_imported"], *ids, own_id, heard)
            await note_sources(transaction, scope, key_of(observation), sources)
            gone = await transaction.fetch(_SQL["shorten"], *ids, observation.signature, most)
        return own_id not in {row[0] for row in gone}

    async def forget(self, serves: Serves, before_us: int, limit: int, but: Sequence[Served] = ()) -> int:
        removed = 0
        async with self._database.transaction(None) as transaction:
            rows = await transaction.fetch_served(serves, limit, _SQL["old_imported"], before_us, but=but)
            async for scope, (observation_ids,) in transaction.by_scope(rows):
                removed += await transaction.change(_SQL["forget"], *ids_of(scope), observation_ids)
        return removed

    async def subjects(self, scope: Scope, records: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        rows = await self._database.fetch(scope, _SQL["subjects"], list(records))
        return {row[0]: subjects_in(row[1]) for row in rows}


def _turns(one: Observation) -> tuple[str, str]:
    return one.where.turn_id, one.last_turn_id or one.where.turn_id


def _columns(
    observations: Sequence[Observation], turns: Sequence[tuple[str, str]] | None = None
) -> tuple[list[object], ...]:
    """`turns`: others than those that the observations name."""
    of_turns = [_turns(one) for one in observations] if turns is None else turns
    return (
        [one.observation_id for one in observations],
        [turn_id for turn_id, _ in of_turns],
        [last_turn_id for _, last_turn_id in of_turns],
        [one.signature for one in observations],
        [one.at_us for one in observations],
        [observation_body(one) for one in observations],
    )
