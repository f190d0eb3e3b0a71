"""No words are told anew that a retired lesson says, on Postgres."""

from pathlib import Path

import pytest

from tests.faults.sidecars import running
from tests.postgres.databases import Databases
from tests.wire.retired_words import KINDS


@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_retired_lesson_says_is_not_told(kind: str, databases: Databases, tmp_path: Path) -> None:
    """Seen to fail where what is made is told unlooked at: by a turn's reflection, by Reflect without a turn, by
    GenerateReflection, in a goal's block and by the job of a goal's report."""
    async with databases.fresh() as name:
        url = databases.cluster.url("sidecar", name)
        async with running(tmp_path, database_url=url) as served:
            await KINDS[kind](served)
