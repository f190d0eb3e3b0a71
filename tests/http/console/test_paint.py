"""How soon each screen shows something in a large store, beyond an empty page of the same server."""

import asyncio
import statistics
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.http.console import serving
from tests.faults.figures import show
from tests.http.chromium import Page, chromium
from tests.http.console.filled import Filled, fill
from tests.http.console.large import enlarge
from tests.http.console.looking import link_to
from tests.http.sidecars import door
from tests.wire.calls import TIMEOUT_S
from tests.wire.sidecar import SidecarThread, thinking

TURNS = 100_000
# Of a page's opening until its data stand there, beyond an empty page.
MOST_MS = 300.0
TRIES = 9
OLDER_PAGES = 20
SETTINGS = {"limits__http_requests_per_second": "1000"}
# Notes when the first data have been painted, of a screen or of the empty page. The second frame follows the paint.
_NOTES_PAINT = """(() => {
  const painted = () => requestAnimationFrame(() => { window.paintedMs = performance.now(); });
  const look = () => requestAnimationFrame(document.querySelector('tbody tr, .facts dd, body > p') ? painted : look);
  look();
})()"""
# Of a click on the button that brings more until there are more rows.
_MORE_MS = """new Promise((resolve) => {
  const began = performance.now(), rows = () => document.querySelectorAll('tbody tr').length, before = rows();
  const look = () => requestAnimationFrame(() => rows() > before ? resolve(performance.now() - began) : look());
  document.querySelector('main > p > button').click();
  look();
})"""


def paint_ms(page: Page, url: str) -> tuple[float, float]:
    """From the navigation on, the best of the tries, because others may use the machine; and the processor's time of
    the page's thread."""
    took, worked = [], []
    for _ in range(TRIES):
        page.go("about:blank")
        before = page.worked_ms()
        page.go(url)
        page.until("window.paintedMs")
        took.append(float(page.value("window.paintedMs")))
        after = page.worked_ms()
        # Another process has begun anew, with a clock of its own.
        worked.append(after - before if after >= before else after)
    return min(took), min(worked)


def screens(filled: Filled, memories: int) -> dict[str, str]:
    """What is looked at, by its address."""
    by_words = (
        {"lessons by words": "/lessons?text=w5q+w400q"} if memories else {}
    )  # the words of those that are filled in
    middle = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() - TURNS * 5))
    return {
        "turns": "/turns",
        "turns half way back": f"/turns?until={middle}",
        "turns with an outcome": "/turns?outcome=timeout",
        "turns of a session": "/turns?session=session-7",
        "a turn": f"/turns/{filled.turn_id}",
        "lessons": "/lessons",
        "lessons in a state": "/lessons?state=active",
        **by_words,
        "a lesson": f"/lessons/{filled.lesson_id}",
        "recoveries": "/recoveries",
        "a recovery": f"/recoveries/{quote(filled.signature)}",
        "now": "/now",
    }


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("memories", [0, 1_000_000], ids=["100000-turns", "1000000-memories"])
def test_the_first_useful_paint(memories: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = tmp_path / "empty.html"
    empty.write_text("<!doctype html><title>Empty</title><link rel=icon href=data:,><p>Empty")
    real = serving.open_routes
    path = "/console/empty"
    routes = "sidemirror_server.assembly.http_door.open_routes"
    monkeypatch.setattr(routes, lambda *given: {**real(*given), path: serving._file(empty)})
    with door(tmp_path, SETTINGS) as server:
        filled = fill(server)
    began_s = time.monotonic()
    asyncio.run(enlarge(tmp_path / "data", TURNS, memories))
    show(f"{TURNS:,} turns and {memories:,} memories more, filled in {time.monotonic() - began_s:.0f} s")
    with door(tmp_path, SETTINGS) as server, chromium() as browser:
        page = browser.page()
        page.looks()
        page.before(_NOTES_PAINT)
        page.go(link_to(server, "/turns"))
        page.until("window.paintedMs")
        base = f"http://127.0.0.1:{server.http_port}"
        beside, _ = paint_ms(page, f"{base}{path}")
        beyond: dict[str, float] = {}
        figures = []
        for name, place in screens(filled, memories).items():
            took, worked = paint_ms(page, f"{base}/console/#{place}")
            beyond[name] = took - beside
            figures.append(f"{name:24}{took - beside:8.0f} ms{worked:8.0f} ms")
        told = f"first useful paint, beyond an empty page's {beside:.0f} ms, and the page's own processor time"
        show("\n".join([told, *figures]))
        page.go("about:blank")
        page.go(f"{base}/console/#/turns")
        page.until("window.paintedMs")
        more = [float(page.value(_MORE_MS)) for _ in range(OLDER_PAGES)]
        show(f"older turns, {OLDER_PAGES} clicks: best {min(more):.0f} ms, median {statistics.median(more):.0f} ms")
        first, last = pages_ms(server)
    assert {name: ms for name, ms in beyond.items() if ms >= MOST_MS} == {}
    assert min(more) < MOST_MS
    # The list's last pages cost what its first ones do.
    assert last < 2 * first


def pages_ms(server: SidecarThread) -> tuple[float, float]:
    """How long a page of the list of turns takes, the median of its first and of its last hundred pages."""
    request, took_ms = pb.ListTurnsRequest(page_size=50), list[float]()
    with thinking(server) as stub:
        while not took_ms or request.page_token:
            began_s = time.perf_counter()
            request.page_token = stub.ListTurns(request, timeout=TIMEOUT_S).next_page_token
            took_ms.append(1_000 * (time.perf_counter() - began_s))
    first, last = statistics.median(took_ms[:100]), statistics.median(took_ms[-100:])
    show(f"{len(took_ms):,} pages of turns: the first 100 {first:.1f} ms, the last 100 {last:.1f} ms (medians)")
    return first, last
