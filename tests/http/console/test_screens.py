"""Every screen of the console in a real Chromium, over a store in which something of every kind has happened."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf import json_format
from google.protobuf.message_factory import GetMessageClass

from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_client.client import SERVICES
from tests.http.chromium import Browser, Page
from tests.http.console.filled import LESSON, OBJECTIVE, TASK, Filled, fill
from tests.http.console.looking import (
    LOOKS,
    go,
    link_to,
    opened,
    overflow,
    settled,
    shows,
    tab_to,
    unfolded,
    violations,
)
from tests.http.sidecars import door
from tests.memory.recovering import FAILURE, SENTENCE
from tests.memory.talk import memories
from tests.wire.access import ACME, INTRUDER, bearer, entry, write_access
from tests.wire.sidecar import SidecarThread, thinking

pytestmark = pytest.mark.slow("a browser is started")
# A page asks more at once than a person does here.
FAST = {"limits__http_requests_per_second": "1000"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with door(tmp_path_factory.mktemp("console"), FAST) as running:
        yield running


@pytest.fixture(scope="module")
def filled(server: SidecarThread) -> Filled:
    return fill(server)


@pytest.fixture(scope="module")
def page(server: SidecarThread, filled: Filled, browser: Browser) -> Page:
    return opened(browser, server)


def places(filled: Filled) -> dict[str, str]:
    """Every screen's place, and what stands there."""
    signature = filled.signature.replace("|", "%7C")
    return {
        "/turns": TASK,
        "/turns?session=none": "No turn is like that",
        f"/turns/{filled.turn_id}": "Learned from it",  # which is asked for last
        "/lessons": LESSON,
        f"/lessons/{filled.lesson_id}": "Where it was shown",
        "/recoveries": filled.signature,
        f"/recoveries/{signature}": "SHOW TABLES",
        f"/goals/{filled.goal_id}": OBJECTIVE,
        f"/lessons/{filled.goal_lesson_id}": "Lesson of a goal",
        "/now": "Findings",
        "/nowhere": "There is no such screen",
    }


def test_every_screen_can_be_read_by_everybody(page: Page, filled: Filled) -> None:
    """Narrow and wide, dark and light, with what is folded open: what is promised is there, nothing is wider than the
    page, axe finds nothing, and neither the page nor its policy has anything to complain of. The title names the
    screen. Seen to fail with grey text, and with a table that does not break its words."""
    said = len(page.told())
    titles = set()
    for place, text in places(filled).items():
        page.looks()
        go(page, place, text)
        titles.add(page.value("document.title"))
        unfolded(page)
        for width, dark in LOOKS:
            page.looks(width, dark=dark)
            assert (place, width, overflow(page)) == (place, width, 0)
            assert (place, width, dark, violations(page)) == (place, width, dark, [])
    # That a goal's reflection is no memory is an answer that the browser notes.
    assert [line for line in page.told()[said:] if "(Not Found)" not in line] == []
    assert len(titles) == len(places(filled)) - 1  # two of them are lists of turns
    assert all(title.endswith(" – Sidemirror") for title in titles)


def test_why_a_lesson_was_told_is_two_clicks_away(page: Page, filled: Filled) -> None:
    """From the front page to the turn, which says why, and on to the lesson with its evidence."""
    page.looks()
    go(page, "/turns", TASK)
    page.value(f"document.querySelector('main a[href$=\"/turns/{filled.turn_id}\"]').click()")
    shows(page, SENTENCE)
    advice = page.value("[...document.querySelectorAll('.entry.told')].map((one) => one.innerText).join()")
    for told in ("because of", "sql failed", filled.signature, "fits ", "receipt ", LESSON):
        assert told in advice
    # What caused it is a link to the entry, which is marked then.
    page.value("document.querySelector('.entry.told .why a').click()")
    page.until("document.querySelector('.entry.named')?.innerText.includes('sql failed')")
    page.value(f"document.querySelector('main a[href$=\"/lessons/{filled.lesson_id}\"]').click()")
    shows(page, "18 outcomes with it and 22 without it")
    evidence = page.value("document.querySelector('svg').getAttribute('aria-label')")
    assert evidence == "Lift +53 points, 95 % interval +23 to +71"
    shows(page, "read and kept")
    shows(page, "memory context")


def test_a_lesson_says_why_it_fits(page: Page, filled: Filled) -> None:
    """By the task, asked anew: its words, and the parts of the score."""
    page.looks()
    go(page, f"/turns/{filled.turn_id}", LESSON)
    page.value("[...document.querySelectorAll('.card summary')].find((one) => one.innerText === 'Why it fits').click()")
    shows(page, "at place 1 of ")
    told = page.value("document.querySelector('.card details[open]').innerText")
    assert "number" in told
    assert "full text" in told


def test_what_a_goal_taught_is_linked(page: Page, filled: Filled) -> None:
    """From the turn that was told of it to its reflection, where that was shown, and the goal."""
    page.looks()
    go(page, f"/turns/{filled.goal_turn_id}", "goal reflection")
    page.value("[...document.querySelectorAll('.card a')].find((one) => one.innerText === 'goal reflection').click()")
    shows(page, "Lesson of a goal")
    shows(page, "Where it was shown")
    link = f"td a[href*='/turns/{filled.goal_turn_id}?receipt=']"
    page.until(f'document.querySelector("{link}")')
    page.value(f"document.querySelector('main a[href$=\"/goals/{filled.goal_id}\"]').click()")
    page.until("document.querySelector('h1')?.innerText === 'Goal'")
    shows(page, "What it taught")
    go(page, "/goals/nothing", "Nothing is known of this goal")


def test_where_it_was_shown_leads_to_the_moment(page: Page, filled: Filled) -> None:
    """From a lesson's list to the entry that showed it, and from a recovery's failures to the call that failed."""
    page.looks()
    for place, link, kind in (
        (f"/lessons/{filled.lesson_id}", f"a[href*='/turns/{filled.turn_id}?receipt=']", "advice"),
        (places_of_recovery(filled), f"a[href*='/turns/{filled.turn_id}?event=']", "sql called"),
    ):
        go(page, place)
        page.until(f'document.querySelector("{link}")')
        page.value(f'document.querySelector("{link}").click()')
        page.until(f"document.querySelector('.entry.named strong')?.innerText === '{kind}'")


def test_a_recovery_shows_its_tries_over_time(page: Page, server: SidecarThread, filled: Filled) -> None:
    page.looks()
    with memories(server) as memory:
        request = memory_pb.ListRecoveriesRequest(signature=filled.signature, include_observations=True)
        (seen,) = memory.ListRecoveries(request, timeout=60).signatures
    tried = [one.worked for one in seen.observations if one.recovery_id == seen.moves[0].recovery_id]
    assert len(tried) >= 11
    go(page, places_of_recovery(filled), "SHOW TABLES")
    tries = page.value("document.querySelector('svg.tries').getAttribute('aria-label')")
    assert tries == f"looked up: SHOW TABLES: {sum(tried)} of {len(tried)} tries worked"
    assert page.value("document.querySelector('svg.tries').querySelectorAll('circle').length") == len(tried)
    shows(page, "told, after a draw")


def places_of_recovery(filled: Filled) -> str:
    return f"/recoveries/{filled.signature.replace('|', '%7C')}"


def test_turns_are_narrowed_and_kept_in_the_address(page: Page) -> None:
    page.looks()
    go(page, "/turns", TASK)
    page.value(
        "(() => { const chosen = document.querySelector('select[name=outcome]'); chosen.value = 'timeout';"
        "chosen.dispatchEvent(new Event('change', {bubbles: true})) })()"
    )
    page.until("document.querySelectorAll('tbody tr').length === 1")
    assert page.value("location.hash") == "#/turns?outcome=timeout"
    shows(page, "timeout")
    go(page, "/turns?from=2100-01-01T00:00:00", "No turn is like that")
    go(page, "/turns?session=orders&state=finished")
    page.until("document.querySelectorAll('tbody tr').length === 5")


def test_what_the_rules_cannot_do_is_no_finding(page: Page) -> None:
    """A sidecar without a model is well. Seen to fail when whatever is not available was told as failing."""
    page.looks()
    go(page, "/now", "all well")
    shows(page, "needs a model")


def test_times_are_the_viewers_and_exact_on_hover(page: Page, server: SidecarThread, filled: Filled) -> None:
    page.looks()
    with thinking(server) as stub:
        turn = stub.GetTurn(pb.GetTurnRequest(turn_id=filled.turn_id), timeout=60).turn
    page.zone("Asia/Kathmandu")
    go(page, "/now")
    go(page, f"/turns/{filled.turn_id}", FAILURE)
    shown = page.value(
        "(({dateTime, title, textContent}) => [dateTime, title, textContent])(document.querySelector('time'))"
    )
    utc = turn.start_time.ToJsonString()
    assert shown[0][:23] == utc[:23]
    assert " +05:45 (" in shown[1]
    assert shown[1][17:26] == utc[17:26]
    page.zone("")


def test_the_command_asks_what_the_screen_does(page: Page, server: SidecarThread, filled: Filled) -> None:
    page.looks()
    go(page, f"/turns/{filled.turn_id}?project=it's", "There is nothing of this id here")
    command = page.value("document.querySelector('.grpcurl code').textContent")
    scope = r"it'\''s"
    asked = f'{{"project_id":"{scope}","turn_id":"{filled.turn_id}","page_size":200}}'
    assert command == f"grpcurl -plaintext -d '{asked}' 127.0.0.1:{server.port} sidemirror.v1.ThinkingService/GetTurn"


def test_the_keyboard_is_enough(page: Page, filled: Filled) -> None:
    """From the front page to a turn's advice and on to the lesson, by Tab, Enter and the space bar alone; what has the
    focus is always seen."""
    page.looks()
    go(page, "/now")
    go(page, "/turns", TASK)
    assert page.value("document.activeElement.tagName") == "H1"
    tab_to(page, f"a[href$='/turns/{filled.turn_id}']")
    page.press("Enter", "\r")
    shows(page, SENTENCE)
    assert page.value("document.activeElement.tagName") == "H1"
    tab_to(page, "input[type=checkbox]")
    page.press(" ", " ")
    page.until("[...document.querySelectorAll('.entry')].every((one) => one.classList.contains('told'))")
    tab_to(page, f"a[href$='/lessons/{filled.lesson_id}']")
    page.press("Enter", "\r")
    shows(page, "Whether it helps")
    tab_to(page, ".grpcurl summary")
    page.press("Enter", "\r")
    page.until("document.querySelector('.grpcurl').open")


_FOCUSABLE = "main a[href], main button, main input, main select, main summary, main [tabindex='0']"


def test_the_keyboard_reaches_everything_on_every_screen(page: Page, filled: Filled) -> None:
    """By Tab alone, each in its turn and with an outline; every fold is opened by Enter where it is met. Seen to fail
    with a heading of a fold that is a `div`."""
    page.looks()
    for place, text in places(filled).items():
        go(page, "/nowhere" if place != "/nowhere" else "/now")
        go(page, place, text)
        assert (place, page.value("document.activeElement.tagName")) == (place, "H1")
        page.value("void (window.met = new Set())")
        for _ in range(1_500):
            page.press("Tab")
            at = page.value(_AT)
            if at is None or at["isMet"]:
                break
            # The parts of a field for times have the browser's own outlines.
            assert (place, at["html"], at["outline"] != "none" or at["isTime"]) == (place, at["html"], True)
            if at["isFolded"]:
                page.press("Enter", "\r")
                page.until("document.activeElement.parentElement.open")
                settled(page)
        # `Text` that was cut has a button, and whole has a region: these are not pressed here.
        missed = page.value(
            f"[...document.querySelectorAll({json.dumps(_FOCUSABLE)})]"
            ".filter((one) => one.checkVisibility() && !window.met.has(one)).map((one) => one.outerHTML.slice(0, 120))"
        )
        assert (place, missed) == (place, [])


# Where the focus is; null outside of the screen. A field for times has several parts, which are one element.
_AT = """(() => {
  const at = document.activeElement;
  if (!at.closest("main")) return null;
  const isTime = at.type === "datetime-local";
  const isMet = window.met.has(at) && !isTime;
  window.met.add(at);
  const isFolded = at.tagName === "SUMMARY" && !at.parentElement.open;
  return {isMet, isTime, isFolded, outline: getComputedStyle(at).outlineStyle, html: at.outerHTML.slice(0, 120)};
})()"""


def test_the_scope_is_changed_by_the_keyboard(page: Page) -> None:
    page.looks()
    go(page, "/now")
    go(page, "/lessons", LESSON)
    page.value("document.querySelector('.scope summary').focus()")
    page.press("Enter", "\r")
    page.until("document.querySelector('.scope').open")
    page.press("Tab")
    page.press("Tab")
    for char in "shop":
        page.press(char, char)
    page.press("Enter", "\r")
    page.until("location.hash === '#/lessons?project=shop'")
    shows(page, "Nothing is learned here yet.")
    page.value("void (location.hash = '/lessons')")
    shows(page, LESSON)


def test_the_commands_are_what_a_shell_takes(page: Page, server: SidecarThread, filled: Filled, tmp_path: Path) -> None:
    """On every screen: a shell hands grpcurl one JSON that fits the call's request, and *Copy* has the same text. Seen
    to fail with a quote in an id that ended the word."""
    page.looks()
    stub = tmp_path / "grpcurl"
    stub.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    stub.chmod(0o755)
    page.value(
        "void Object.defineProperty(navigator, 'clipboard', {value: {writeText: (text) => {"
        "window.copied = text; return Promise.resolve() }}})"
    )
    asked = set()
    for place, text in {**places(filled), "/turns/it's%20%24(id)%20%60x%60": "nothing of this id"}.items():
        go(page, place, text)
        if (
            place == "/nowhere"
            or "goal_lesson" in place
            or not page.value("Boolean(document.querySelector('.grpcurl'))")
        ):
            continue
        page.value("void (document.querySelector('.grpcurl').open = true)")
        page.value("document.querySelector('.grpcurl button').click()")
        page.until("document.querySelector('.grpcurl button').innerText === 'Copied'")
        command = page.value("document.querySelector('.grpcurl code').textContent")
        assert page.value("window.copied") == command
        ran = subprocess.run(
            ["/bin/sh", "-c", command], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True
        )
        plain, data, request, address, method = ran.stdout.splitlines()
        assert (plain, data, address) == ("-plaintext", "-d", f"127.0.0.1:{server.port}")
        service, name = method.rsplit("/", 1)
        (found,) = [one for one in SERVICES if one.full_name == service]
        json_format.Parse(request, GetMessageClass(found.methods_by_name[name].input_type)())
        asked.add(name)
    names = {"ListTurns", "GetTurn", "ListReflections", "GetReflection", "ListRecoveries", "ListGoalReports"}
    assert asked == {*names, "GetServerInfo"}


def test_a_link_to_another_tenants_turn_is_refused(tmp_path: Path, browser: Browser) -> None:
    """By its id alone there is nothing, and by its scope it is refused; its owner sees it."""
    access = write_access(tmp_path / "access.json")
    with door(tmp_path, {**FAST, "access_file": str(access)}) as server:
        with thinking(server) as stub:
            start = pb.StartTurnRequest(turn_id="theirs", task="A secret task", tenant_id="acme")
            stub.StartTurn(start, timeout=60, metadata=bearer(ACME))
        for place, token, text in (
            ("/turns/theirs?tenant=intruder", INTRUDER, "There is nothing of this id here"),
            ("/turns/theirs?tenant=acme", INTRUDER, "This page may not read that"),
            ("/turns?tenant=acme", INTRUDER, "This page may not read that"),
            ("/turns/theirs?tenant=acme", ACME, "A secret task"),
        ):
            page = opened(browser, server, place, token)
            shows(page, text)
            assert ("A secret task" in page.value("document.body.innerText")) == (token == ACME)


def test_a_link_opens_one_page_once(server: SidecarThread, filled: Filled, browser: Browser) -> None:
    """The code is in no address, and opens nothing again; a reload keeps the page, and another tab has nothing."""
    link = link_to(server, f"/turns/{filled.turn_id}")
    page = browser.page()
    page.go(link)
    shows(page, TASK)
    base = f"http://127.0.0.1:{server.http_port}/console/"
    assert page.value("location.href") == f"{base}#/turns/{filled.turn_id}"
    page.go(f"{base}?")
    shows(page, TASK)
    other = browser.page()
    for url, told in ((base, "makes a link"), (link, "not good any more")):
        other.go("about:blank")
        other.go(url)
        shows(other, told)
        assert other.value("document.querySelectorAll('table').length") == 0
    # A new link in the same tab.
    page.value(f"void (location.href = {json.dumps(link_to(server, '/lessons'))})")
    shows(page, LESSON)
    settled(page)
    assert page.value("location.hash") == "#/lessons"


def test_what_is_open_when_the_token_ends_says_so(tmp_path: Path, browser: Browser) -> None:
    access = write_access(tmp_path / "access.json")
    with door(tmp_path, {**FAST, "access_file": str(access)}) as server:
        page = opened(browser, server, "/turns?tenant=acme", ACME)
        shows(page, "No turn is recorded here yet")
        write_access(access, [entry("intruder", INTRUDER)])
        page.until("document.querySelector('.follows')?.className.includes('refused')")
        go(page, "/lessons?tenant=acme", "Run `sidemirror console` for a new link")


def test_the_pages_policy_holds(server: SidecarThread, browser: Browser) -> None:
    """Neither scripts of the page's text nor other servers, nor HTML from a text. Seen to fail without the policy."""
    page = opened(browser, server)
    assert page.value("fetch('http://127.0.0.1:1/').then(() => 'sent', (error) => error.name)") == "TypeError"
    assert any("Content Security Policy" in line for line in page.told())
    assert page.value("try { document.body.innerHTML = '<b>x</b>' } catch (error) { error.name }") == "TypeError"
    page.value(
        "void document.body.appendChild(Object.assign(document.createElement('a'), {id: 'a', href: 'javascript:"
        "document.title=1'})).click()"
    )
    assert page.value("document.title") == "Turns – Sidemirror"
    # What the page holds may only read.
    began = (
        "fetch('/sidemirror.v1.ThinkingService/StartTurn', {method: 'POST', body: '{}', headers: {"
        "'content-type': 'application/json', authorization: `Bearer ${sessionStorage.getItem('sidemirror-token')}`}})"
        ".then((answer) => answer.status)"
    )
    assert page.value(began) == 403
