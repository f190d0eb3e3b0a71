"""Ten questions of people who have not seen the product: each has its answer after two clicks, and after one command.

`uv run pytest -n 0 -s tests/http/console/test_why.py` prints the clicks and the seconds of each."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from tests.faults.figures import show
from tests.http.chromium import Browser, Page
from tests.http.console.asked import FALSE, HELD_BACK, MISSING_COLUMN, SHADOWED, asked_about, restock
from tests.http.console.filled import LESSON
from tests.http.console.looking import opened, settled, shows
from tests.memory.talk import memories
from tests.wire.calls import TIMEOUT_S
from tests.wire.sidecar import SidecarThread

pytestmark = pytest.mark.slow("a browser is started, and commands are")
MOST_CLICKS = 2
_SIDEMIRROR = Path(sys.executable).with_name("sidemirror")


class Click(NamedTuple):
    """What is clicked: the first link, button or heading of a fold that a selector finds."""

    selector: str


class Typed(NamedTuple):
    """A text in a field, and Enter. Counts as a click."""

    name: str
    text: str


class Why(NamedTuple):
    """A question, and the shortest ways to its answer. `steps`: from the front page on. `answers`, `says`: what must
    stand on the page, and in what the command prints. `AT` in the command: when the turn began."""

    question: str
    steps: tuple[Click | Typed, ...]
    answers: tuple[str, ...]
    command: tuple[str, ...]
    says: tuple[str, ...]


AT = "AT"
LESSONS, RECOVERIES = Click('nav a[href$="/lessons"]'), Click('nav a[href$="/recoveries"]')


def turn(turn_id: str) -> Click:
    return Click(f'tbody a[href$="/turns/{turn_id}"]')


COLUMN = Click('tbody a[href*="missing_column"]')
WHYS = [
    Why(
        "Why did my agent get this lesson at 10:42?",
        (turn("orders-2"), Click(".timeline details summary")),
        (LESSON, "words: word stems customer, number, order"),
        ("turns", "why", "--at", AT),
        (LESSON, "what fitted then: by words; word stems customer, number, order"),
    ),
    Why(
        "Why was nothing told when the migration failed?",
        (turn("migrate"),),
        ("no repair told", "no repair was known"),
        ("turns", "why", "migrate"),
        ("no repair told, because no repair was known for this failure",),
    ),
    Why(
        "Why was the same lesson told twice in this turn?",
        (turn("orders-2"),),
        ("fits 0.9", "fits by its conditions"),
        ("turns", "why", "orders-2", "--lesson", "leading sign"),
        ("by words; word stems customer", "it is about the same failure"),
    ),
    Why(
        "Why was what is known held back from this turn?",
        (turn(HELD_BACK),),
        ("held back by a draw, one in ten",),
        ("turns", "why", HELD_BACK),
        ("held back by a draw, one in ten",),
    ),
    Why(
        "Why was the answer sent back for revision?",
        (turn("answer"),),
        ("revise", "17 seconds", "On record: “17 ms”"),
        ("turns", "why", "answer"),
        ("revise; wrong fact “17 seconds” of the response", "On record: “17 ms”"),
    ),
    Why(
        "Why is a recovery told although it failed today?",
        (RECOVERIES, COLUMN),
        ("told", "worked in 7 of 8", "it passes the gates"),
        ("memory", "recoveries", MISSING_COLUMN),
        ("7 of 8", "it passes the gates"),
    ),
    Why(
        "Why is there no turn of my agent from this morning?",
        (Typed("session", "morning"), Click('main a[href*="project=shop"]')),
        ("Restock the shelves",),
        ("turns", "list", "--session", "morning"),
        ("calls came for: default/shop",),
    ),
    Why(
        "Why does memory say something that is false?",
        (LESSONS, Typed("text", "100 requests")),
        (FALSE, "from billing-setup"),
        ("memory", "search", "100 requests"),
        (FALSE, "From session billing-setup"),
    ),
    Why(
        "Why did it think so long?",
        (turn("design"),),
        ("level high, 5,000 tokens", "as its start asked"),
        ("turns", "why", "design"),
        ("its level was high, 5,000 tokens, as its start asked",),
    ),
    Why(
        "Would what shadow mode kept have helped?",
        (RECOVERIES, COLUMN),
        ("Shadow mode would have said it", f"{SHADOWED} times"),
        ("memory", "recoveries"),
        ("in shadow mode", f"{SHADOWED} times"),
    ),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with asked_about(tmp_path_factory.mktemp("why")) as running:
        yield running


@pytest.fixture(scope="module")
def page(server: SidecarThread, browser: Browser) -> Page:
    return opened(browser, server)


@pytest.mark.parametrize("why", WHYS, ids=[why.question for why in WHYS])
def test_a_question_has_its_answer_in_two_clicks_and_in_one_command(
    why: Why, server: SidecarThread, page: Page
) -> None:
    assert len(why.steps) <= MOST_CLICKS
    page.value("void (location.hash = '/turns')")
    settled(page)
    page.until("document.querySelectorAll('tbody tr').length > 20")
    # What is told of other projects is of the last minutes.
    restock(server)
    began_s = time.monotonic()
    for step in why.steps:
        _do(page, step)
    for text in why.answers:
        shows(page, text)
    page_s = time.monotonic() - began_s
    command = [_at(server) if one == AT else one for one in why.command]
    began_s = time.monotonic()
    whole = [str(_SIDEMIRROR), *command, "--address", server.address]
    # Wide enough that no cell of a table is folded.
    wide = {**os.environ, "COLUMNS": "400"}
    ran = subprocess.run(whole, check=False, capture_output=True, text=True, timeout=TIMEOUT_S, env=wide)
    command_s = time.monotonic() - began_s
    told = " ".join(ran.stdout.split())
    assert [text for text in why.says if text not in told] == [], (told, ran.stderr)
    show(f"{why.question:52} clicks: {len(why.steps)}{page_s:7.2f} s   commands: 1{command_s:7.2f} s")


def _do(page: Page, step: Click | Typed) -> None:
    if isinstance(step, Click):
        found = f"document.querySelector({json.dumps(step.selector)})"
        page.until(found)
        page.value(f"{found}.click()")
    else:
        page.until(f"document.querySelector('[name={step.name}]')")
        page.value(f"document.querySelector('[name={step.name}]').focus()")
        for char in step.text:
            page.press(char, char)
        page.press("Enter", "\r")
    settled(page)


def _at(server: SidecarThread) -> str:
    """When the turn was shown its lessons, to the second, in the machine's zone."""
    with memories(server) as memory:
        listed = memory.ListReceipts(pb.ListReceiptsRequest(turn_id="orders-2"), timeout=TIMEOUT_S).receipts
    at_s = min(one.time.ToMicroseconds() for one in listed) / 1e6
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(at_s))
