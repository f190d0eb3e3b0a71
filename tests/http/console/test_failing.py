"""Where the sidecar does not answer, or not any more, each part of a screen says so and offers to ask again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import common_pb2, sidecar_pb2
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.assembly import stores
from tests.faults.stores import Fault, Switch, behind
from tests.http.chromium import Browser, Page
from tests.http.console.looking import answered, fail, go, link_to, looked_at, opened, press, shows, texts
from tests.http.sidecars import door
from tests.wire.sidecar import SidecarThread

pytestmark = pytest.mark.slow("a browser is started")
AWAY = "The sidecar does not answer."
STORE_AWAY = "The sidecar answers, but could not do this."


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with door(tmp_path_factory.mktemp("failing"), {"limits__http_requests_per_second": "1000"}) as running:
        yield running


def answers() -> dict[str, Any]:
    """Lists that go on, a lesson and a turn."""
    lesson = memory_pb.Memory(id="l", content="Look twice.", version=1)
    block = common_pb2.ContextBlock(items=[common_pb2.ContextItem(id="l", kind="reflection", text="Look twice.")])
    plan = pb.TurnEntry(sequence=1, turn_id="t", directive=pb.TurnDirective(turn_plan=pb.TurnPlan(context=block)))
    turn = pb.Turn(turn_id="t", session_id="s", task="Count", state=pb.TURN_STATE_FINISHED, last_sequence=9)
    receipt = memory_pb.Receipt(receipt_id="r", turn_id="t", items=[memory_pb.ReceiptItem(id="l")])
    return {
        "ListTurns": pb.ListTurnsResponse(turns=[turn], next_page_token="more"),
        "ListReflections": memory_pb.ListReflectionsResponse(memories=[lesson], next_page_token="more"),
        "ListReceipts": memory_pb.ListReceiptsResponse(receipts=[receipt], next_page_token="more"),
        "ListReflectionVersions": memory_pb.ListReflectionVersionsResponse(versions=[lesson], next_page_token="more"),
        "GetReflection": memory_pb.GetReflectionResponse(memory=lesson),
        "GetLessonStatistics": memory_pb.GetLessonStatisticsResponse(),
        "GetTurn": pb.GetTurnResponse(turn=turn, entries=[plan], next_page_token="more"),
        "GetServerInfo": sidecar_pb2.GetServerInfoResponse(tenant_id="acme"),
    }


# What is pressed, what it asks, and where.
MORE = [
    ("/turns", "Older turns", "ListTurns"),
    ("/lessons", "Older lessons", "ListReflections"),
    ("/lessons/l", "Earlier ones", "ListReceipts"),
    ("/lessons/l", "Other versions", "ListReflectionVersions"),
    ("/turns/t", "Later entries", "GetTurn"),
    ("/turns/t", "Latest entries", "GetTurn"),
]


@pytest.mark.parametrize(("place", "button", "rpc"), MORE, ids=[button for _, button, _ in MORE])
def test_a_button_says_that_it_failed_and_tries_again(
    browser: Browser, server: SidecarThread, place: str, button: str, rpc: str
) -> None:
    """Seen to fail when a refused promise was left alone: the button did nothing."""
    page = answered(browser, server, place, answers())
    shows(page, button)
    fail(page, rpc)
    press(page, "main button", button)
    shows(page, AWAY)
    looked_at(page)
    fail(page)
    press(page, "main button", button)
    page.until(f"!document.querySelector('main [role=alert]')?.innerText.includes({AWAY!r})")


# What fails beside a screen's own question, and what is said to be missing.
BESIDE = [
    ("/lessons", "GetLessonStatistics", "Whether these lessons help: not read."),
    ("/turns/t", "GetLessonStatistics", "Whether these lessons help: not read."),
    ("/turns/t", "ListReceipts", "What the agent asked for by itself: not read."),
    ("/lessons/l", "GetServerInfo", "When what agents are told was changed: not read."),
    ("/turns?session=none", "GetServerInfo", "Where else there may be turns: not read."),
]


@pytest.mark.parametrize(("place", "rpc", "missing"), BESIDE)
def test_what_is_missing_is_named(browser: Browser, server: SidecarThread, place: str, rpc: str, missing: str) -> None:
    """And is there once it can be read. Seen to fail while it was an empty place."""
    given = answers()
    if "session=none" in place:
        given["ListTurns"] = pb.ListTurnsResponse()
    page = answered(browser, server, "/nowhere", given)
    fail(page, rpc)
    go(page, place)
    shows(page, missing)
    looked_at(page)
    fail(page)
    # It is asked again by itself, or by the button.
    page.until(f"!document.body.innerText.includes({missing!r})")


def test_a_link_that_is_opened_while_the_sidecar_is_away_opens_once_it_answers(
    browser: Browser, server: SidecarThread
) -> None:
    """Its code is in no address, and not lost. Seen to fail when the page was closed for good."""
    page = browser.page()
    page.looks()
    page.before(
        "const real = window.fetch; window.away = true;"
        "window.fetch = (asked, options) => window.away ? Promise.reject(new TypeError('x')) : real(asked, options);"
    )
    page.go(link_to(server, "/lessons"))
    shows(page, AWAY)
    shows(page, "The link is good for a minute.")
    assert page.value("location.hash") == "#/lessons"
    looked_at(page)
    page.value("void (window.away = false)")
    shows(page, "Nothing is learned here yet.")


def test_a_page_without_a_link_and_a_screen_that_there_is_none(browser: Browser, server: SidecarThread) -> None:
    page = browser.page()
    page.looks()
    page.go(f"http://127.0.0.1:{server.http_port}/console/")
    shows(page, "`sidemirror console` makes a link to this page.")
    looked_at(page)
    again = opened(browser, server, "/nowhere")
    shows(again, "There is no such screen.")
    looked_at(again)


def test_what_may_not_be_read_says_so(browser: Browser, server: SidecarThread) -> None:
    """A sidecar's refusal, at every width and in both colours."""
    page: Page = opened(browser, server, "/turns/none")
    shows(page, "There is nothing of this id here.")
    looked_at(page)
    go(page, "/turns?session=" + "x" * 129)
    shows(page, "The sidecar refused.")
    looked_at(page)


def test_a_store_that_is_away_is_no_sidecar_that_is_away(
    tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sidecar has answered, and says why it could not. Seen to fail when every UNAVAILABLE was a sidecar that does
    not answer."""
    switch = Switch()
    monkeypatch.setattr(stores, "_embedded", behind(switch, stores._embedded))
    with door(tmp_path) as server:
        page = opened(browser, server, "/nowhere")
        switch.turn(Fault.AWAY)
        try:
            for place in ("/turns/t", "/lessons", "/recoveries"):
                go(page, place, STORE_AWAY)
                told = " ".join(texts(page, "main [role=alert]"))
                for text in ("told so", "`sidemirror doctor` say more", "This page asks again by itself."):
                    assert text in told
                assert AWAY not in told
            looked_at(page)
        finally:
            switch.turn(Fault.NONE)
        # It is asked again by itself.
        shows(page, "No failure is counted here yet.")


@pytest.mark.parametrize(
    ("place", "missing"),
    [
        ("/lessons/l", "When what agents are told was changed: not read. The store does not answer."),
        ("/turns/t", "Since when: not read. The store does not answer."),
    ],
)
def test_changes_that_the_store_does_not_tell_are_not_none(
    browser: Browser, server: SidecarThread, place: str, missing: str
) -> None:
    """Seen to fail when an answer without changes meant that there are none on record."""
    given = answers()
    given["GetServerInfo"] = sidecar_pb2.GetServerInfoResponse(spend_unknown=True)
    given["GetTurn"].turn.is_shadow = True
    given["GetTurn"].turn.start_time.GetCurrentTime()
    page = answered(browser, server, place, given)
    shows(page, missing)
    assert "is not on record" not in page.value("document.querySelector('main').innerText")
    looked_at(page)
