"""Tenants whose rows are told apart at sight, and attempts of each to get at another one's (`escape_attempts.sql`)."""

import asyncio
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import asyncpg

from sidemirror_server.storage.postgres.migrate import migrate
from tests.postgres.cluster import binaries
from tests.postgres.databases import Databases

# The times that EXPLAIN ANALYZE measures are no numbers of rows.
_TIMES = re.compile(r"actual time=[\d.]+")
_ATTEMPTS = Path(__file__).with_name("escape_attempts.sql")
UNSEEN = Path(__file__).with_name("escape_attempts_unseen.sql")
# How many rows each tenant has in each table: numbers that nothing else comes to, since those in rows begin at 1001.
ROWS = {"acme": 179, "globex": 211, "initech": 307}
PROJECT = "shop"
_EVERY_TENANT = sum(ROWS.values())
# What all of them have spent.
SPENT = 918_273
# What a column's CHECK allows; by table and column, else by column. Everything else is made of the column's type.
_ALLOWED = {
    "jobs.state": "'queued'",
    "memories.state": "'active'",
    "memories.kind": "'reflection'",
    "pruning_log.kind": "'turns'",
    "standing": "'open'",
    "arm": "'shown'",
    "importance": "0.5",
    "confidence": "0.5",
    "score": "0.5",
    "fraction": "0.5",
    "confidence_ppm": "5",
}
_OF_TYPE = {
    "text": "'canary-' || tenant || '-n' || n",
    "bytea": "convert_to('canary-' || tenant || '-n' || n, 'UTF8')",
    "bigint": "n",
    "smallint": "n",
    "integer": "n",
    "boolean": "false",
    "double precision": "n",
    "text[]": "ARRAY['canary-' || tenant || '-n' || n]",
    "real[]": "ARRAY[n, n]::real[]",
}
# The project of tables with one row for each. A policy of no project is the tenant's.
_ONE_A_PROJECT = {
    "memory_project_envelopes": f"'{PROJECT}' || n",
    "policies": f"CASE n WHEN 1001 THEN '' WHEN 1002 THEN '{PROJECT}' ELSE '{PROJECT}' || n END",
    "policy_envelopes": f"CASE n WHEN 1001 THEN '' WHEN 1002 THEN '{PROJECT}' ELSE '{PROJECT}' || n END",
}
_TABLES = """
SELECT tables.relname::text AS name, array_agg(columns.attname::text ORDER BY columns.attnum) AS columns,
       array_agg(format_type(columns.atttypid, NULL) ORDER BY columns.attnum) AS types
FROM pg_class AS tables JOIN pg_attribute AS columns ON columns.attrelid = tables.oid
WHERE tables.relnamespace = 'sidemirror'::regnamespace AND tables.relkind = 'r' AND columns.attnum > 0
      AND NOT columns.attisdropped AND tables.relname NOT IN ('schema_migrations', 'role_tenants')
GROUP BY tables.relname ORDER BY tables.relname
"""


class Attempt(NamedTuple):
    """`script`: what psql reads; `name` says what it tries."""

    family: str
    name: str
    script: str


class Told(NamedTuple):
    """What came of an attempt. `read`: lines with something of another tenant; `counted`: lines with the number of its
    rows, or what all have spent; `summed`: lines with the number of all tenants' rows, or of all others', except what a
    scan of a whole table left out: every role can have that (docs/postgres-tenants.md, "What remains")."""

    attempt: Attempt
    said: str
    read: list[str]
    counted: list[str]
    summed: list[str]


async def tables_of(databases: Databases, database: str) -> list[str]:
    connection = await asyncpg.connect(databases.cluster.url("superuser", database))
    try:
        return [row["name"] for row in await connection.fetch(_TABLES)]
    finally:
        await connection.close()


async def make_tenants(databases: Databases, database: str) -> None:
    """Gives every tenant its role and its rows, in every table."""
    for tenant in ROWS:
        await databases.as_superuser(f"DROP ROLE IF EXISTS {role_of(tenant)}")
        await databases.as_superuser(f"CREATE ROLE {role_of(tenant)} LOGIN")
    bound = {role_of(tenant): tenant for tenant in ROWS}
    await migrate(databases.cluster.url("owner", database), list(bound), 0, tenants=bound)
    connection = await asyncpg.connect(databases.cluster.url("superuser", database))
    try:
        await connection.execute("SET session_replication_role = replica")
        for table in await connection.fetch(_TABLES):
            values = [
                _value(table["name"], column, kind)
                for column, kind in zip(table["columns"], table["types"], strict=True)
            ]
            await connection.execute(
                f"INSERT INTO sidemirror.{table['name']} ({', '.join(table['columns'])}) OVERRIDING SYSTEM VALUE "
                f"SELECT {', '.join(values)} FROM unnest($1::text[], $2::int[]) AS of (tenant, rows), "
                "generate_series(1001, 1000 + rows) AS n",
                list(ROWS),
                list(ROWS.values()),
            )
        sums = "INSERT INTO sidemirror.ledger_envelopes VALUES ('', 1, '', $1, $1), ('', 1, 'reflect', $1, $1)"
        await connection.execute(sums, SPENT)
        await connection.execute("ANALYZE")
    finally:
        await connection.close()


def role_of(tenant: str) -> str:
    return f"role_of_{tenant}"


def _value(table: str, column: str, kind: str) -> str:
    if column == "tenant_id":
        return "tenant"
    if column == "project_id":
        return _ONE_A_PROJECT.get(table, f"'{PROJECT}'")
    return _ALLOWED.get(f"{table}.{column}") or _ALLOWED.get(column) or _OF_TYPE[kind]


def attempts(tables: list[str], own: str, foreign: str, path: Path = _ATTEMPTS) -> Iterator[Attempt]:
    """All of the file, by `own`, at `foreign`."""
    kinds = {
        "table": tables,
        "envelope": [table for table in tables if table.endswith("_envelopes")],
        "payload": [table for table in tables if not table.endswith("_envelopes")],
    }
    words = {
        "own": own,
        "foreign": foreign,
        "own_role": role_of(own),
        "foreign_role": role_of(foreign),
        "own_hex": own.encode().hex(),
        "foreign_hex": foreign.encode().hex(),
        "project_hex": PROJECT.encode().hex(),
    }
    family, each = "", ""
    for part in re.split(r"^(?=-- (?:family|each|attempt): )", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        kind, _, value = head.removeprefix("-- ").partition(": ")
        if kind == "family":
            family = value
        elif kind == "each":
            each = value
        else:
            for table in kinds[each] if each else [""]:
                script = re.sub(
                    r"\{(\w+)\}",
                    lambda word, of=table: {**words, "table": of}[word[1]],
                    body,
                )
                yield Attempt(family, f"{value} {table}".rstrip(), script)
            each = ""


async def tried(databases: Databases, database: str, attempt: Attempt, own: str) -> Told:
    """psql as the tenant's role, which goes on after errors; what it says on both streams."""
    command = [str(binaries() / "bin" / "psql"), "-X", "-A", "-d", databases.cluster.url(role_of(own), database)]
    done = await asyncio.to_thread(
        subprocess.run, command, input=attempt.script.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        check=False, timeout=60,
    )  # fmt: skip
    said = done.stdout.decode(errors="replace")
    return judged(attempt, said, own)


def judged(attempt: Attempt, said: str, own: str) -> Told:
    """Counts are looked for as numbers by themselves; `psql` writes bytes as hexadecimal digits. How many pages a plan
    has read is no number of rows, and may come to the same."""
    others = [tenant for tenant in ROWS if tenant != own]
    canaries = [f"canary-{tenant}-" for tenant in others]
    marks = [*canaries, *(canary.encode().hex() for canary in canaries)]
    numbers = {str(ROWS[one]) for one in others} | {str(SPENT)}
    sums = {str(_EVERY_TENANT), str(_EVERY_TENANT - ROWS[own])}
    # The attempt's own words come back in errors and in what was set.
    lines = [line for line in said.splitlines() if not line.startswith(("LINE ", "QUERY:", "CONTEXT:"))]
    given = attempt.script
    return Told(
        attempt,
        said,
        [
            line
            for line in lines
            if any(mark in line for mark in marks) and line not in given and not _echoes(line, given)
        ],
        [line for line in lines if numbers & _numbers(line)],
        [line for at, line in enumerate(lines) if sums & _numbers(line) and not _of_a_whole_table(lines[: at + 1])],
    )


def _numbers(line: str) -> set[str]:
    return set() if line.strip().startswith("Buffers: ") else set(re.findall(r"\b\d+\b", _TIMES.sub("", line)))


def _of_a_whole_table(lines: list[str]) -> bool:
    """The last line says how many rows a scan of a whole table left out."""
    scans = [line for line in lines if re.search(r"\bScan\b.* \(cost=", line)]
    return "Rows Removed by Filter" in lines[-1] and bool(scans) and "Seq Scan on " in scans[-1]


def _echoes(line: str, given: str) -> bool:
    """Every canary of the line is one that the attempt named itself."""
    named = set(re.findall(r"canary-\w+-n\d+", line))
    return line in given or (bool(named) and all(one in given for one in named))


async def rows_of_others(databases: Databases, database: str, own: str) -> dict[str, tuple[int, str]]:
    """By table, how many rows the other tenants have and a digest of them, wherever they stand in the table."""
    connection = await asyncpg.connect(databases.cluster.url("superuser", database))
    try:
        found = {}
        for table in await connection.fetch(_TABLES):
            row = await connection.fetchrow(
                "SELECT count(*), coalesce(md5(string_agg(r::text, chr(10) ORDER BY r::text)), '') "
                f"FROM sidemirror.{table['name']} AS r WHERE tenant_id <> $1",
                own,
            )
            found[table["name"]] = (row[0], row[1])
        return found
    finally:
        await connection.close()
