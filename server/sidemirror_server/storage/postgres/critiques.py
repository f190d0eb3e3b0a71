"""Stored critiques in Postgres."""

from collections.abc import Sequence
from pathlib import Path

from sidemirror_server.critique.flips import Reported
from sidemirror_server.critique.record import CritiqueOutcome
from sidemirror_server.critique.statistics import Figures
from sidemirror_server.critique.store import FIRST_CRITIQUE, CritiqueKey, CritiqueRecord, Verdicts, critique_of
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.sources import note_sources, refuse_erased
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.trace.sources import SourceKind, keys
from sidemirror_server.trace.sources import key as source_key
from sidemirror_server.vocabulary.errors import NotFound
from sidemirror_server.vocabulary.scope import Scope, Served, Serves

_SQL = load_statements(Path(__file__).with_name("critiques.sql"))


class PostgresCritiques:
    """The port `Critiques` on the shared store."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def keep(self, scope: Scope, critique: CritiqueRecord) -> CritiqueRecord:
        key = (*ids_of(scope), critique.critique_id)
        values = (
            *(critique.created_us, critique.provider, critique.confidence_ppm, critique.revise),
            *(critique.turn_id, critique.session_id, critique.body, critique.model, critique.stated_ppm),
        )
        async with self._database.transaction(scope, derives=True) as transaction:
            await refuse_erased(transaction, scope, critique.erasable_by(), critique.since_us())
            compared = keys(SourceKind.CRITIQUE, (critique.compared_to,))
            if await transaction.change(_SQL["keep"], *key, *values):
                subjects = keys(SourceKind.SUBJECT, critique.subject_ids)
                name = source_key(SourceKind.CRITIQUE, critique.critique_id)
                await note_sources(transaction, scope, name, (*subjects, *compared))
            (row,) = await transaction.fetch(_SQL["get"], *key)
        return critique_of(*row)

    async def get(self, scope: Scope, critique_id: str) -> CritiqueRecord | None:
        row = await self._database.first(scope, _SQL["get"], critique_id)
        return None if row is None else critique_of(*row)

    async def list(
        self, scope: Scope, turn_id: str | None, session_id: str | None, after: CritiqueKey | None, limit: int
    ) -> tuple[CritiqueRecord, ...]:
        place = after or FIRST_CRITIQUE
        wanted = (place.created_us, place.critique_id, limit)
        if turn_id is not None:
            rows = await self._database.fetch(scope, _SQL["list_of_turn"], *wanted, turn_id, session_id)
        elif session_id is not None:
            rows = await self._database.fetch(scope, _SQL["list_of_session"], *wanted, session_id)
        else:
            rows = await self._database.fetch(scope, _SQL["list"], *wanted)
        return tuple(critique_of(*row) for row in rows)

    async def report(self, scope: Scope, critique_id: str, outcome: CritiqueOutcome) -> None:
        values = (outcome.outcome, outcome.score, outcome.reported_us, outcome.revised)
        if await self._database.change(scope, _SQL["report"], critique_id, *values) == 0:
            raise NotFound("critique", critique_id)

    async def figures(
        self, scope: Scope, start_us: int, end_us: int, bucket_us: int | None, provider: str | None
    ) -> tuple[Figures, ...]:
        rows = await self._database.fetch(scope, _SQL["figures"], start_us, end_us, bucket_us, provider)
        return tuple(Figures(*row) for row in rows)

    async def reported(
        self, scope: Scope, provider: str, model: str, since_us: int, limit: int
    ) -> tuple[Reported, ...]:
        rows = await self._database.fetch(scope, _SQL["reported"], provider, model, since_us, limit)
        return tuple(Reported(*row) for row in rows)

    async def reported_models(self, scope: Scope, since_us: int) -> tuple[tuple[str, str], ...]:
        rows = await self._database.fetch(scope, _SQL["reported_models"], since_us)
        return tuple((provider, model) for provider, model in rows)

    async def verdicts(self, scope: Scope, turn_ids: Sequence[str]) -> dict[str, Verdicts]:
        rows = await self._database.fetch(scope, _SQL["verdicts"], list(turn_ids))
        return {turn_id: Verdicts(judged, revise) for turn_id, judged, revise in rows}

    async def forget(self, serves: Serves, before_us: int, limit: int, but: Sequence[Served] = ()) -> int:
        forgotten = 0
        async with self._database.transaction(None) as transaction:
            rows = await transaction.fetch_served(serves, limit, _SQL["old"], before_us, but=but)
            async for scope, (ids,) in transaction.by_scope(rows):
                forgotten += await transaction.change(_SQL["forget"], *ids_of(scope), ids)
        return forgotten
