"""Stored critiques in SQLite."""

import json
import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sidemirror_server.critique.flips import Reported
from sidemirror_server.critique.record import CritiqueOutcome
from sidemirror_server.critique.statistics import Figures
from sidemirror_server.critique.store import FIRST_CRITIQUE, CritiqueKey, CritiqueRecord, Verdicts, critique_of
from sidemirror_server.storage.sql import columns_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.served import left_out, remove_served
from sidemirror_server.storage.sqlite.sources import note_sources, refuse_erased
from sidemirror_server.trace.sources import SourceKind, key, keys
from sidemirror_server.vocabulary.errors import NotFound
from sidemirror_server.vocabulary.scope import Scope, Served, Serves

_SQL = load_statements(Path(__file__).with_name("critiques.sql"))


class SqliteCritiques:
    """The port `Critiques` on the embedded store."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def keep(self, scope: Scope, critique: CritiqueRecord) -> CritiqueRecord:
        values = {
            **_key(scope, critique.critique_id),
            "created_us": critique.created_us,
            "provider": critique.provider,
            "confidence_ppm": critique.confidence_ppm,
            "revise": int(critique.revise),
            "turn_id": critique.turn_id,
            "session_id": critique.session_id,
            "body": critique.body,
            "model": critique.model,
            "stated_ppm": critique.stated_ppm,
        }

        def change(connection: sqlite3.Connection) -> CritiqueRecord:
            refuse_erased(connection, scope, critique.erasable_by(), critique.since_us())
            compared = keys(SourceKind.CRITIQUE, (critique.compared_to,))
            if connection.execute(_SQL["keep"], values).rowcount:
                subjects = keys(SourceKind.SUBJECT, critique.subject_ids)
                note_sources(connection, scope, key(SourceKind.CRITIQUE, critique.critique_id), (*subjects, *compared))
            return critique_of(*connection.execute(_SQL["get"], _key(scope, critique.critique_id)).fetchone())

        return await self._database.write(change)

    async def get(self, scope: Scope, critique_id: str) -> CritiqueRecord | None:
        wanted = _key(scope, critique_id)
        row = self._database.read(lambda connection: connection.execute(_SQL["get"], wanted).fetchone())
        return None if row is None else critique_of(*row)

    async def list(
        self, scope: Scope, turn_id: str | None, session_id: str | None, after: CritiqueKey | None, limit: int
    ) -> tuple[CritiqueRecord, ...]:
        place = after or FIRST_CRITIQUE
        name = "list_of_turn" if turn_id is not None else "list" if session_id is None else "list_of_session"
        wanted = {
            **_key(scope, place.critique_id),
            "created_us": place.created_us,
            "turn_id": turn_id,
            "session_id": session_id,
            "limit": limit,
        }
        # Not on the loop: a page of bodies, which contain whole responses, takes too long.
        rows = await self._database.search(lambda connection: connection.execute(_SQL[name], wanted).fetchall())
        return tuple(critique_of(*row) for row in rows)

    async def report(self, scope: Scope, critique_id: str, outcome: CritiqueOutcome) -> None:
        values = {
            **_key(scope, critique_id),
            "outcome": outcome.outcome,
            "score": outcome.score,
            "reported_us": outcome.reported_us,
            "revised": outcome.revised,
        }
        if await self._database.write(lambda connection: connection.execute(_SQL["report"], values).rowcount) == 0:
            raise NotFound("critique", critique_id)

    async def figures(
        self, scope: Scope, start_us: int, end_us: int, bucket_us: int | None, provider: str | None
    ) -> tuple[Figures, ...]:
        wanted = {
            **columns_of(scope),
            "start_us": start_us,
            "end_us": end_us,
            "bucket_us": bucket_us,
            "provider": provider,
        }
        rows = await self._database.search(lambda connection: connection.execute(_SQL["figures"], wanted).fetchall())
        return tuple(Figures(*row) for row in rows)

    async def reported(
        self, scope: Scope, provider: str, model: str, since_us: int, limit: int
    ) -> tuple[Reported, ...]:
        wanted = {**columns_of(scope), "provider": provider, "model": model, "since_us": since_us, "limit": limit}
        rows = self._database.read(lambda connection: connection.execute(_SQL["reported"], wanted).fetchall())
        return tuple(Reported(row[0], bool(row[1]), _boolean(row[2]), _boolean(row[3]), row[4]) for row in rows)

    async def reported_models(self, scope: Scope, since_us: int) -> tuple[tuple[str, str], ...]:
        wanted = {**columns_of(scope), "since_us": since_us}
        return tuple(
            await self._database.search(
                lambda connection: connection.execute(_SQL["reported_models"], wanted).fetchall()
            )
        )

    async def verdicts(self, scope: Scope, turn_ids: Sequence[str]) -> dict[str, Verdicts]:
        wanted = {**columns_of(scope), "turn_ids": json.dumps(list(turn_ids))}
        rows = self._database.read(lambda connection: connection.execute(_SQL["verdicts"], wanted).fetchall())
        return {turn_id: Verdicts(judged, revise) for turn_id, judged, revise in rows}

    async def forget(self, serves: Serves, before_us: int, limit: int, but: Sequence[Served] = ()) -> int:
        forget = partial(remove_served, serves, limit, _SQL["forget"], {"before_us": before_us, **left_out(but)})
        return await self._database.write(forget, long=True)


def _boolean(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _key(scope: Scope, critique_id: str) -> dict[str, Any]:
    return {**columns_of(scope), "critique_id": critique_id}
