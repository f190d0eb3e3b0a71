import gc
import logging
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import hypothesis
import pytest

from sidemirror_server.assembly import erasing, sidecar
from sidemirror_server.memory.finding import embeddings as meanings
from sidemirror_server.rpc.boundary import recorded_turns
from sidemirror_server.rpc.thinking import report_events
from sidemirror_server.storage.migration import Migration
from sidemirror_server.storage.sqlite import database
from sidemirror_server.storage.sqlite.migrate import migrate, read_migrations
from sidemirror_server.turns import critiquing, evictions, lessons, reflecting

# A property is not about time: on a busy machine Hypothesis' own deadline per example fails at random, and its look at
# how long examples take to make. The same examples in each run, so that no change is held up by what another one did;
# `--hypothesis-profile=search` looks for new ones.
_timeless = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("sidemirror", _timeless, derandomize=True, database=None)
hypothesis.settings.register_profile("search", _timeless, derandomize=False)
hypothesis.settings.load_profile("sidemirror")

# In the background of a shell Ctrl-C is ignored, and by each process that a test starts from there too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# And under `nohup` a hangup.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

pytest_plugins = [
    "tests.faults.machine",
    "tests.folder_times",
    "tests.postgres.fixtures",
    "tests.redis.fixtures",
    "tests.selection",
]

# Where compiled modules are not kept, each process that a test starts compiles the whole product, which takes half a
# second of a core. They are kept outside of the sources then.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(Path(sys.prefix) / "bytecode")

# In the tests' own process the server waits so many times as long before it goes without something: what comes of it,
# and not how soon on a machine that has no time, is what they are about.
_TIMES = 10
_WAITS = (
    (evictions, "_MOMENT_S"),
    (critiquing, "_STORE_PATIENCE_S"),
    (lessons, "_KEEP_S"),
    (lessons, "_MEANING_S"),
    (lessons, "_READ_S"),
    (meanings, "_QUESTION_S"),
    (recorded_turns, "_MOMENT_S"),
    (reflecting, "_LESSONS_S"),
    (report_events, "_TELL_S"),
)
# An erasure on Postgres waits, twice, for sidecars of another version: there are none beside this process.
_SETTLE_S = 0.05


def pytest_collection_finish() -> None:
    """What is there now stays to the end. To look through all of it costs a fifth of a second, each time that a server
    of a test is cleared away."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def patient_server() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module, name in _WAITS:
            patch.setattr(module, name, _TIMES * getattr(module, name))
        for module in (sidecar, erasing):
            patch.setattr(module, "SETTLE_S", _SETTLE_S)
        yield


@pytest.fixture(scope="session", autouse=True)
def migrated_template() -> Iterator[None]:
    """An empty embedded store is copied from one that was migrated once: to apply each migration takes three quarters
    of what an opening takes, and a write to the disk for each. What a test migrates itself is migrated."""
    every = read_migrations()
    # A test's server opens its store in a thread of its own.
    template, one_copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False), threading.Lock()
    migrate(template, every, 0)

    def copied(connection: sqlite3.Connection, known: Sequence[Migration], now_us: int) -> tuple[int, ...]:
        if known != every or connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            return migrate(connection, known, now_us)
        with one_copy:
            template.backup(connection)
        connection.execute("UPDATE schema_migrations SET applied_us = ?", (now_us,))
        return tuple(migration.number for migration in every)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "migrate", copied)
        yield
    template.close()


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A command that logs to the standard error of one test must not do so in the next, where that is closed."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
