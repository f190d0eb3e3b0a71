"""Policies in SQLite."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import asdict

from sidemirror_server.policy.record import (
    PolicyLevel,
    RetentionPeriods,
    ScopePolicies,
    StoredPolicy,
    policy_body,
    stored_policy,
)
from sidemirror_server.policy.store import PolicyChange, replaced
from sidemirror_server.storage.sql import columns_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.vocabulary.scope import Scope, Served, Serves

_SQL = load_statements(Path(__file__).with_name("policies.sql"))


class SqlitePolicies:
    """The port `Policies` on the embedded store."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def get(self, scope: Scope) -> ScopePolicies:
        rows = self._database.read(lambda connection: connection.execute(_SQL["get"], columns_of(scope)).fetchall())
        found = {project_id: stored_policy(version, body) for project_id, version, body in rows}
        return ScopePolicies(found.get(scope.project_id), found.get(""))

    async def set(self, scope: Scope, change: PolicyChange, now_us: int) -> StoredPolicy | None:
        key = columns_of(scope) if change.level is PolicyLevel.PROJECT else {**columns_of(scope), "project_id": ""}

        def write(connection: sqlite3.Connection) -> StoredPolicy | None:
            row = connection.execute(_SQL["row"], key).fetchone()
            (others,) = connection.execute(_SQL["others"], key).fetchone()
            stored = replaced(scope, None if row is None else stored_policy(*row), others, change, now_us)
            if stored is None:
                connection.execute(_SQL["remove"], key)
            else:
                retains = stored.policy.retention != RetentionPeriods()
                row = {"version": stored.version, "retains": retains, "body": policy_body(stored)}
                connection.execute(_SQL["put"], {**key, **row})
            return stored

        return await self._database.write(write)

    async def retained(self, serves: Serves) -> Mapping[Served, RetentionPeriods]:
        def look_up(connection: sqlite3.Connection) -> dict[Served, RetentionPeriods]:
            found = [connection.execute(_SQL["retained"], asdict(entry)).fetchall() for entry in serves.entries]
            return {
                Served(tenant_id, project_id or None): stored_policy(version, body).policy.retention
                for rows in found
                for tenant_id, project_id, version, body in rows
            }

        return self._database.read(look_up)

    async def deciding(self, serves: Serves) -> frozenset[Served]:
        def look_up(connection: sqlite3.Connection) -> frozenset[Served]:
            found = [connection.execute(_SQL["deciding"], asdict(entry)).fetchall() for entry in serves.entries]
            return frozenset(Served(tenant_id, project_id or None) for rows in found for tenant_id, project_id in rows)

        return self._database.read(look_up)
