"""A real Chromium without a screen, driven by its own protocol over a pipe."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.wire.sidecar import PATIENCE_S

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
# The browser reads its commands from descriptor 3 and answers on 4. What becomes those is above them.
_FREE_FD = 10
# Of keys that do something without typing a letter.
_KEY_CODES = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
_START = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)


class Page:
    """A page, with what its console and its policy have said."""

    def __init__(self, browser: "Browser", session: str) -> None:
        self._browser = browser
        self._session = session

    def value(self, script: str) -> Any:
        """What an expression comes to; a promise is awaited."""
        asked = {"expression": script, "awaitPromise": True, "returnByValue": True}
        answer = self._browser.call("Runtime.evaluate", asked, self._session)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, script: str) -> None:
        """Waits until an expression is true."""
        ends_s = time.monotonic() + PATIENCE_S
        while not self.value(f"Boolean({script})"):
            assert time.monotonic() < ends_s, (script, self.value("document.body?.innerText"), self.told())
            time.sleep(0.05)

    def go(self, url: str) -> None:
        self._browser.call("Page.navigate", {"url": url}, self._session)
        self.until("document.readyState === 'complete'")

    def looks(self, width: int = 1600, *, dark: bool = False, height: int = 1000) -> None:
        """How large the page is, in CSS pixels, and which colours its viewer prefers."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._browser.call("Emulation.setDeviceMetricsOverride", size, self._session)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._browser.call("Emulation.setEmulatedMedia", {"features": [scheme]}, self._session)

    def zone(self, name: str) -> None:
        """The viewer's time zone; empty: the machine's."""
        self._browser.call("Emulation.setTimezoneOverride", {"timezoneId": name}, self._session)

    def press(self, key: str, text: str = "") -> None:
        """Presses a key, by its name in the DOM; `text`: what it types."""
        for kind in ("keyDown", "keyUp"):
            asked = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": _KEY_CODES.get(key, 0)}
            if kind == "keyDown" and text:
                asked["text"] = text
            self._browser.call("Input.dispatchKeyEvent", asked, self._session)

    def worked_ms(self) -> float:
        """How long the page's main thread has worked so far, by the processor's time: what else the machine does is not
        in it."""
        metrics = self._browser.call("Performance.getMetrics", session=self._session)["metrics"]
        return 1_000 * next(float(one["value"]) for one in metrics if one["name"] == "TaskDuration")

    def picture(self) -> bytes:
        """What is seen of the page, as PNG."""
        answer = self._browser.call("Page.captureScreenshot", {"format": "png"}, self._session)
        return base64.b64decode(answer["data"])

    def before(self, script: str) -> None:
        """Runs a script in each document from now on, before its own."""
        self._browser.call("Page.addScriptToEvaluateOnNewDocument", {"source": script}, self._session)

    def asked(self) -> list[str]:
        """The addresses that the page has asked for."""
        return [
            str(event["params"]["request"]["url"])
            for event in self._browser.events
            if event["method"] == "Network.requestWillBeSent" and event.get("sessionId") == self._session
        ]

    def told(self) -> list[str]:
        """Errors and warnings of the page, refusals of its policy among them."""
        return [
            str(event["params"]["entry"]["text"])
            for event in self._browser.events
            if event["method"] == "Log.entryAdded" and event.get("sessionId") == self._session
        ]


class Browser:
    """The browser's end of the pipe."""

    def __init__(self, reads: int, writes: int) -> None:
        self._reads = reads
        self._writes = writes
        self._unread = b""
        self._count = 0
        # The targets of the pages that are open.
        self._pages: list[str] = []
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, params: dict[str, Any] | None = None, session: str = "") -> dict[str, Any]:
        """A call of the protocol, and its answer."""
        self._count += 1
        asked = {"id": self._count, "method": method, "params": params or {}}
        if session:
            asked["sessionId"] = session
        os.write(self._writes, json.dumps(asked).encode() + b"\0")
        while True:
            told = json.loads(self._next())
            if told.get("id") == self._count:
                assert "error" not in told, told
                result: dict[str, Any] = told["result"]
                return result
            self.events.append(told)

    def _next(self) -> bytes:
        pieces = [self._unread]
        while b"\0" not in pieces[-1]:
            pieces.append(os.read(self._reads, 65_536))
            assert pieces[-1], "the browser has ended"
        told, _, self._unread = b"".join(pieces).partition(b"\0")
        return told

    def page(self) -> Page:
        """A new page."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._pages.append(target)
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Log", "Network", "Page", "Runtime"):
            self.call(f"{domain}.enable", session=session)
        self.call("Performance.enable", {"timeDomain": "threadTicks"}, session)
        # Each is as one that somebody looks at: else a page is hidden by those that are opened after it.
        self.call("Emulation.setFocusEmulationEnabled", {"enabled": True}, session)
        return Page(self, session)

    @contextmanager
    def pages(self) -> Iterator[None]:
        """Closes the pages that are opened within: one that nobody looks at any more still asks for what is new."""
        before = len(self._pages)
        yield
        for target in self._pages[before:]:
            self.call("Target.closeTarget", {"targetId": target})
        del self._pages[before:]


def program() -> str:
    """The browser's program. Skips where there is none; in CI that fails."""
    found = next((path for name in _PROGRAMS if (path := shutil.which(name))), None)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("chromium is not installed")
        pytest.skip("chromium is not installed: no page is tried in a browser")
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with a profile of its own, which no other page, proxy or extension reaches."""
    name = program()
    ours_in, theirs_out = os.pipe()
    theirs_in, ours_out = os.pipe()
    given = [fcntl.fcntl(fd, fcntl.F_DUPFD, _FREE_FD) for fd in (theirs_in, theirs_out)]
    for fd in (theirs_in, theirs_out):
        os.close(fd)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = (
            *("--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}", "--no-proxy-server"),
            *("--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"),
            # A test that goes through hundreds of pages is faster than a browser lets a page be.
            "--disable-ipc-flooding-protection",
            # Root has no sandbox for it; the pages are ours.
            *(("--no-sandbox",) if os.getuid() == 0 else ()),
        )
        start = (sys.executable, "-c", _START, *map(str, given), name, *options)
        process = subprocess.Popen(start, pass_fds=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in given:
            os.close(fd)
        browser = Browser(ours_in, ours_out)
        try:
            yield browser
            browser.call("Browser.close")
        finally:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(ours_in)
            os.close(ours_out)
