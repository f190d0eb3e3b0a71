"""Policies in Postgres."""

from collections.abc import Mapping
from pathlib import Path

from asyncpg import Record
from msgspec.structs import astuple

from sidemirror_server.policy.record import (
    PolicyLevel,
    RetentionPeriods,
    ScopePolicies,
    StoredPolicy,
    policy_body,
    stored_policy,
)
from sidemirror_server.policy.store import PolicyChange, replaced
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.sql import load_statements
from sidemirror_server.vocabulary.scope import Scope, Served, Serves

_SQL = load_statements(Path(__file__).with_name("policies.sql"))


class PostgresPolicies:
    """The port `Policies` on the shared store."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def get(self, scope: Scope) -> ScopePolicies:
        rows = await self._database.fetch(scope, _SQL["get"])
        found = {project_id: stored_policy(version, body) for project_id, version, body in rows}
        return ScopePolicies(found.get(scope.project_id), found.get(""))

    async def set(self, scope: Scope, change: PolicyChange, now_us: int) -> StoredPolicy | None:
        key = (scope.tenant_id, scope.project_id if change.level is PolicyLevel.PROJECT else "")
        # In turn, so that the count and the version still hold when the row is written.
        async with self._database.transaction(scope, in_turn=("policies", scope.tenant_id)) as transaction:
            row = await transaction.first(_SQL["row"], *key)
            ((others,),) = await transaction.fetch(_SQL["others"], scope.tenant_id)
            stored = replaced(scope, None if row is None else stored_policy(*row), others, change, now_us)
            if stored is None:
                await transaction.change(_SQL["remove"], *key)
            else:
                await transaction.change(_SQL["put"], *key, stored.version, policy_body(stored))
        return stored

    async def retained(self, serves: Serves) -> Mapping[Served, RetentionPeriods]:
        async with self._database.transaction(None, reads_only=True) as transaction:
            found = [await transaction.fetch(_SQL["retained"], *astuple(entry)) for entry in serves.entries]
        return {Served(row[0], row[1] or None): _retention(row) for rows in found for row in rows}

    async def deciding(self, serves: Serves) -> frozenset[Served]:
        async with self._database.transaction(None, reads_only=True) as transaction:
            found = [await transaction.fetch(_SQL["deciding"], *astuple(entry)) for entry in serves.entries]
        return frozenset(Served(tenant_id, project_id or None) for rows in found for tenant_id, project_id in rows)


def _retention(row: Record) -> RetentionPeriods:
    """The retention of an envelope, whose importance is in millionths."""
    spend_days, critique_days, memory_days, importance, memory_count, trace_days = tuple(row)[2:]
    return RetentionPeriods(
        *(spend_days, critique_days, memory_days, None if importance is None else importance / 1e6),
        *(memory_count, trace_days),
    )
