"""The worker on the shared store, which takes fewer texts than the embedded one."""

from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.work.queue import JobState
from tests.postgres.databases import Databases
from tests.work.test_worker import put, raising, when, working

KEY = "AKIA" + "Q3EGRZ7TYWX2MNP4"


async def test_an_error_that_cannot_be_stored_is_stored(databases: Databases) -> None:
    """Postgres refuses a NUL and an unpaired surrogate: the job would never leave the queue. Seen to fail when the
    worker keeps the text as it is."""
    async with databases.opened() as database:
        work = PostgresWork(database)
        await put(work, attempts=1)
        async with working(work, {"kind": raising(ValueError(f"a\x00b \ud800 {KEY}"))}):
            job = await when(work, lambda job: job.state is JobState.DEAD)
    assert job.last_error is not None
    assert job.last_error.startswith("ValueError: a\ufffdb \ufffd ")
    assert KEY not in job.last_error
