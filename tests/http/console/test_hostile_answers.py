"""The console over answers that somebody hostile has written: two hundred texts in every field, on every screen.

No store is filled: the page gets these answers in place of a sidecar's. Every fold is opened, and every long text.
Lists have a row for each text; a screen that shows one record is visited with each. A text of 256 KiB stands in the
first fields of an answer, and is cut in the others.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import TypeVar
from urllib.parse import quote, unquote

import pytest
from google.protobuf.message import Message

from sidemirror.v1 import goal_reflection_pb2 as goal_pb
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import sidecar_pb2 as sidecar_pb
from sidemirror.v1 import thinking_pb2 as pb
from tests.http.chromium import Browser, Page
from tests.http.console.harmless import COMPLAINTS
from tests.http.console.hostile import COUNT, hostile_texts
from tests.http.console.looking import answered, bodies_of
from tests.http.sidecars import door
from tests.operations.hostile_records import fill
from tests.wire.sidecar import SidecarThread

pytestmark = pytest.mark.slow("a browser is started")
M = TypeVar("M", bound=Message)
TEXTS = hostile_texts(COUNT)
PROBE = "<script>window.ran=1</script>"
# Of the texts of an answer: a browser takes half a minute to lay out fifty of the longest.
ROOM_BYTES = 600_000
# Records are visited narrow with each text, where there is least room, and wide with every so many.
EVERY_WIDE = 8
# The texts are visited by so many tests: the first part, with the first text and the last one, in every run.
PARTS = 4
PART = [pytest.param(part, marks=pytest.mark.long if part else ()) for part in range(PARTS)]
# How many visits are sent to the page at once.
AT_ONCE = 10
# Visits places one after the other with the answers for each, opens what is folded, and says what is wrong there.
_VISIT = """(async (visits) => {
  const {port1, port2} = new MessageChannel();
  const moment = () => new Promise((done) => { port1.onmessage = done; port2.postMessage(0); });
  const settled = async () => {
    const ends = performance.now() + 60_000;
    do await moment();
    while (!document.querySelector("main h1") || document.querySelector("main .waiting"))
      if (performance.now() > ends) throw new Error(`${location.hash}: ${document.body.innerText.slice(0, 300)}`);
  };
  const found = [];
  for (const [place, answers] of visits) {
    window.answers = {...window.answers, ...answers};
    location.hash = place;
    await new Promise((done) => addEventListener("hashchange", done, {once: true}));
    await settled();
    for (;;) {
      const folds = "main details:not([open]) > summary, main .long button[aria-expanded=false]";
      const closed = document.querySelectorAll(folds);
      if (closed.length === 0) break;
      for (const one of closed) one.click();
      // A fold says that it is open a moment later; what is in it is asked for then.
      await new Promise((done) => setTimeout(done, 1));
      await settled();
    }
    found.push([%s, document.body.innerText.includes(%s)]);
  }
  return found;
})(%s)"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with door(tmp_path_factory.mktemp("answers"), {"limits__http_requests_per_second": "5000"}) as running:
        yield running


@pytest.fixture
def page(server: SidecarThread, browser: Browser) -> Page:
    return answered(browser, server, "/nowhere", {"GetServerInfo": sidecar_pb.GetServerInfoResponse()})


def filled(message: M, text: str, number: int = 0, room: list[int] | None = None) -> M:
    """The message with the text in each of its fields, and in those of its messages; lists have one record. `number`:
    which of the values of enums, and which of several fields of which one may be set."""
    fill(message, text, number, [ROOM_BYTES] if room is None else room)
    if "next_page_token" in message.DESCRIPTOR.fields_by_name:
        message.ClearField("next_page_token")
    return message


def one_of_each(kind: type[Message], rows: str, field: str = "") -> Message:
    """An answer whose list has a record with each text."""
    answer, room = kind(), [ROOM_BYTES]
    if field:
        filled(answer, field, room=room)
        answer.ClearField(rows)
    for number, text in enumerate(TEXTS):
        filled(getattr(answer, rows).add(), text, number, room)
    return answer


def receipts(text: str, number: int) -> memory_pb.ListReceiptsResponse:
    """What an agent asked for, with a lesson and a recovery, held back and shown."""
    answer = memory_pb.ListReceiptsResponse()
    for place in (memory_pb.RECEIPT_PLACE_MEMORY_CONTEXT, number % 7):
        receipt = filled(answer.receipts.add(), text, number)
        receipt.place = place  # type: ignore[assignment]
        filled(receipt.items.add(), text, number + 1).kind = "recovery"
    return answer


def lesson(text: str, number: int) -> dict[str, Message]:
    """Everything that the screen of a lesson asks for."""
    return {
        "GetReflection": filled(memory_pb.GetReflectionResponse(), text, number),
        "GetLessonStatistics": filled(memory_pb.GetLessonStatisticsResponse(), text, number),
        "ListReflectionVersions": filled(memory_pb.ListReflectionVersionsResponse(), text, number),
        "ListReceipts": receipts(text, number),
        "GetServerInfo": info(text, number),
    }


def info(text: str, number: int) -> sidecar_pb.GetServerInfoResponse:
    """Facts about a server; changes of advice that name this lesson, and others."""
    answer = filled(sidecar_pb.GetServerInfoResponse(), text, number)
    mode = filled(answer.advice_changes.add(), text, number)
    for change in answer.advice_changes:
        change.mode = ""
    mode.mode = text
    return answer


def turn(text: str, number: int) -> dict[str, Message]:
    """A turn with an entry of each kind: the text is in each field of them, of the recalls, and of the critiques."""
    answer = filled(pb.GetTurnResponse(), text, number)
    del answer.entries[:]
    room, sequences = [ROOM_BYTES], count(1)
    for kind in range(len(pb.TurnEvent.DESCRIPTOR.oneofs_by_name["kind"].fields)):
        filled(answer.entries.add(sequence=next(sequences)).event, text, kind, room)
    for kind in range(len(pb.TurnDirective.DESCRIPTOR.oneofs_by_name["kind"].fields)):
        directive = filled(answer.entries.add(sequence=next(sequences)).directive, text, kind, room)
        for block in (directive.turn_plan.context, directive.advice.block, directive.reflection.lessons):
            if block.items:
                # One that says why it fits, and one of a kind that nobody knows.
                block.items.add().CopyFrom(block.items[0])
                block.items[1].id, block.items[1].kind, block.items[1].score = "a lesson", "reflection", 0.5
                block.omitted.add(id="0" * 32, reason=text[:300])
    filled(answer.entries.add(sequence=next(sequences)).claim, text, number, room)
    for entry in answer.entries:
        entry.turn_id = text[:300]
    # One that has ended is not watched.
    answer.turn.state = pb.TURN_STATE_FINISHED
    found = filled(memory_pb.QueryReflectionsResponse(), text, number)
    hit = found.hits.add()
    hit.CopyFrom(found.hits[0])
    hit.memory.id = "a lesson"
    return {
        **lesson(text, number),
        "GetTurn": answer,
        "QueryReflections": found,
        "ListRecoveries": recoveries(text, number),
        "ListGoalReports": filled(goal_pb.ListGoalReportsResponse(), text, number),
    }


def recoveries(text: str, number: int) -> memory_pb.ListRecoveriesResponse:
    """A failure with moves that are told, suspended, of the starter pack and kept, and what followed each."""
    answer = filled(memory_pb.ListRecoveriesResponse(), text, number)
    for seen in answer.signatures:
        for place in range(5):
            move = filled(seen.moves.add(), text, number + place)
            move.is_told, move.recovery_id = place == 0, f"{place:032x}"
            row = filled(seen.observations.add(), text, number + place)
            row.recovery_id = move.recovery_id
    return answer


def goal(text: str, number: int) -> dict[str, Message]:
    reports = filled(goal_pb.ListGoalReportsResponse(), text, number)
    for state in range(5):
        filled(reports.reports.add(), text, state).report_state = state  # type: ignore[assignment]
    return {
        **lesson(text, number),
        "ListGoalReports": reports,
        "GetGoalReflections": filled(goal_pb.GetGoalReflectionsResponse(), text, number),
        "QueryReflections": filled(memory_pb.QueryReflectionsResponse(), text, number),
        "ListReflections": filled(memory_pb.ListReflectionsResponse(), text, number),
    }


def goals_lesson(text: str, number: int) -> dict[str, Message]:
    """A goal's reflection, by the id that is asked for."""
    recent = filled(goal_pb.ListRecentGoalsResponse(), text, number)
    recent.goals[0].reflections[0].id = f"visit {number}"
    return {**lesson(text, number), "ListRecentGoals": recent}


def empty(text: str, number: int) -> dict[str, Message]:
    """A list without turns: where others may be, and whose calls were refused."""
    sessions = pb.ListSessionsResponse()
    filled(sessions.sessions.add(), text, number).session_id += f" visit {number}"
    return {"ListTurns": pb.ListTurnsResponse(), "ListSessions": sessions, "GetServerInfo": info(text, number)}


def unknown(text: str, number: int) -> dict[str, Message]:
    """Turns whose ids begin as the one that is asked for."""
    turns = pb.ListTurnsResponse()
    for place in range(2):
        filled(turns.turns.add(), text, number).turn_id = f"visit {number} {place} {text[:300]}"
    return {"ListTurns": turns, "GetServerInfo": info(text, number)}


# By a screen's name: its place, and the answers with a text.
RECORDS: dict[str, tuple[str, Callable[[str, int], Mapping[str, Message]]]] = {
    "turn": ("/turns/{}", turn),
    "lesson": ("/lessons/{}", lesson),
    "recovery": (
        "/recoveries/{}",
        lambda text, number: {**lesson(text, number), "ListRecoveries": recoveries(text, number)},
    ),
    "goal": ("/goals/{}", goal),
    "goals-lesson": ("/lessons/{}", goals_lesson),
    "now": ("/now?tenant={}", goal),
    "empty": ("/turns?session={}", empty),
    "unknown": ("/turns/{}", unknown),
}
# What the sidecar itself answers on a screen: that there is nothing of the id.
NOT_FOUND = {"goals-lesson": "GetReflection", "unknown": "GetTurn"}


def visited(page: Page, width: int, visits: Sequence[tuple[str, Mapping[str, Message]]]) -> None:
    """Visits places with these answers: nothing is wrong with any of them, and the first one shows its text."""
    page.looks(width)
    shown: list[bool] = []
    for first in range(0, len(visits), AT_ONCE):
        part = visits[first : first + AT_ONCE]
        asked = json.dumps([(place, bodies_of(answers)) for place, answers in part])
        found = page.value(_VISIT % (COMPLAINTS, json.dumps(PROBE), asked))
        assert [(place, width, wrong) for (place, _), (wrong, _) in zip(part, found, strict=True) if wrong] == []
        shown += [is_shown for _, is_shown in found]
    assert shown[0] or "visit 0" not in unquote(visits[0][0])
    # The browser notes that a sidecar refused something; nothing else is to be noted.
    assert [line for line in page.told() if "Failed to load resource" not in line] == []


@pytest.mark.parametrize("part", PART)
@pytest.mark.parametrize("name", RECORDS)
def test_a_record(name: str, part: int, server: SidecarThread, page: Page) -> None:
    """Seen to fail with a text that is set as HTML, and with an id that does not break."""
    place, answers = RECORDS[name]
    for width, every in ((360, 1), (1600, EVERY_WIDE)):
        visits = []
        for number, text in enumerate(TEXTS):
            if min(number, len(TEXTS) - 1 - number) % PARTS == part and number // PARTS % every == 0:
                own = dict(answers(text, number))
                own.pop(NOT_FOUND.get(name, ""), None)
                visits.append((place.format(quote(f"visit {number}", safe="")), own))
        visited(page, width, visits)
        page.value("void (location.hash = '#/nowhere')")
    elsewhere = {url for url in page.asked() if not url.startswith(f"http://127.0.0.1:{server.http_port}/")}
    assert {url for url in elsewhere if not url.startswith("data:image/svg+xml;base64,")} == set()


def lists() -> dict[str, tuple[str, dict[str, Message]]]:
    """By name: the place of a list, and its answers with a row for each text."""
    turns = one_of_each(pb.ListTurnsResponse, "turns")
    memories = one_of_each(memory_pb.ListReflectionsResponse, "memories")
    found = one_of_each(memory_pb.QueryReflectionsResponse, "hits")
    lifts = one_of_each(memory_pb.GetLessonStatisticsResponse, "lessons")
    return {
        "turns": ("/turns?from=2020-01-01T00:00:00", {"ListTurns": turns}),
        "lessons": ("/lessons", {"ListReflections": memories, "GetLessonStatistics": lifts}),
        "found": ("/lessons?text=x", {"QueryReflections": found, "GetLessonStatistics": lifts}),
        "recoveries": ("/recoveries", {"ListRecoveries": one_of_each(memory_pb.ListRecoveriesResponse, "signatures")}),
    }


@pytest.mark.parametrize("name", ["turns", "lessons", "found", "recoveries"])
def test_a_list(name: str, page: Page) -> None:
    place, answers = lists()[name]
    for width in (360, 1600):
        visited(page, width, [(place, answers)])
        more = "[...document.querySelectorAll('main button')].find((one) => one.innerText === 'More')"
        while page.value(f"Boolean({more})"):
            page.value(f"{more}.click()")
        assert page.value("document.querySelectorAll('tbody tr').length") == len(TEXTS)
        assert page.value(COMPLAINTS) == []
        page.value("void (location.hash = '#/nowhere')")
        page.until("document.querySelector('h1')?.innerText === 'Nowhere'")
