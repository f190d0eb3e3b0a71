"""Databases for the tests of the Postgres store."""

from collections.abc import AsyncIterator

import pytest

from tests.postgres.databases import Databases


@pytest.fixture
async def name(databases: Databases) -> AsyncIterator[str]:
    """A migrated database of the test's own."""
    async with databases.fresh() as fresh:
        yield fresh
