"""How soon the console shows something, with 100,000 turns in the store, beyond an empty page of the same server."""

import asyncio
from pathlib import Path

import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.http.console import serving
from tests.faults.figures import show
from tests.faults.sidecars import connected
from tests.http.chromium import Page, chromium
from tests.http.console.looking import link_to
from tests.http.sidecars import door
from tests.wire.calls import TIMEOUT_S

TURNS = 100_000
# Of a page's opening until its data stand there.
MOST_MS = 300.0
TRIES = 7
AT_ONCE = 30
_SHOWN_MS = """new Promise((resolve) => {
  const look = () => document.querySelector('tbody tr') ? requestAnimationFrame(() => resolve(performance.now()))
    : requestAnimationFrame(look);
  look();
})"""
_EMPTY_MS = "new Promise((resolve) => requestAnimationFrame(() => resolve(performance.now())))"


def median_ms(page: Page, url: str, script: str) -> float:
    """From the navigation on, the median of the tries."""
    took = []
    for _ in range(TRIES):
        page.go("about:blank")
        page.go(url)
        took.append(float(page.value(script)))
    return sorted(took)[TRIES // 2]


async def fill(address: str) -> None:
    """So many turns that ended, many at once."""
    numbers = iter(range(TURNS))
    async with connected(address) as stub:

        async def some() -> None:
            for number in numbers:
                name = f"turn-{number}"
                start = pb.StartTurnRequest(turn_id=name, session_id=f"s{number % 500}", task=f"Count {number}")
                await stub.StartTurn(start, timeout=TIMEOUT_S)
                end = pb.FinishTurnRequest(turn_id=name, outcome=common_pb2.TASK_OUTCOME_SUCCESS)
                await stub.FinishTurn(end, timeout=TIMEOUT_S)

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(some())


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_the_first_useful_paint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = tmp_path / "empty.html"
    empty.write_text("<!doctype html><title>Empty</title><p>Empty")
    real = serving.open_routes
    path = "/console/empty"
    routes = "sidemirror_server.assembly.http_door.open_routes"
    monkeypatch.setattr(routes, lambda links: {**real(links), path: serving._file(empty)})
    settings = {"limits__http_requests_per_second": "1000"}
    with door(tmp_path, settings) as server, chromium() as browser:
        asyncio.run(fill(server.address))
        page = browser.page()
        page.go(link_to(server, "/turns"))
        base = f"http://127.0.0.1:{server.http_port}"
        shown = median_ms(page, f"{base}/console/", _SHOWN_MS)
        beside = median_ms(page, f"{base}{path}", _EMPTY_MS)
    show(f"first useful paint {shown:.0f} ms, an empty page {beside:.0f} ms")
    assert shown - beside < MOST_MS
