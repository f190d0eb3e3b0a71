"""The screen of a turn, over answers whose times and ids are chosen."""

from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from tests.http.chromium import Browser
from tests.http.console.looking import answered, fact, overflow, press, shows, texts, violations
from tests.http.sidecars import door
from tests.wire.calls import called, failed, finished, returned
from tests.wire.sidecar import SidecarThread

pytestmark = pytest.mark.slow("a browser is started")
BEGAN_S = 1_790_000_000
LEFT_OUT = 12


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with door(tmp_path_factory.mktemp("turn")) as running:
        yield running


def at(ms: int) -> Timestamp:
    return Timestamp(seconds=BEGAN_S, nanos=ms * 1_000_000)


def recorded() -> pb.GetTurnResponse:
    """A turn of an agent whose clock is 73 ms behind the sidecar's, which was shown a block with lessons left out."""
    block = common_pb2.ContextBlock(
        items=[common_pb2.ContextItem(id="told", kind="recovery", text="Do so.", score=0.5)]
    )
    for number in range(LEFT_OUT):
        block.omitted.add(id=f"0190d1a2-{number:04}", reason="over the budget")
    events = [
        pb.TurnEvent(turn_started=pb.TurnStarted(task="Count"), event_id="e", time=at(0)),
        called("sql", "SELECT 1", "a", "call"),
        returned("1", "a"),
        finished(outcome=1),
    ]
    for ms, event in zip((0, 90, 100, 116), events, strict=True):
        event.time.CopyFrom(at(ms))
    plan = pb.TurnDirective(directive_id="p", time=at(73), turn_plan=pb.TurnPlan(context=block))
    said = [pb.TurnEntry(event=one) for one in events]
    said.insert(1, pb.TurnEntry(directive=plan))
    for sequence, entry in enumerate(said, start=1):
        entry.sequence, entry.turn_id = sequence, "t"
    turn = pb.Turn(
        turn_id="t",
        session_id="s",
        state=pb.TURN_STATE_FINISHED,
        outcome="TASK_OUTCOME_SUCCESS",
        start_time=at(73),
        update_time=at(116),
    )
    return pb.GetTurnResponse(turn=turn, entries=said)


def test_a_turn_is_timed_from_its_first_entry(browser: Browser, server: SidecarThread) -> None:
    """By the times of its entries, also where the agent's clock is not the sidecar's."""
    page = answered(browser, server, "/turns/t", {"GetTurn": recorded()})
    shows(page, "turn started")
    assert texts(page, ".since") == ["", "+73 ms", "+90 ms", "+100 ms", "+116 ms"]
    shows(page, "116 ms")
    facts = page.value("document.querySelector('.facts').innerText")
    assert "116 ms" in facts
    assert "43 ms" not in facts
    # Its plan names no failure; the list of recoveries finds that by the recovery.
    assert page.value("document.querySelector('.block .card a').hash") == "#/recoveries?text=told"


def delivered_late() -> pb.GetTurnResponse:
    """A turn of 116 ms whose plan and summary were made 20 s later, as those of spans are."""
    late = recorded()
    for entry in late.entries:
        if entry.HasField("directive"):
            entry.directive.time.seconds += 20
    summary = pb.TurnSummary(outcome="TASK_OUTCOME_SUCCESS", duration={"nanos": 116_000_000})
    late.entries.add(turn_id="t", sequence=6).directive.CopyFrom(pb.TurnDirective(time=at(0), turn_summary=summary))
    late.entries[-1].directive.time.seconds += 20
    return late


def test_what_the_sidecar_said_later_is_no_part_of_what_a_turn_took(browser: Browser, server: SidecarThread) -> None:
    """Seen to fail with "20 s" of a turn whose summary says 116 ms. One that nobody has ended lasted until the sidecar
    ended it."""
    page = answered(browser, server, "/turns/t", {"GetTurn": delivered_late()})
    shows(page, "summary")
    assert fact(page, "Took") == "116 ms"
    assert texts(page, ".since")[-1] == "+20 s"
    left = delivered_late()
    left.turn.state = pb.TURN_STATE_ABANDONED
    page = answered(browser, server, "/turns/t", {"GetTurn": left})
    assert fact(page, "Took") == "20 s"


def prompted() -> pb.GetTurnResponse:
    """As hooks tell of a prompt: it is the task and the message."""
    started = pb.TurnStarted(
        task="Sum the invoices",
        messages=[common_pb2.Message(role="MESSAGE_ROLE_USER", content="Sum the invoices")],
        base_prompt="Be brief.",
    )
    entry = pb.TurnEntry(event=pb.TurnEvent(turn_started=started, event_id="e", time=at(0)), turn_id="t", sequence=1)
    turn = pb.Turn(turn_id="t", session_id="s" * 120, state=pb.TURN_STATE_OPEN, start_time=at(0))
    return pb.GetTurnResponse(turn=turn, entries=[entry])


def test_a_prompt_stands_once_at_the_start(browser: Browser, server: SidecarThread) -> None:
    """Seen to fail with the prompt twice, as the task and as the message."""
    page = answered(browser, server, "/turns/t", {"GetTurn": prompted()})
    shows(page, "turn started")
    assert texts(page, ".entry .text") == ["Sum the invoices", "Be brief."]


def test_copy_stays_whole_beside_a_long_id(browser: Browser, server: SidecarThread) -> None:
    """Seen to fail with "Cop" above "y"."""
    long = prompted()
    long.turn.turn_id = long.entries[0].turn_id = "turn-" + "0123456789" * 12
    page = answered(browser, server, f"/turns/{long.turn.turn_id}", {"GetTurn": long})
    shows(page, "Copy")
    page.looks(360)
    lines = (
        "(one) => { const range = document.createRange(); range.selectNodeContents(one);"
        "return range.getClientRects().length }"
    )
    assert page.value(f"[...document.querySelectorAll('.copied button')].map({lines})") == [1]
    assert overflow(page) == 0


ARABIC = "\u0628\u062d\u062b"


def nudged() -> pb.GetTurnResponse:
    """A turn of an agent that writes Arabic, and so names its tools."""
    task = " ".join([f"{ARABIC} \u0639\u0646 \u0627\u0644\u0641\u0648\u0627\u062a\u064a\u0631"] * 3)
    message = f"{ARABIC} was called 3 times with the same arguments."
    nudge = pb.TurnDirective(
        directive_id="n", time=at(5), nudge=pb.Nudge(pattern=pb.PATTERN_REPEATED_CALL, message=message)
    )
    entry = pb.TurnEntry(directive=nudge, turn_id="t", sequence=1)
    turn = pb.Turn(turn_id="t", session_id="s", task=task, state=pb.TURN_STATE_FINISHED, start_time=at(0))
    return pb.GetTurnResponse(turn=turn, entries=[entry])


def test_a_sentence_that_begins_with_a_name_is_set_as_it_is_written(browser: Browser, server: SidecarThread) -> None:
    """Seen to fail: an English sentence stood on the right because a tool's name in it is Arabic. What the agent's user
    has written in Arabic does."""
    page = answered(browser, server, "/turns/t", {"GetTurn": nudged()})
    shows(page, "was called 3 times")
    sides = (
        "(one) => { const range = document.createRange(); range.selectNodeContents(one);"
        "const [text, box] = [range.getBoundingClientRect(), one.getBoundingClientRect()];"
        "return text.left - box.left < box.right - text.right ? 'left' : 'right' }"
    )
    assert page.value(f"[...document.querySelectorAll('main .plain')].map({sides})") == ["right", "left"]


def test_what_was_left_out_is_told_apart_by_its_words(browser: Browser, server: SidecarThread) -> None:
    """Where a text is not there any more, by its id."""
    text = "Look the orders up with the leading sign. " * 9
    answer = memory_pb.GetReflectionResponse(memory=memory_pb.Memory(content=text))
    for answers, words in (({"GetReflection": answer}, "Look the orders up with"), ({}, "0190d1a2-0003")):
        page = answered(browser, server, "/turns/t", {"GetTurn": recorded(), **answers})
        press(page, ".block summary", "left out")
        page.until(f"document.querySelectorAll('.omitted li')[3].innerText.includes('{words}')")
        rows = texts(page, ".omitted li")
        assert len(rows) == LEFT_OUT
        assert all(row.endswith("over the budget") and len(row) < 160 for row in rows)
        page.looks(360)
        assert (overflow(page), violations(page)) == (0, [])


def test_a_nudge_says_what_followed(browser: Browser, server: SidecarThread) -> None:
    """Seen to fail without a word, as if nobody knew whether the agent listened."""
    nudge = pb.TurnDirective(
        directive_id="n", caused_by=["c1"], nudge=pb.Nudge(pattern=pb.PATTERN_REPEATED_CALL, message="Stop.")
    )
    calls = [
        *(called("search", "x", "a", "c1"), returned("none", "a", "r1")),
        *(called("search", "x", "b", "c2"), returned("none", "b", "r2")),
    ]
    entries = [pb.TurnEntry(event=one) for one in calls]
    entries.insert(2, pb.TurnEntry(directive=nudge))
    for number, entry in enumerate(entries, start=1):
        entry.turn_id, entry.sequence = "t", number
    turn = pb.Turn(turn_id="t", session_id="s", state=pb.TURN_STATE_FINISHED, last_sequence=5)
    page = answered(browser, server, "/turns/t", {"GetTurn": pb.GetTurnResponse(turn=turn, entries=entries)})
    shows(page, "what followed: 4 search called the same call again, with the same answer: not followed")


def held(**fields: Any) -> memory_pb.Memory:
    """A lesson that is in quarantine since before the turn."""
    made = memory_pb.Memory(state=memory_pb.MEMORY_STATE_QUARANTINED, version=1, create_time=at(0), **fields)
    made.create_time.seconds -= 60
    return made


def test_a_failing_call_names_what_is_in_quarantine(browser: Browser, server: SidecarThread) -> None:
    """With a link to it. Seen to fail with "no repair was known" alone."""
    silence = pb.Silence(reason=pb.SILENCE_REASON_NOTHING_KNOWN, signature="ship_order|tool|postcode")
    said = pb.TurnDirective(directive_id="d", caused_by=["f"], time=at(200), silence=silence)
    calls = [called("ship_order", "7", "a", "c"), failed("no postcode", "a", "f")]
    entries = [*(pb.TurnEntry(event=one) for one in calls), pb.TurnEntry(directive=said)]
    for number, entry in enumerate(entries, start=1):
        entry.turn_id, entry.sequence = "t", number
    turn = pb.Turn(turn_id="t", session_id="s", task="Ship", state=pb.TURN_STATE_FINISHED, start_time=at(0))
    lessons = [
        held(
            id="l",
            content="Ask for the postcode.",
            quarantine="steering",
            reason="asks to send something",
            applies_when=memory_pb.AppliesWhen(tools=["ship_order"]),
        ),
        held(id="m", content="Look twice.", applies_when=memory_pb.AppliesWhen(tools=["other"])),
    ]
    answers = {
        "GetTurn": pb.GetTurnResponse(turn=turn, entries=entries),
        "ListReflections": memory_pb.ListReflectionsResponse(memories=lessons),
    }
    page = answered(browser, server, "/turns/t", answers)
    shows(page, "in quarantine, for this tool or failure: Ask for the postcode. (steering: asks to send something)")
    assert page.value("document.querySelector('.entry a[href*=\"lessons/l\"]').innerText") == "Ask for the postcode."
    assert "Look twice" not in page.value("document.querySelector('main').innerText")


def test_a_correction_is_linked_from_its_turn_and_waits_at_the_next(browser: Browser, server: SidecarThread) -> None:
    """Seen to fail without a word of it in either."""
    lesson = held(id="l", content="The user corrected the agent: “In cents.”", quarantine="correction")
    lesson.source_turn_ids.append("corrected")
    lesson.metadata["task_description"] = "Sum"
    lessons = memory_pb.ListReflectionsResponse(memories=[lesson])
    for turn_id, words in (
        ("corrected", "a user's correction: The user corrected the agent"),
        ("next", "A user's correction of this task waits for a person, and was not told"),
    ):
        turn = pb.Turn(turn_id=turn_id, session_id="s", task="Sum", start_time=at(0), state=pb.TURN_STATE_FINISHED)
        answers = {"GetTurn": pb.GetTurnResponse(turn=turn), "ListReflections": lessons}
        page = answered(browser, server, f"/turns/{turn_id}", answers)
        shows(page, words)
        shows(page, "quarantined (correction); to release it: sidemirror memory review l active --reason …")
        assert page.value("document.querySelector('main a[href*=\"lessons/l\"]') !== null")


def test_a_lesson_in_quarantine_has_its_reason_apart_from_the_command(browser: Browser, server: SidecarThread) -> None:
    """As `turns why` has them. Seen to fail with "quarantined steering to release it: …", and with a long text that
    ended in the middle of a word as if that were all."""
    lesson = held(id="l", content="Ask again. " * 20, quarantine="steering", reason="asks to send something")
    lesson.source_turn_ids.append("t")
    turn = pb.Turn(turn_id="t", session_id="s", task="Sum", start_time=at(0), state=pb.TURN_STATE_FINISHED)
    lessons = memory_pb.ListReflectionsResponse(memories=[lesson])
    answers = {"GetTurn": pb.GetTurnResponse(turn=turn), "ListReflections": lessons}
    page = answered(browser, server, "/turns/t", answers)
    (row,) = texts(page, ".versions li")
    shown, _, rest = row.partition("… ")
    assert lesson.content.startswith(shown)
    assert len(shown) == 120
    reason = "quarantined (steering: asks to send something); to release it: "
    assert rest == f"{reason}sidemirror memory review l active --reason …"


def test_a_second_failure_of_a_kind_has_the_reason_of_the_first(browser: Browser, server: SidecarThread) -> None:
    """Seen to fail with five reasons that it might have."""
    silence = pb.Silence(reason=pb.SILENCE_REASON_NOTHING_KNOWN, signature="rate|timeout")
    said = pb.TurnDirective(directive_id="d", caused_by=["f1"], time=at(200), silence=silence)
    events = [
        *(called("rate", "eur", "a", "c1"), failed("no answer after 5 s", "a", "f1")),
        *(called("rate", "eur", "b", "c2"), failed("no answer after 5 s", "b", "f2")),
    ]
    entries = [pb.TurnEntry(event=one) for one in events]
    entries.insert(2, pb.TurnEntry(directive=said))
    for number, entry in enumerate(entries, start=1):
        entry.turn_id, entry.sequence = "t", number
    turn = pb.Turn(turn_id="t", session_id="s", state=pb.TURN_STATE_FINISHED, start_time=at(0), last_sequence=5)
    page = answered(browser, server, "/turns/t", {"GetTurn": pb.GetTurnResponse(turn=turn, entries=entries)})
    shows(page, "of each kind of failure the first one in a turn is looked up, and at 3 no repair was known")
    assert "telemetry" not in page.value("document.querySelector('main').innerText")


def test_what_was_withdrawn_says_so(browser: Browser, server: SidecarThread) -> None:
    """Seen to fail with what was told alone, as if it still held."""
    made = pb.MidTurnReflection(status=common_pb2.RESULT_STATUS_OK, reflection="No such table.")
    told = pb.TurnDirective(directive_id="d", caused_by=["f1"], time=at(200), reflection=made)
    events = [
        *(called("sql", "SELECT 1", "a", "c1"), failed("no such table", "a", "f1")),
        *(called("sql", "SELECT 1", "b", "c2"), returned("17", "b", "r2")),
    ]
    entries = [pb.TurnEntry(event=one) for one in events]
    entries.insert(2, pb.TurnEntry(directive=told))
    for number, entry in enumerate(entries, start=1):
        entry.turn_id, entry.sequence = "t", number
    turn = pb.Turn(turn_id="t", session_id="s", state=pb.TURN_STATE_FINISHED, start_time=at(0), last_sequence=5)
    page = answered(browser, server, "/turns/t", {"GetTurn": pb.GetTurnResponse(turn=turn, entries=entries)})
    shows(page, "withdrawn at 5, when the same call worked: an agent that had not shown it by then does not")
