"""A viewer of the console: opens a link, goes to a place, and sees what is there."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest
from google.protobuf.message import Message

from tests.http.callers import bearing, request
from tests.http.chromium import Browser, Page
from tests.http.sidecars import token_of
from tests.npm import packages
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


_ANSWERS = """
const real = window.fetch;
window.answers = %s;
window.failing = [];
window.fetch = (asked, options) => {
  const name = String(asked.url ?? asked).split("/").at(-1);
  if (window.failing.includes(name)) return Promise.reject(new TypeError("Failed to fetch"));
  const body = window.answers[name];
  if (body === undefined) return real(asked, options);
  const bytes = Uint8Array.from(atob(body), (one) => one.charCodeAt(0));
  return Promise.resolve(new Response(bytes, {headers: {"content-type": "application/proto"}}));
};
"""


def answered(browser: Browser, server: SidecarThread, place: str, answers: Mapping[str, Message]) -> Page:
    """A page that gets these answers to calls, by the name of the RPC. All others the sidecar answers."""
    page = browser.page()
    page.looks()
    page.before(_ANSWERS % json.dumps(bodies_of(answers)))
    page.go(link_to(server, place))
    page.until("document.querySelector('nav')")
    settled(page)
    return page


def bodies_of(answers: Mapping[str, Message]) -> dict[str, str]:
    """Answers as a page's script takes them."""
    return {name: base64.b64encode(answer.SerializeToString()).decode() for name, answer in answers.items()}


def fail(page: Page, *names: str) -> None:
    """Lets these calls of a page that is `answered` fail from now on, as if nobody listened."""
    page.value(f"void (window.failing = {json.dumps(names)})")


def answer(page: Page, answers: Mapping[str, Message]) -> None:
    """Gives other answers from now on."""
    page.value(f"void Object.assign(window.answers, {json.dumps(bodies_of(answers))})")


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


def texts(page: Page, selector: str) -> list[str]:
    """What the elements show."""
    script = f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.innerText.trim())"
    return list(page.value(script))


def fact(page: Page, name: str) -> str:
    """What stands beside a name; empty if nothing does."""
    pairs = "[...document.querySelectorAll('dl.facts > div')]"
    script = f"{pairs}.find((one) => one.querySelector('dt').textContent === {json.dumps(name)})"
    return str(page.value(f"{script}?.querySelector('dd').innerText.trim() ?? ''"))


def press(page: Page, selector: str, text: str) -> None:
    """Clicks the first of the elements that shows this text."""
    found = f"[...document.querySelectorAll({json.dumps(selector)})]"
    page.value(f"{found}.find((one) => one.innerText.includes({json.dumps(text)})).click()")


OVERFLOW = """(() => {
  const wide = document.documentElement.clientWidth;
  const cut = ".text, .task, .session, code, .skip, details:not([open]) > :not(summary)";
  const seen = [...document.querySelectorAll("body *")].filter((one) => !one.closest(cut));
  const over = seen.map((one) => Math.floor(one.getBoundingClientRect().right - wide));
  return Math.max(0, document.documentElement.scrollWidth - wide, ...over);
})()"""


def overflow(page: Page) -> int:
    """By how many pixels anything is wider than the page, but for texts that are cut at their own edge."""
    return int(page.value(OVERFLOW))


def violations(page: Page) -> list[str]:
    """What axe finds, by rule and element."""
    if not page.value("typeof axe === 'object'"):
        page.value((packages() / "axe-core" / "axe.min.js").read_text() + "; undefined")
    found: dict[str, Any] = page.value("axe.run(document, {resultTypes: ['violations']})")
    return [f"{one['id']}: {node['html'][:120]}" for one in found["violations"] for node in one["nodes"]]


# Widths in pixels, and whether it is dark.
LOOKS = ((360, True), (360, False), (1600, True), (1600, False))


def looked_at(page: Page) -> None:
    """At both widths and in both colours nothing is wider than the page, and axe finds nothing."""
    for width, dark in LOOKS:
        page.looks(width, dark=dark)
        assert (width, dark, overflow(page), violations(page)) == (width, dark, 0, [])
    page.looks()


def unfolded(page: Page) -> None:
    """Opens every fold of the screen, also those that stand in others, and waits for what is read for it."""
    closed = "document.querySelectorAll('main details:not([open]) > summary')"
    while page.value(f"{closed}.length"):
        page.value(f"{closed}.forEach((one) => one.click())")
        settled(page)


def tab_to(page: Page, selector: str) -> None:
    """Presses Tab until what is meant has the focus."""
    for _ in range(200):
        page.press("Tab")
        found = page.value(
            "(() => { const at = document.activeElement; const style = getComputedStyle(at);"
            f"return [at.matches({json.dumps(selector)}), style.outlineStyle, at.type] }})()"
        )
        # The parts of a field for times have the browser's own outlines.
        assert found[1] != "none" or found[2] == "datetime-local"
        if found[0]:
            return
    pytest.fail(f"{selector} is not reached")
