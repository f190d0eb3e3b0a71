"""When cyclic garbage among old objects is collected."""

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from sidemirror_server.operations import garbage
from tests.faults.waiting import until


class _Circle:
    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.enable()


def _old_circle() -> "weakref.ref[_Circle]":
    circle = _Circle()
    for generation in (0, 1):  # it survives both
        gc.collect(generation)
    return weakref.ref(circle)


def _look_at_younger(times: int) -> None:
    for _ in range(times):
        gc.collect(1)


@pytest.mark.usefixtures("as_before")
async def test_old_garbage_is_left_to_the_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "_EVERY_S", 0.01)
    garbage.wait()
    assert not gc.isenabled()
    garbage.collect_from_here()
    assert gc.isenabled()
    left = _old_circle()
    # Python would look at old objects now, with its own thresholds.
    _look_at_younger(20)
    kept = [_Circle() for _ in range(10_000)]
    assert left() is not None
    collecting = asyncio.create_task(garbage.collect_old())
    await until(lambda: left() is None)
    collecting.cancel()
    assert kept


@pytest.mark.usefixtures("as_before")
async def test_nothing_is_looked_at_where_little_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "_EVERY_S", 0.001)
    garbage.wait()
    gc.collect()
    garbage.collect_from_here()
    before = gc.get_stats()[2]["collections"]
    collecting = asyncio.create_task(garbage.collect_old())
    await asyncio.sleep(0.1)
    collecting.cancel()
    assert gc.get_stats()[2]["collections"] == before
