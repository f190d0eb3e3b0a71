"""The screens of recoveries, over answers as a sidecar gives them after weeks."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from sidemirror.v1 import common_pb2, thinking_pb2
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from tests.http.chromium import Browser, Page
from tests.http.console.looking import answered, fact, go, overflow, press, shows, texts, violations
from tests.http.sidecars import door
from tests.wire.sidecar import SidecarThread

pytestmark = pytest.mark.slow("a browser is started")
BEGAN_S = 1_790_000_000
UNTOLD = 60
COLUMN = "run_sql|invalid_input|missing_column"
_NAMES = "[...document.querySelectorAll('tbody tr td:first-child a')].map((one) => one.innerText)"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with door(tmp_path_factory.mktemp("recoveries"), {"limits__http_requests_per_second": "1000"}) as running:
        yield running


def move(recovery_id: str, step: str, **fields: Any) -> memory_pb.RecoveryMove:
    kind = memory_pb.RECOVERY_MOVE_KIND_LOOKED_UP
    found = memory_pb.RecoveryMove(recovery_id=recovery_id, kind=kind, steps=[step], reason="3 tries; 5 are needed")
    found.MergeFrom(memory_pb.RecoveryMove(**fields))
    return found


def told(recovery_id: str, step: str, **fields: Any) -> memory_pb.RecoveryMove:
    sentence = f"The call worked after `{step}`."
    return move(recovery_id, step, is_told=True, sentence=sentence, tries=9, worked=8, **fields)


def failure(signature: str, age_s: int, *moves: memory_pb.RecoveryMove, seen: int = 3) -> memory_pb.SignatureRecoveries:
    last = Timestamp(seconds=BEGAN_S - age_s)
    return memory_pb.SignatureRecoveries(signature=signature, observation_count=seen, last_time=last, moves=moves)


def arm(succeeded: int, failed: int) -> memory_pb.LessonArm:
    return memory_pb.LessonArm(assigned_count=succeeded + failed, success_count=succeeded, failure_count=failed)


def listed() -> memory_pb.ListRecoveriesResponse:
    """By name, as the sidecar lists them: nothing that is told is among the first fifty."""
    describe = told("d" * 32, "DESCRIBE", lift=-0.09, interval={"low": -0.33, "high": 0.08})
    tables = told("e" * 32, "SHOW TABLES", lift=0.4, interval={"low": 0.1, "high": 0.6})
    return memory_pb.ListRecoveriesResponse(
        signatures=[
            *(failure(f"a{number:02}|timeout|slow", number, move(f"{number:032}", "PING")) for number in range(UNTOLD)),
            failure(COLUMN, 5_000, describe, seen=1_000),
            failure("run_sql|not_found|missing_table", 100, tables),
            failure("zip|failed|broken", 7, move("f" * 32, "LS", is_suspended=True)),
            failure("zone|a|held", 9_001, told("1" * 32, "PLAY", held_back=arm(1, 0))),
            failure(
                "zone|b|kept",
                9_002,
                move(
                    "2" * 32,
                    "PLAY",
                    silence=thinking_pb2.SILENCE_REASON_SHADOW,
                    held_back=arm(1, 0),
                    shadow=memory_pb.ShadowTally(said_count=1),
                ),
            ),
            failure("zone|c|policy", 9_003, move("3" * 32, "PLAY", silence=thinking_pb2.SILENCE_REASON_OFF_BY_POLICY)),
            failure(
                "zone|d|silenced",
                9_004,
                move("4" * 32, "PLAY", silence=thinking_pb2.SILENCE_REASON_SILENCED, is_suspended=True),
            ),
            failure("zone|e|starter", 9_005, told("5" * 32, "PLAY", is_starter=True)),
        ]
    )


@pytest.fixture(scope="module")
def page(server: SidecarThread, browser: Browser) -> Page:
    return answered(browser, server, "/recoveries", {"ListRecoveries": listed()})


def test_what_is_told_and_was_seen_last_comes_first(page: Page) -> None:
    go(page, "/recoveries", COLUMN)
    names = page.value(_NAMES)
    told = ["run_sql|not_found|missing_table", COLUMN, "zone|a|held", "zone|e|starter"]
    assert names[:6] == [*told, "a00|timeout|slow", "a01|timeout|slow"]
    assert len(names) == 50
    row = page.value("document.querySelectorAll('tbody tr')[1].innerText")
    assert "1,000 or more" in row
    assert "The call worked after `DESCRIBE`." in row
    assert "3 tries; 5 are needed" in page.value("document.querySelectorAll('tbody tr')[4].innerText")


@pytest.mark.parametrize(
    ("query", "first", "count"),
    [
        ("text=sql+missing", ["run_sql|not_found|missing_table", COLUMN], 2),
        ("text=DESCRIBE", [COLUMN], 1),
        (f"text={'f' * 32}", ["zip|failed|broken"], 1),
        ("state=told", ["run_sql|not_found|missing_table", COLUMN, "zone|a|held"], 3),
        ("state=suspended", ["zip|failed|broken", "zone|d|silenced"], 2),
        ("state=held", ["zone|a|held"], 1),
        ("state=shadow", ["zone|b|kept"], 1),
        ("state=policy", ["zone|c|policy", "zone|d|silenced"], 2),
        ("state=starter", ["zone|e|starter"], 1),
        ("state=untold&order=last", ["a00|timeout|slow"], 50),
        ("order=seen", [COLUMN], 50),
        ("order=lift", ["run_sql|not_found|missing_table", COLUMN], 50),
        ("text=a1&state=untold", ["a10|timeout|slow"], 10),
    ],
)
def test_they_are_searched_narrowed_and_sorted(page: Page, query: str, first: list[str], count: int) -> None:
    go(page, f"/recoveries?{query}")
    page.until(f"{_NAMES}.length === {count}")
    assert page.value(_NAMES)[: len(first)] == first


def test_an_errors_text_finds_what_has_some_of_its_words(page: Page) -> None:
    go(page, "/recoveries?text=" + "Unknown+column+'id'", "None has all of these words.")
    assert page.value(_NAMES)[0] == COLUMN
    go(page, "/recoveries?text=qqq", "No failure that is counted is like that.")


def test_more_rows_are_there_again_on_the_way_back(page: Page) -> None:
    go(page, "/now")
    go(page, "/recoveries", COLUMN)
    page.value("document.querySelector('main > p > button').click()")
    page.until(f"{_NAMES}.length === {UNTOLD + 8}")
    page.value("document.querySelectorAll('tbody tr')[60].querySelector('a').click()")
    page.until("document.querySelector('h1').innerText === 'Recovery'")
    page.value("history.back()")
    page.until(f"{_NAMES}.length === {UNTOLD + 8}")


def recovery(**fields: Any) -> memory_pb.ListRecoveriesResponse:
    """One failure with a thousand tries of thirty moves, most of them made in a few moments."""
    moves = [move(f"{number:032x}", f"LOOK {number}", tries=40 - number, worked=30 - number) for number in range(30)]
    moves[0].MergeFrom(memory_pb.RecoveryMove(is_told=True, sentence="The call worked after `LOOK 0`.", **fields))
    one = failure(COLUMN, 0, *moves, seen=1_000)
    for number in range(1_000):
        one.observations.add(
            failure_event_id=f"event-{number}",
            turn_id=f"0190d1a2-7c3e-7b4f-9a5d-{number:012}",
            session_id=f"session-of-an-agent-{number}",
            time=Timestamp(seconds=BEGAN_S + number // 300 * 86_400, nanos=number),
            recovery_id=moves[0 if number % 4 == 0 else number % 30].recovery_id,
            worked=number % 3 > 0,
        )
    return memory_pb.ListRecoveriesResponse(signatures=[one])


def shown(browser: Browser, server: SidecarThread, **fields: Any) -> Page:
    receipts = memory_pb.ListReceiptsResponse()
    for number, succeeded in enumerate((True, False, None, None)):
        item = memory_pb.ReceiptItem(id="0" * 32, kind="recovery")
        if succeeded is not None:
            item.succeeded = succeeded
        receipts.receipts.add(receipt_id=str(number), turn_id=f"t{number}", items=[item])
    receipts.receipts[2].turn_outcome = common_pb2.TASK_OUTCOME_PARTIAL
    place = f"/recoveries/{COLUMN.replace('|', '%7C')}"
    page = answered(browser, server, place, {"ListRecoveries": recovery(**fields), "ListReceipts": receipts})
    shows(page, "1,000 or more times")
    return page


@pytest.mark.parametrize(
    ("lift", "low", "high", "said"),
    [
        (-0.09, -0.33, 0.08, "At any look its interval contains 0: whether telling it helps is not known yet."),
        (0.4, 0.1, 0.6, "At any look its interval lies above 0: telling it helps."),
        (-0.4, -0.6, -0.1, "At any look its interval lies below 0: next attempts worked less often where it was told."),
    ],
)
def test_a_lift_says_what_it_means_beside_the_gates(
    browser: Browser, server: SidecarThread, lift: float, low: float, high: float, said: str
) -> None:
    """By the interval that holds however often it is looked at. Seen to fail when that of one look decided."""
    sure = memory_pb.LiftInterval(low=low, high=high)
    once = memory_pb.LiftInterval(low=lift - 0.01, high=lift + 0.01)
    lifted: dict[str, Any] = {"lift": lift, "interval": once, "interval_at_any_look": sure}
    page = shown(browser, server, shown=arm(14, 4), held_back=arm(2, 1), **lifted)
    shows(page, said)
    shows(page, "The gates look at tries of the move itself, and not at the lift.")
    shows(page, "Without advice, of the last 1,000 failures")


@pytest.mark.parametrize(
    ("held_back", "said"),
    [
        (arm(2, 1), "No lift: they were told and held back by different draws, which are not compared."),
        (arm(0, 0), "No lift yet: no outcome is known of those that were held back."),
    ],
)
def test_no_lift_says_why(browser: Browser, server: SidecarThread, held_back: memory_pb.LessonArm, said: str) -> None:
    shows(shown(browser, server, shown=arm(14, 4), held_back=held_back), said)


def test_a_lift_has_a_colour_once_it_is_known_at_any_look(browser: Browser, server: SidecarThread) -> None:
    """Seen to fail when a lift was green while nothing could be said of it."""
    once = memory_pb.LiftInterval(low=0.2, high=0.6)
    for sure, tone in ((memory_pb.LiftInterval(low=-0.1, high=0.8), "open"), (once, "good")):
        lifted: dict[str, Any] = {"lift": 0.4, "interval": once, "interval_at_any_look": sure}
        page = shown(browser, server, shown=arm(14, 4), held_back=arm(2, 1), **lifted)
        assert page.value("document.querySelector('.lift svg').getAttribute('class')") == tone


def test_what_is_counted_is_what_is_drawn(browser: Browser, server: SidecarThread) -> None:
    """What does not count is drawn faint, is named in the table, and is told beside each count; a try after other
    advice counts for no move. Seen to fail while all dots looked alike: they contradicted the counts and the reason."""
    own, other = "a" * 32, "b" * 32
    moved = move(own, "SHOW TABLES", tries=3, worked=2, advised_tries=3, advised_worked=1, is_suspended=True)
    moved.reason = "suspended: it failed twice in succession after it was told, by the tries that count; …"
    one = failure(COLUMN, 0, moved, move(other, "DESCRIBE"), seen=9)

    def row(worked: bool, advised: str = "", *, followed: bool = False, uncounted: bool = False, **more: Any) -> None:
        number = len(one.observations)
        made = memory_pb.RecoveryObservation(
            failure_event_id=f"e{number}",
            turn_id=f"t{number}",
            time=Timestamp(seconds=BEGAN_S + number * 60),
            recovery_id=own,
            worked=worked,
            advised_recovery_id=advised,
            followed=followed,
            is_uncounted=uncounted,
        )
        made.pause.FromSeconds(1)
        made.MergeFrom(memory_pb.RecoveryObservation(**more))
        one.observations.append(made)

    for worked in (True, True):
        row(worked)
    row(False, turn_failed=True)
    row(True, uncounted=True)
    row(False, own, followed=True)
    row(True, own, followed=True)
    row(True, own, followed=True, uncounted=True)
    row(False, own, followed=True)
    row(True, other)
    place = f"/recoveries/{COLUMN.replace('|', '%7C')}"
    page = answered(browser, server, place, {"ListRecoveries": memory_pb.ListRecoveriesResponse(signatures=[one])})
    assert fact(page, "Failed") == "9 times"
    shows(page, "the first 2 a day count: tries may be fewer than failures.")
    beyond = "beyond 2 a day of one token or session"
    shows(page, f"worked in 2 of 3; 1 more does not count: {beyond}")
    shows(page, f"worked in 1 of 3; 1 more does not count: {beyond}")
    assert fact(page, "After other advice") == "1 try, which counts for no move"
    shows(page, "Faint: does not count.")
    dots = page.value("[...document.querySelectorAll('svg.tries circle')].map((one) => one.getAttribute('class'))")
    kinds = [dot.split() for dot in dots]
    counted = [kind for kind in kinds if "uncounted" not in kind]
    for advised, tally in ((False, (2, 3)), (True, (1, 3))):
        drawn = [kind for kind in counted if ("advised" in kind) == advised]
        assert (sum("good" in kind for kind in drawn), len(drawn)) == tally
    assert len(kinds) - len(counted) == 3
    # Seen to fail with eight lines of words beside a cell that was nearly empty.
    heights = "[...document.querySelectorAll('.failures tbody tr')].map((one) => one.getBoundingClientRect().height)"
    for width, most_px in ((1280, 60), (360, 150)):
        page.looks(width)
        assert (width, max(page.value(heights)) < most_px, overflow(page)) == (width, True, 0)
    page.looks()
    rows = texts(page, ".failures td:last-child")
    assert rows == [
        "worked does not count: not what was told",
        "failed",
        f"worked does not count: {beyond}",
        "worked",
        "failed",
        f"worked does not count: {beyond}",
        "worked its turn failed",
        "worked",
        "worked",
    ]


def test_where_it_was_held_back_says_why(browser: Browser, server: SidecarThread) -> None:
    """By a draw, or in shadow mode: in words that need no hover."""
    reasons = (
        memory_pb.HELD_BACK_REASON_DRAW,
        memory_pb.HELD_BACK_REASON_SHADOW,
        memory_pb.HELD_BACK_REASON_UNSPECIFIED,
    )
    receipts = memory_pb.ListReceiptsResponse()
    for number, reason in enumerate(reasons):
        item = memory_pb.ReceiptItem(id="0" * 32, is_held_back=True, held_back_reason=reason)
        receipts.receipts.add(receipt_id=str(number), items=[item])
    one = failure(COLUMN, 0, told("0" * 32, "LOOK", held_back=arm(1, 0)))
    given = {"ListRecoveries": memory_pb.ListRecoveriesResponse(signatures=[one]), "ListReceipts": receipts}
    page = answered(browser, server, f"/recoveries/{COLUMN.replace('|', '%7C')}", given)
    press(page, "summary", "Where it was told")
    page.until("document.querySelectorAll('.receipts .badge').length === 3")
    assert texts(page, ".receipts .badge") == ["held back by a draw", "kept in shadow mode", "held back"]
    shows(page, "Held back by a draw: it was not told, to see what happens without it.")
    assert page.value("[...document.querySelectorAll('.receipts .badge')].every((one) => !one.title)")


def test_a_move_that_was_not_tried_has_no_rate(browser: Browser, server: SidecarThread) -> None:
    """As those of the starter pack. Seen to fail with `worked in 0 of 0` beside what is folded."""
    moves = [move(f"{number:032x}", f"LOOK {number}") for number in range(6)]
    found = memory_pb.ListRecoveriesResponse(signatures=[failure(COLUMN, 0, *moves)])
    page = answered(browser, server, f"/recoveries/{COLUMN.replace('|', '%7C')}", {"ListRecoveries": found})
    shows(page, "LOOK 5")
    assert " of 0" not in page.value("document.body.innerText")


def test_moves_of_one_argument_are_named_by_their_form(browser: Browser, server: SidecarThread) -> None:
    """Seen to fail with two moves of one name."""
    changed = memory_pb.RECOVERY_MOVE_KIND_CHANGED
    forms = {"6" * 32: "digits", "7" * 32: "capital letters, a hyphen and digits"}
    moves = [move(own, "order", form=form) for own, form in forms.items()]
    for one in moves:
        one.kind = changed
    found = memory_pb.ListRecoveriesResponse(signatures=[failure(COLUMN, 0, *moves)])
    page = answered(browser, server, f"/recoveries/{COLUMN.replace('|', '%7C')}", {"ListRecoveries": found})
    shows(page, "order")
    names = page.value("[...document.querySelectorAll('section.move h2 bdi')].map((one) => one.innerText)")
    assert [one.partition("order")[2] for one in names] == [f" as {form}" for form in forms.values()]


def test_a_failure_of_a_thousand_tries_is_read_at_any_width(browser: Browser, server: SidecarThread) -> None:
    """No dot lies on another one, and the page stays short: what is seldom is folded, and opens."""
    page = shown(browser, server, shown=arm(14, 4))
    dots = json.loads(page.value(_DOTS))
    assert len(dots) > 200
    assert len({tuple(dot) for dot in dots}) == len(dots)
    press(page, "summary", "Where it was told")
    page.until("document.querySelectorAll('.receipts tbody tr').length === 4")
    assert texts(page, ".receipts td:last-child") == [
        "next attempt worked",
        "next attempt failed",
        "partial",
        "not reported",
    ]
    for width, dark in ((360, True), (1600, False)):
        page.looks(width, dark=dark)
        assert (width, overflow(page), violations(page)) == (width, 0, [])
        assert page.value("document.documentElement.scrollHeight") < 5_000
    page.looks(360)
    id_height = "document.querySelector('.failures .id').getBoundingClientRect().height"
    assert page.value(id_height) < 30
    page.value("document.querySelector('.failures .task a').focus({focusVisible: true})")
    page.until(f"{id_height} > 30")
    page.value("document.querySelector('details.move summary').click()")
    page.until("document.querySelector('details.move[open] svg.tries')")
    press(page, "button", "Earlier failures")
    page.until("document.querySelectorAll('.failures tbody tr').length === 50")


_DOTS = """JSON.stringify([...document.querySelector('svg.tries').querySelectorAll('circle')].map((one) =>
  [one.getAttribute('cx'), one.getAttribute('cy')]))"""
