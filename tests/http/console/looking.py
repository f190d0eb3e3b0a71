"""A viewer of the console: opens a link, goes to a place, and sees what is there."""

import json

from tests.http.callers import bearing, request
from tests.http.chromium import Browser, Page
from tests.http.sidecars import token_of
from tests.wire.sidecar import SidecarThread


def link_to(server: SidecarThread, place: str = "", token: str = "") -> str:
    """A one-time link. `place`: where it leads on the page, from its slash on. `token`: the asker's,
    else the door's."""
    headers = bearing(token or token_of(server.folder / "data"))
    code = request(server.http_port, "/console/link", b"", headers).json["code"]
    return f"http://127.0.0.1:{server.http_port}/console/#{code}{place}"


def opened(browser: Browser, server: SidecarThread, place: str = "/turns", token: str = "") -> Page:
    """A page that has used a link."""
    page = browser.page()
    page.looks()
    page.go(link_to(server, place, token))
    page.until("document.querySelector('h1')")
    return page


def go(page: Page, place: str, text: str = "") -> None:
    """Goes to a place of the page, and waits until its data is shown, and this text. A place that is the present one
    is shown as it is."""
    page.value(f"void (location.hash = {json.dumps(place)})")
    settled(page)
    if text:
        shows(page, text)


def settled(page: Page) -> None:
    """Waits until nothing on the page is awaited."""
    page.until("document.querySelector('main h1') && !document.querySelector('main .waiting')")


def shows(page: Page, text: str) -> None:
    """Waits until the page shows a text."""
    page.until(f"document.body?.innerText.includes({json.dumps(text)})")


_OVERFLOW = """(() => {
  const wide = document.documentElement.clientWidth;
  const cut = ".text, .task, .session, code, .skip, details:not([open]) > :not(summary)";
  const seen = [...document.querySelectorAll("body *")].filter((one) => !one.closest(cut));
  const over = seen.map((one) => Math.floor(one.getBoundingClientRect().right - wide));
  return Math.max(0, document.documentElement.scrollWidth - wide, ...over);
})()"""


def overflow(page: Page) -> int:
    """By how many pixels anything is wider than the page, but for texts that are cut at their own edge."""
    return int(page.value(_OVERFLOW))
