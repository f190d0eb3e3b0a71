"""The console's page in a real Chromium: opened by a link, it streams WatchTurns by connect-es and can do no more."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from tests.http.callers import bearing, request
from tests.http.chromium import Browser, chromium
from tests.http.sidecars import door, token_of
from tests.wire.calls import called
from tests.wire.sidecar import SidecarThread, thinking

pytestmark = pytest.mark.slow("a browser is started")
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SidecarThread]:
    with door(tmp_path) as running:
        yield running


def link_to(server: SidecarThread) -> str:
    headers = bearing(token_of(server.folder / "data"))
    code = request(server.http_port, "/console/link", b"", headers).json["code"]
    return f"http://127.0.0.1:{server.http_port}/console/#{code}"


def test_a_link_opens_a_page_that_watches(server: SidecarThread, browser: Browser) -> None:
    """Turns come while the page watches, and their texts stay text."""
    page = browser.page()
    with thinking(server) as stub:
        stub.StartTurn(pb.StartTurnRequest(turn_id="before"), timeout=60)
        page.go(link_to(server))
        page.until("document.getElementById('state').textContent === 'Watching'")
        page.until("document.getElementById('entries').innerText.includes('before')")
        stub.StartTurn(pb.StartTurnRequest(turn_id=HOSTILE), timeout=60)
        events = [called("look", "{}")]
        stub.ReportEvents(pb.ReportEventsRequest(turn_id=HOSTILE, events=events), timeout=60)
    page.until("document.getElementById('entries').innerText.includes('toolCalled')")
    cells = page.value("[...document.querySelectorAll('#entries td:first-child')].map((cell) => cell.textContent)")
    assert {*cells} == {"before", HOSTILE}
    assert page.value("document.title") == "Sidemirror"
    assert page.value("document.querySelectorAll('#entries img, #entries script').length") == 0
    # The code is in no address and no history, and opens nothing again.
    assert page.value("location.href") == f"http://127.0.0.1:{server.http_port}/console/"
    assert page.told() == []


def test_the_page_is_kept_over_a_reload_and_by_no_other_tab(server: SidecarThread, browser: Browser) -> None:
    page = browser.page()
    link = link_to(server)
    page.go(link)
    page.until("document.getElementById('state').textContent === 'Watching'")
    page.go(f"http://127.0.0.1:{server.http_port}/console/")
    page.until("document.getElementById('state').textContent === 'Watching'")
    other = browser.page()
    for url, told in ((link.partition("#")[0], "makes a link"), (link, "not good any more")):
        other.go("about:blank")
        other.go(url)
        other.until(f"document.getElementById('state').textContent.includes('{told}')")
    assert other.value("document.getElementById('entries').rows.length") == 0


def test_the_pages_policy_holds(server: SidecarThread, browser: Browser) -> None:
    """Neither scripts of the page's text nor other servers, nor HTML from a text. Seen to fail without the policy."""
    page = browser.page()
    page.go(link_to(server))
    page.until("document.getElementById('state').textContent === 'Watching'")
    assert page.value("fetch('http://127.0.0.1:1/').then(() => 'sent', (error) => error.name)") == "TypeError"
    assert any("Content Security Policy" in line for line in page.told())
    assert page.value("try { document.body.innerHTML = '<b>x</b>' } catch (error) { error.name }") == "TypeError"
    page.value(
        "void document.body.appendChild(Object.assign(document.createElement('a'), {id: 'a', href: 'javascript:"
        "document.title=1'})).click()"
    )
    assert page.value("document.title") == "Sidemirror"
    # What the page holds may only read.
    began = (
        "fetch('/sidemirror.v1.ThinkingService/StartTurn', {method: 'POST', body: '{}', headers: {"
        "'content-type': 'application/json', authorization: `Bearer ${sessionStorage.getItem('sidemirror-token')}`}})"
        ".then((answer) => answer.status)"
    )
    assert page.value(began) == 403
