"""The console follows what happens, and announces what it has missed."""

import base64
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from tests.http.callers import framed
from tests.http.chromium import Browser
from tests.http.console.looking import go, link_to, opened, press, settled, shows
from tests.http.sidecars import door
from tests.wire.calls import called, failed, finished
from tests.wire.sidecar import thinking

pytestmark = pytest.mark.slow("a browser is started")
# Answers a watch once with these bytes; every other request goes on its way.
_ANSWERS = """
const real = window.fetch;
let first = true;
window.fetch = (asked, options) => {
  if (!first || !String(asked.url ?? asked).endsWith("/WatchTurns")) return real(asked, options);
  first = false;
  const body = Uint8Array.from(atob("%s"), (one) => one.charCodeAt(0));
  return Promise.resolve(new Response(body, {headers: {"content-type": "application/connect+proto"}}));
};
"""


def test_turns_come_and_change_while_the_list_is_open(tmp_path: Path, browser: Browser) -> None:
    with door(tmp_path) as server, thinking(server) as stub:
        page = opened(browser, server)
        page.until("document.querySelector('.follows')?.innerText === 'Live'")
        shows(page, "No turn is recorded here yet")
        stub.StartTurn(pb.StartTurnRequest(turn_id="t", task="Count the orders"), timeout=60)
        shows(page, "Count the orders")
        assert page.value("document.querySelector('td .badge').innerText") == "open"
        stub.FinishTurn(pb.FinishTurnRequest(turn_id="t", outcome="TASK_OUTCOME_SUCCESS"), timeout=60)
        page.until("document.querySelector('td .badge')?.innerText === 'success'")


def test_an_open_turn_grows_until_it_ends(tmp_path: Path, browser: Browser) -> None:
    """Only its own entries are added, each once; the viewer's place stays."""
    with door(tmp_path) as server, thinking(server) as stub:
        for name in ("t", "other"):
            stub.StartTurn(pb.StartTurnRequest(turn_id=name, session_id="s", task=name), timeout=60)
        page = opened(browser, server, "/turns/t")
        page.until("document.querySelector('.follows')?.innerText === 'Live'")
        for name in ("other", "t"):
            events = [called("sql", f"SELECT '{name}'", "a", f"{name}-1"), failed("no such table: x", "a", f"{name}-2")]
            stub.ReportEvents(pb.ReportEventsRequest(turn_id=name, events=events), timeout=60)
        shows(page, "SELECT 't'")
        stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=[finished(outcome=1)]), timeout=60)
        page.until("document.querySelector('.title .badge')?.innerText === 'success'")
        shows(page, "summary")
        numbers = page.value("[...document.querySelectorAll('.entry > .number')].map((one) => Number(one.innerText))")
        assert numbers == [*range(1, len(numbers) + 1)]
        assert "SELECT 'other'" not in page.value("document.body.innerText")
        # Nothing more can come of it.
        page.until("document.querySelector('.follows')?.innerText === ''")


def test_a_long_turn_stays_live(tmp_path: Path, browser: Browser) -> None:
    """It is opened at its begin, and follows what happens all the same; its latest entries are one click away, and
    links lead to entries beyond the first page. Seen to fail when only a turn that was read to its end was watched."""
    with door(tmp_path, {"limits__http_requests_per_second": "1000"}) as server, thinking(server) as stub:
        stub.StartTurn(pb.StartTurnRequest(turn_id="t", session_id="s", task="Count"), timeout=60)
        events = [called("sql", f"SELECT {number}", str(number), f"e{number}") for number in range(450)]
        stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=events), timeout=60)

        def goes_on(number: int) -> None:
            event = called("sql", f"SELECT {number}", str(number), f"e{number}")
            stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=[event]), timeout=60)

        page = opened(browser, server, "/turns/t")
        page.until("document.querySelector('.follows')?.innerText === 'Live'")
        shows(page, "200 entries of 452")
        goes_on(450)
        shows(page, "200 entries of 453")
        press(page, "main > button", "Latest entries")
        shows(page, "SELECT 450")
        goes_on(451)
        shows(page, "SELECT 451")
        # From the begin to the end by hand.
        go(page, "/turns")
        go(page, "/turns/t", "200 entries of 454")
        for shown in ("400 entries of 454", "454 entries"):
            press(page, "main > button", "Later entries")
            shows(page, shown)
        goes_on(452)
        shows(page, "SELECT 452")
        # Links to what is not there yet, also on a turn that is open already.
        go(page, "/turns")
        for query, named in (("event=e300", "SELECT 300"), ("at=430", "SELECT 427"), ("event=e7", "SELECT 7")):
            page.value(f"void (location.hash = '/turns/t?{query}')")
            page.until(f"document.querySelector('.entry.named')?.innerText.includes('{named}')")
        page.value("void (location.hash = '/turns/t?event=nothing')")
        shows(page, "No entry of this turn is what the link names")


def test_a_gap_is_announced(tmp_path: Path, browser: Browser) -> None:
    """As the sidecar sends it where entries after the cursor were removed; its words are shown as text."""
    gap = pb.TurnDirective(gap=pb.Gap(reason="entries were removed <b>because</b> of their age"))
    with door(tmp_path) as server, thinking(server) as stub:
        heartbeat = next(stub.WatchTurns(pb.WatchTurnsRequest(new_only=True), timeout=60)).entry
        answer = pb.WatchTurnsResponse(entry=pb.TurnEntry(cursor=heartbeat.cursor, directive=gap))
        body = framed(answer.SerializeToString()) + framed(b"{}", flags=2)
        page = browser.page()
        page.before(_ANSWERS % base64.b64encode(body).decode())
        page.go(link_to(server, "/turns"))
        shows(page, "There is a gap: entries were removed <b>because</b> of their age")
        # The stream has ended, which is announced, and another one goes on.
        page.until("document.querySelector('.follows')?.innerText === 'Live'")
        shows(page, "There is a gap")


def test_a_sidecar_that_ends_is_announced(tmp_path: Path, browser: Browser) -> None:
    with door(tmp_path) as server, thinking(server) as stub:
        stub.StartTurn(pb.StartTurnRequest(turn_id="t", task="Count the orders"), timeout=60)
        page = opened(browser, server)
        shows(page, "Count the orders")
        page.until("document.querySelector('.follows')?.innerText === 'Live'")
    shows(page, "The connection is lost; trying again.")
    # What was read stays, and what is asked anew says what to do.
    shows(page, "Count the orders")
    page.value("void (location.hash = '/lessons')")
    settled(page)
    shows(page, "Is `sidemirror serve --http` running?")
