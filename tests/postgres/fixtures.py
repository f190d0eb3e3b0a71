"""The tests' Postgres: one server for all of them, started when the first test asks for it."""

from collections.abc import Iterator

import pytest

from tests.postgres.cluster import Cluster
from tests.postgres.databases import Databases


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    """What it keeps has to survive no crash: tests that kill a server start their own."""
    cluster = Cluster(fsync="off", full_page_writes="off")
    try:
        cluster.start()
        yield Databases(cluster)
    finally:
        cluster.remove()


@pytest.fixture
def durable() -> Iterator[Databases]:
    """A server of the test's own, to be killed and stopped, that keeps what it has said it keeps."""
    cluster = Cluster()
    try:
        cluster.start()
        yield Databases(cluster)
    finally:
        cluster.remove()
