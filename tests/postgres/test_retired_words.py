"""A reflection does not say what a retired lesson says, on Postgres.

Seen to fail where a turn's reflections are recorded without a look at what is retired.
"""

from pathlib import Path

from tests.faults.sidecars import running
from tests.postgres.databases import Databases
from tests.wire.retired_words import retired_words_are_not_told


async def test_a_reflection_does_not_say_what_a_retired_lesson_says(databases: Databases, tmp_path: Path) -> None:
    async with databases.fresh() as name:
        url = databases.cluster.url("sidecar", name)
        async with running(tmp_path, database_url=url) as served:
            await retired_words_are_not_told(served)
