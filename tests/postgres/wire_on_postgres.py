"""A plugin of pytest (`-p tests.postgres.wire_on_postgres`): the wire tests as they are, each sidecar on a database of
its own. SIDEMIRROR_TEST_CLUSTER says where they are made (the URL of a superuser), SIDEMIRROR_TEST_URL how a sidecar
reaches one, with `%s` for its name: the server itself, or a pooler before it."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import asyncpg
import pytest

from sidemirror_server.settings import Settings, load
from tests.wire import sidecar

_names: dict[str, str] = {}


def _make_sure_of_database(folder: str) -> None:
    """Each data folder has its database, the same for a sidecar that is started again on it."""
    if folder not in _names:
        _names[folder] = f"wire_{os.getpid()}_{len(_names)}"
        asyncio.run(_create(_names[folder]))


async def _create(name: str) -> None:
    connection = await asyncpg.connect(os.environ["SIDEMIRROR_TEST_CLUSTER"])
    try:
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE template_sidemirror OWNER owner")
    finally:
        await connection.close()


def _load(flags: Mapping[str, str], environment: Mapping[str, str] | None = None) -> Settings:
    folder = str(Path(flags["data_dir"]).parent)
    url = os.environ["SIDEMIRROR_TEST_URL"].replace("%s", _names[folder])
    # Streams get to say goodbye within what the store's two seconds leave of the grace period. A watch looks into the
    # log once more before it does, and that is no longer a matter of microseconds.
    return load({**flags, "database_url": url, "grace_s": "3"}, environment)


def _start(thread: sidecar.SidecarThread) -> None:
    # Before the sidecar's own loop runs: this one ends first.
    _make_sure_of_database(str(thread.folder))
    _start_thread(thread)


_start_thread = sidecar.SidecarThread.start


def pytest_configure(config: pytest.Config) -> None:
    vars(sidecar)["load"] = _load
    type.__setattr__(sidecar.SidecarThread, "start", _start)
