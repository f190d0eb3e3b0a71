"""What docs/operations.md says about a shared Postgres, done as written on a real one that asks for passwords."""

import asyncio
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from sidemirror.v1.thinking_pb2 import StartTurnRequest
from tests.acceptance.documents import blocks, section
from tests.acceptance.product import COMMAND, Serving, environment, ran
from tests.faults.sidecars import connected
from tests.postgres.cluster import Cluster

HEADING = "Where data is kept, and what is durable"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster(fsync="off")
    try:
        made.start()
        yield made
    finally:
        made.remove()


def written(language: str) -> list[str]:
    """The lines of the section's only block in that language."""
    (block,) = [block for block in blocks(HEADING) if block.language == language]
    return block.text.splitlines()


def here(command: str, cluster: Cluster) -> str:
    """The same with the host of the tests' server; `uv run` is what has put this test's programs on its path."""
    assert "@db/sidemirror" in command
    return command.replace("@db/sidemirror", f"@/sidemirror?host={cluster.socket}").replace("uv run ", "")


async def as_administrator(cluster: Cluster, *statements: str, database: str = "postgres") -> None:
    connection = await asyncpg.connect(cluster.url(database=database))
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def owner_may_not_create_vector(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("CREATE EXTENSION vector")
    finally:
        await connection.close()


async def start_a_turn(address: str) -> None:
    async with connected(address) as stub:
        await stub.StartTurn(StartTurnRequest(turn_id="t"), timeout=60)


def test_as_written(cluster: Cluster, tmp_path: Path) -> None:
    # The server asks them for the passwords that the page gives them.
    asked = "GRANT asked_for_password TO sidemirror_owner, sidecar"
    asyncio.run(as_administrator(cluster, "CREATE ROLE asked_for_password", *written("sql"), asked))
    migrate, doctor, serve = (here(command, cluster) for command in written("sh"))

    told = ran(["bash", "-c", re.sub(r"(postgresql:\S+)", r"'\1'", migrate)], environment(), tmp_path)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.splitlines()[-2:] == ["the schema is up to date", "sidecar may use it"]
    owner = re.search(r"postgresql:\S+", migrate)
    assert owner is not None
    asyncio.run(owner_may_not_create_vector(owner[0]))
    (statement,) = re.findall(r"`(CREATE EXTENSION \w+)`", section(HEADING))
    asyncio.run(as_administrator(cluster, statement, database="sidemirror"))

    url = doctor.removeprefix("SIDEMIRROR_DATABASE_URL=").split()[0]
    assert url == serve.removeprefix("SIDEMIRROR_DATABASE_URL=").split()[0]
    assert (doctor.split()[1:], serve.split()[1:]) == (["sidemirror", "doctor"], ["sidemirror", "serve"])
    known = environment(SIDEMIRROR_DATABASE_URL=url, SIDEMIRROR_ADDRESS="127.0.0.1:0")
    told = ran(["sidemirror", "doctor"], known, tmp_path)
    assert told.returncode == 0, told.stdout
    assert "Nothing to change." in told.stdout
    with subprocess.Popen(
        [str(COMMAND), "serve"], stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=known
    ) as process:
        server = Serving(process)
        try:
            server.wait_until_serving()
            asyncio.run(start_a_turn(server.address))
            assert server.stop() == 0
        finally:
            process.kill()
    assert list(tmp_path.iterdir()) == []

    wrong = environment(SIDEMIRROR_DATABASE_URL=url.replace("change-me-2", "no"), SIDEMIRROR_ADDRESS="127.0.0.1:0")
    told = ran(["sidemirror", "serve"], wrong, tmp_path)
    assert told.returncode == 78
    assert "InvalidPasswordError (28P01): the password is wrong" in told.stderr.splitlines()[-1]
