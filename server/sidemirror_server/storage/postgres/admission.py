"""What a new connection must show before it is used: a role that row level security holds, and a schema that we know.

Asked of every connection and not only at start: a failover may lead to another database, and a migration may have come
meanwhile.
"""

from collections.abc import Sequence
from pathlib import Path

import asyncpg
import msgspec

from sidemirror_server.storage.postgres.migrate import Migration, Recorded, check_schema, refused
from sidemirror_server.storage.sql import load_statements

_SQL = load_statements(Path(__file__).with_name("database.sql"))


class Standing(msgspec.Struct, frozen=True):
    """What is to be known of a server. `commit_waits`: commits wait for the disk by themselves; when not, they must be
    told to. `is_durable`: what has reached the disk outlives a crash of the machine."""

    commit_waits: bool = True
    is_durable: bool = True


async def admit(connection: asyncpg.Connection, known: Sequence[Migration]) -> Standing:
    """What the server is like.

    Raises StoreRefused, saying why, when the connection may not be used.
    """
    # In one transaction: behind a pooler each statement could otherwise reach another server process.
    await connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")
    standing = await connection.fetchrow(_SQL["role"])
    role = standing["role"]
    if standing["is_superuser"]:
        raise refused(f"role {role!r} is a superuser, or may become one: row level security would not hold it")
    if standing["bypasses"]:
        raise refused(f"role {role!r} has BYPASSRLS, or may take it: row level security would not hold it")
    if standing["owns"]:
        raise refused(f"role {role!r} owns the tables, or may act as their owner: use one that owns nothing")
    if not standing["is_migrated"]:
        raise refused("this database has no schema of ours: run `sidemirror migrate`")
    if not standing["is_granted"]:
        raise refused(f"role {role!r} may not use the schema: run `sidemirror migrate --grant-to {role}`")
    if standing["unprotected"]:
        raise refused(f"row level security is not in force on {', '.join(standing['unprotected'])}")
    check_schema([Recorded(*row) for row in await connection.fetch(_SQL["migrations"])], known)
    await connection.execute("COMMIT")
    return Standing(commit_waits=standing["synchronous_commit"] != "off", is_durable=standing["fsync"] == "on")
