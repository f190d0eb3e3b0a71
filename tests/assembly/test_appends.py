"""How many appends to the log are made side by side, by the store that has it."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server import assembly
from sidemirror_server.assembly import stores as opened
from sidemirror_server.assembly.custom_stores import CustomStores
from sidemirror_server.settings import load

NOBODYS = "postgresql://sidemirror@127.0.0.1:1/sidemirror"


async def appends_of(folder: Path, **settings: str) -> int:
    async with assembly.assemble(load({"data_dir": str(folder), **settings}, {})) as sidecar:
        return sidecar.recorder._appends


async def test_the_embedded_store_commits_many_at_once(tmp_path: Path) -> None:
    assert await appends_of(tmp_path) == 64


@pytest.mark.parametrize(("connections", "appends"), [("1", 1), ("4", 2), ("9", 4)])
async def test_a_shared_store_keeps_connections_for_calls(connections: str, appends: int, tmp_path: Path) -> None:
    """It need not be there."""
    shared = {"database_url": NOBODYS, "database_connections": connections}
    assert await appends_of(tmp_path, **shared) == appends


@pytest.mark.parametrize(("ports", "appends"), [(opened.PORTS, 1), (("goal_reflections",), 64)])
async def test_another_packages_log_gets_one(
    ports: tuple[str, ...], appends: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextlib.asynccontextmanager
    async def own(_url: str, main: Mapping[str, Any]) -> AsyncIterator[CustomStores]:
        yield CustomStores({port: main[port] for port in ports}, "own", "nothing", lambda: True)

    monkeypatch.setattr(opened, "opener_of", lambda _name: own)
    assert await appends_of(tmp_path, store="own") == appends
