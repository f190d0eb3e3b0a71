"""What is live stays so to its end, over answers and a watch whose moments are chosen."""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from sidemirror.v1 import common_pb2, sidecar_pb2
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from tests.http.callers import framed
from tests.http.chromium import Browser, Page
from tests.http.console.looking import answer, answered, go, shows, texts
from tests.http.sidecars import door
from tests.wire.calls import called, failed, finished, started
from tests.wire.sidecar import SidecarThread

pytestmark = pytest.mark.slow("a browser is started")
SIGNATURE = "sql|not_found|missing_table"
# A watch that stays open, and says what `push` is given.
_WATCH = """(() => {
  const asked = window.fetch;
  window.watches = 0;
  window.fetch = (url, options) => {
    if (!String(url.url ?? url).endsWith("/WatchTurns")) return asked(url, options);
    window.watches++;
    const body = new ReadableStream({start(controller) {
      window.push = (frame) => controller.enqueue(Uint8Array.from(atob(frame), (one) => one.charCodeAt(0)));
      options.signal?.addEventListener("abort", () => {
        window.watches--;
        controller.error(new DOMException("aborted", "AbortError"));
      });
    }});
    return Promise.resolve(new Response(body, {headers: {"content-type": "application/connect+proto"}}));
  };
})()"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with door(tmp_path_factory.mktemp("live"), {"limits__http_requests_per_second": "1000"}) as running:
        yield running


def watching(browser: Browser, server: SidecarThread, place: str, answers: Mapping[str, Message]) -> Page:
    """A page that gets these answers, and whose watch says what it is given by `say`."""
    page = answered(browser, server, "/nowhere", {"ListReceipts": memory_pb.ListReceiptsResponse(), **answers})
    page.value(f"void {_WATCH}")
    go(page, place)
    page.until("document.querySelector('.follows')?.innerText === 'Live'")
    return page


def framed_entry(entry: pb.TurnEntry) -> str:
    return base64.b64encode(framed(pb.WatchTurnsResponse(entry=entry).SerializeToString())).decode()


def say(page: Page, *entries: pb.TurnEntry) -> None:
    for entry in entries:
        page.value(f"void window.push({json.dumps(framed_entry(entry))})")


def entry(sequence: int, what: Any, turn_id: str = "t") -> pb.TurnEntry:
    """An entry of the turn: an event or a directive."""
    made = pb.TurnEntry(turn_id=turn_id, sequence=sequence, cursor=f"cursor-{sequence}")
    field = made.event if isinstance(what, pb.TurnEvent) else made.directive
    field.CopyFrom(what)
    field.time.CopyFrom(Timestamp(seconds=1_790_000_000 + sequence))
    return made


def advice(*, told: bool = True) -> pb.TurnDirective:
    """What is said, or not, of the call `c` that failed as `f`."""
    if not told:
        silence = pb.Silence(reason=pb.SILENCE_REASON_NOTHING_KNOWN, signature=SIGNATURE)
        return pb.TurnDirective(directive_id="d", caused_by=["f"], silence=silence)
    block = common_pb2.ContextBlock(items=[common_pb2.ContextItem(id="0" * 32, kind="recovery", text="Look first.")])
    return pb.TurnDirective(directive_id="d", caused_by=["f"], advice=pb.Advice(signature=SIGNATURE, block=block))


def summary() -> pb.TurnDirective:
    return pb.TurnDirective(directive_id="s", turn_summary=pb.TurnSummary(event_count=4))


def record(
    entries: list[pb.TurnEntry], state: pb.TurnState = pb.TURN_STATE_OPEN, token: str = "", **fields: Any
) -> pb.GetTurnResponse:
    now = Timestamp()
    now.GetCurrentTime()
    turn = pb.Turn(
        turn_id="t", session_id="s", task="Count the orders", state=state, start_time=now, update_time=now, **fields
    )
    return pb.GetTurnResponse(turn=turn, entries=entries, next_page_token=token)


BEGUN = [
    entry(1, started(task="Count the orders")),
    entry(2, called("sql", "SELECT 1 FROM orders", "a", "c")),
    entry(3, failed("no such table: orders", "a", "f")),
    entry(4, advice()),
]
_NUMBERS = "[...document.querySelectorAll('.entry > .number')].map((one) => Number(one.innerText)).filter(Boolean)"


def test_what_comes_after_a_turns_end_is_shown(browser: Browser, server: SidecarThread) -> None:
    """A reflection that was in progress, the summary, and what followed once it was learned. Seen to fail when the
    watch ended with the turn: all three were there after a reload only."""
    page = watching(browser, server, "/turns/t", {"GetTurn": record(BEGUN)})
    ended = record(BEGUN, pb.TURN_STATE_FINISHED, outcome=1)
    answer(page, {"GetTurn": ended})
    say(page, entry(5, finished(outcome=1)))
    page.until("document.querySelector('.title .badge')?.innerText === 'success'")
    assert texts(page, ".follows") == ["Live"]
    reflection = pb.MidTurnReflection(status=common_pb2.RESULT_STATUS_OK, reflection="The table has a year.")
    say(page, entry(6, pb.TurnDirective(directive_id="r", reflection=reflection)))
    shows(page, "The table has a year.")
    after = pb.FailureFollowUp(signature=SIGNATURE, failure_event_id="c", has_attempt=True, turn_failed=True)
    ended.follow_ups.append(after)
    answer(page, {"GetTurn": ended})
    say(page, entry(7, summary()))
    shows(page, "what followed: the next such call worked, and its turn failed")
    page.until("document.querySelector('.follows')?.innerText === ''")
    assert page.value(_NUMBERS) == [*range(1, 8)]


def test_an_abandoned_turn_says_so(browser: Browser, server: SidecarThread) -> None:
    """It has no event of its end. Seen to fail while the page looked for one."""
    page = watching(browser, server, "/turns/t", {"GetTurn": record(BEGUN)})
    answer(page, {"GetTurn": record(BEGUN, pb.TURN_STATE_ABANDONED)})
    say(page, entry(5, summary()))
    page.until("document.querySelector('.title .badge')?.innerText === 'abandoned'")
    page.until("document.querySelector('.follows')?.innerText === ''")


def test_what_was_missed_is_read_before_what_comes_next(browser: Browser, server: SidecarThread) -> None:
    """An entry that does not follow the last one. Seen to fail when it was appended: nothing named the hole."""
    page = watching(browser, server, "/turns/t", {"GetTurn": record(BEGUN)})
    page.until("document.querySelectorAll('.entry').length === 4")
    more = [entry(number, called("sql", f"SELECT {number}", str(number))) for number in (5, 6, 7)]
    answer(page, {"GetTurn": record([*BEGUN, *more])})
    say(page, more[-1])
    shows(page, "SELECT 6")
    assert page.value(_NUMBERS) == [*range(1, 8)]


def test_a_recall_of_an_open_turn_comes_in(browser: Browser, server: SidecarThread) -> None:
    """The watch does not tell of it. Seen to fail while it was read when the turn ended."""
    page = watching(browser, server, "/turns/t", {"GetTurn": record(BEGUN)})
    item = memory_pb.ReceiptItem(
        id="l", kind="reflection", is_held_back=True, held_back_reason=memory_pb.HELD_BACK_REASON_SHADOW
    )
    receipt = memory_pb.Receipt(receipt_id="r", place=memory_pb.RECEIPT_PLACE_MEMORY_CONTEXT, items=[item])
    answer(page, {"ListReceipts": memory_pb.ListReceiptsResponse(receipts=[receipt])})
    shows(page, "recalled")
    # Why it was held back stands there, and not on hover alone.
    shows(page, "kept in shadow mode")
    shows(page, "Kept in shadow mode: advice__mode was shadow, which tells nothing.")


def test_what_followed_stands_at_its_own_failure(browser: Browser, server: SidecarThread) -> None:
    """And not at a later one of its kind. Seen to fail when it was found by the kind alone."""
    later = [
        entry(5, called("sql", "SELECT 2 FROM orders", "b", "c2")),
        entry(6, failed("no such table: orders", "b", "f2")),
    ]
    second = advice(told=False)
    second.caused_by[0] = "f2"
    after = pb.FailureFollowUp(signature=SIGNATURE, failure_event_id="c", has_attempt=True, worked=True)
    answers = record([*BEGUN, *later, entry(7, second), entry(8, summary())], pb.TURN_STATE_FINISHED)
    answers.follow_ups.append(after)
    page = answered(browser, server, "/turns/t", {"GetTurn": answers})
    shows(page, "what followed")
    assert sum("what followed" in text for text in texts(page, ".entry")) == 1


def test_a_result_that_tells_of_a_failure_is_marked(browser: Browser, server: SidecarThread) -> None:
    """By the advice that it was given. Seen to fail while only a tool's own mark counted."""
    result = pb.TurnEvent(event_id="f", tool_returned=pb.ToolReturned(call_id="a", content="error: no such table"))
    entries = [BEGUN[0], BEGUN[1], entry(3, result), BEGUN[3], entry(5, summary())]
    page = answered(browser, server, "/turns/t", {"GetTurn": record(entries, pb.TURN_STATE_FINISHED)})
    shows(page, "sql returned a failure, by its text")
    assert page.value("document.querySelectorAll('.entry.failed').length") == 1


def test_a_filter_answers_under_traffic(browser: Browser, server: SidecarThread) -> None:
    """Each page takes the sidecar longer than entries are apart. Seen to fail when a question ended the last."""
    turns = [pb.Turn(turn_id=f"t{number}", session_id="s", task="Task", is_shadow=True) for number in range(3)]
    page = watching(browser, server, "/turns", {"ListTurns": pb.ListTurnsResponse(turns=turns)})
    page.value(
        "void (() => { const asked = window.fetch; window.fetch = (url, options) => {"
        "if (!String(url.url ?? url).endsWith('/ListTurns')) return asked(url, options);"
        "return new Promise((done, fail) => {"
        "options.signal?.addEventListener('abort', () => fail(options.signal.reason));"
        "setTimeout(() => done(asked(url, options)), 1_500) }) } })()"
    )
    frame = json.dumps(framed_entry(entry(1, started(task="x"), "other")))
    page.value("void (location.hash = '/turns?told=shadow')")
    page.until("document.querySelector('.follows')?.innerText === 'Live'")
    page.value(f"void setInterval(() => window.push({frame}), 100)")
    page.until("document.querySelectorAll('tbody tr').length === 3")


def test_a_page_that_nobody_sees_gives_up_its_connection(browser: Browser, server: SidecarThread) -> None:
    """Browsers have six to a host. It is taken up again when the page is seen."""
    page = watching(browser, server, "/turns", {"ListTurns": pb.ListTurnsResponse()})
    page.value("void Object.defineProperty(document, 'hidden', {get: () => window.isHidden ?? false})")
    assert page.value("window.watches") == 1
    page.value("void (window.isHidden = true, document.dispatchEvent(new Event('visibilitychange')))")
    page.until("window.watches === 0")
    shows(page, "Not live while nobody sees this page.")
    page.value("void (window.isHidden = false, document.dispatchEvent(new Event('visibilitychange')))")
    page.until("document.querySelector('.follows')?.innerText === 'Live'")
    assert page.value("window.watches") == 1


def test_now_is_read_again(browser: Browser, server: SidecarThread) -> None:
    """Also what was turned off, every five seconds."""
    page = answered(browser, server, "/now", {"GetServerInfo": sidecar_pb2.GetServerInfoResponse(version="1.2.3")})
    shows(page, "1.2.3")
    change = sidecar_pb2.AdviceChange(mode="shadow")
    change.time.GetCurrentTime()
    newer = sidecar_pb2.GetServerInfoResponse(version="1.2.4", advice_changes=[change])
    answer(page, {"GetServerInfo": newer})
    shows(page, "1.2.4")
    shows(page, "the mode is shadow from here on")
