"""Two hundred hostile texts in every field, on every screen: nothing runs, nothing is fetched, the layout holds."""

import json
from collections.abc import Iterator

import grpc
import pytest

from sidemirror.v1 import goal_reflection_pb2 as goal_pb
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import sidecar_pb2, sidecar_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.http.chromium import Browser, Page
from tests.http.console.harmless import complaints
from tests.http.console.hostile import COUNT, hostile_texts, printable
from tests.http.console.looking import go, opened, settled
from tests.http.sidecars import door
from tests.memory.recovering import FAILURE
from tests.memory.talk import memories
from tests.wire.calls import MEDIUM, TIMEOUT_S, called, failed, finished, returned
from tests.wire.sidecar import SidecarThread, thinking
from tests.wire.waiting import until

# Of one policy.
MOST_SILENCED = 100
FAST = {"limits__http_requests_per_second": "5000"}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(50, marks=pytest.mark.slow("a browser is started, and texts are stored in each field")),
        pytest.param(COUNT, marks=[pytest.mark.long, pytest.mark.timeout(1_800)]),
    ],
)
def count(request: pytest.FixtureRequest) -> int:
    """How many of the texts."""
    return int(request.param)


@pytest.fixture(scope="module")
def server(count: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with door(tmp_path_factory.mktemp("hostile"), FAST) as running:
        yield running


@pytest.fixture(scope="module")
def step(count: int) -> int:
    """Of the screens that show one record each, every how many are looked at; lists are read to their end."""
    return 1 if count == COUNT else 10


def event_fields(text: str, number: int) -> dict[str, pb.TurnEvent]:
    """An event of each kind whose every text is this one."""
    short = printable(text, 256)
    name = f"c{number}"
    return {
        "said": pb.TurnEvent(user_message=pb.UserMessage(text=text), agent=short),
        "asked": pb.TurnEvent(model_started=pb.ModelStarted(provider=short, model=short)),
        "answered": pb.TurnEvent(model_returned=pb.ModelReturned(text=text)),
        "called": called(short, text, name),
        "returned": returned(text, name, is_error=number % 2 == 0),
        "failed": failed(text, name),
        "uncertain": pb.TurnEvent(uncertainty=pb.Uncertainty(score=0.9, detail=text)),
        "reflected": pb.TurnEvent(
            reflection_recorded=pb.ReflectionRecorded(reflection=text, suggested_action=text, confidence=0.5)
        ),
        "drafted": pb.TurnEvent(response_drafted=pb.ResponseDrafted(text=text)),
    }


def report(stub: ThinkingServiceStub, turn_id: str, events: list[pb.TurnEvent]) -> None:
    """In requests that are not too long."""
    part: list[pb.TurnEvent] = []
    for event in events:
        part.append(event)
        if sum(one.ByteSize() for one in part) > 300_000 or event is events[-1]:
            stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=part), timeout=TIMEOUT_S)
            part = []


@pytest.fixture(scope="module")
def turns(server: SidecarThread, count: int) -> list[str]:
    """Turns with each text as a task and in ids, and one for each kind of event, with each text."""
    names = []
    with thinking(server) as stub:
        for number, text in enumerate(hostile_texts(count)):
            name = printable(f"{number} {text}", 128)
            start = pb.StartTurnRequest(turn_id=name, session_id=name, task=text, base_prompt=text, config=MEDIUM)
            stub.StartTurn(start, timeout=TIMEOUT_S)
            tool = printable(text, 200)
            events = [
                *(called(tool, "SELECT 1 FROM orders", "a"), failed(FAILURE, "a")),
                # The next attempt, or a move that has the text in its name.
                *(called(tool if number % 2 else f"no {tool}", "SELECT 1 FROM customers", "b"), returned(text, "b")),
                finished(outcome=1),
            ]
            report(stub, name, events)
            names.append(name)
        kinds = [event_fields(text, number) for number, text in enumerate(hostile_texts(count))]
        for kind in kinds[0]:
            stub.StartTurn(pb.StartTurnRequest(turn_id=kind, session_id="kinds"), timeout=TIMEOUT_S)
            report(stub, kind, [events[kind] for events in kinds])
            names.append(kind)
    return names


@pytest.fixture(scope="module")
def lessons(server: SidecarThread, count: int) -> list[str]:
    """A lesson and its strategy with each text in every field."""
    found = []
    with memories(server) as memory:
        for number, text in enumerate(hostile_texts(count)):
            short = printable(text, 60)
            words = text[:8_000] if text.strip() else f"{text} words"
            result = memory_pb.ReflectionResult(
                reflection_text=f"{number} {words}",
                strategy_text=f"{number} do {words}",
                tags=[short],
                error_signature=f"{short.replace('|', '')}|not_found|missing_table",
                applies_when=memory_pb.AppliesWhen(tools=[short], not_when=text[:1_000]),
            )
            request = memory_pb.StoreReflectionRequest(result=result, session_id=printable(text, 128))
            stored = memory.StoreReflection(request, timeout=TIMEOUT_S)
            if not stored.reflection_id:
                continue
            review = memory_pb.ReviewReflectionRequest(
                reflection_id=stored.reflection_id, state=memory_pb.MEMORY_STATE_ACTIVE, reason=f"{text[:900]} ok"
            )
            memory.ReviewReflection(review, timeout=TIMEOUT_S)
            found.append(stored.reflection_id)
    assert len(found) > count * 3 // 4
    return found


@pytest.fixture(scope="module")
def goals(server: SidecarThread, count: int) -> list[str]:
    """A failed goal with each text in every field."""
    names = []
    with grpc.insecure_channel(server.address) as channel:
        stub = GoalReflectionServiceStub(channel)
        for number, text in enumerate(hostile_texts(count)):
            name = printable(f"{number} {text}", 128)
            words = text if text.strip() else f"{text} words"
            task = goal_pb.GoalTask(name=printable(text, 256), output_summary=text, error=text)
            failed = goal_pb.GOAL_STATE_FAILED
            request = goal_pb.ReportGoalRequest(
                goal_id=name, objective=words, state=failed, tasks=[task], error=text, turn_id=name
            )
            stub.ReportGoal(request, timeout=TIMEOUT_S)
            names.append(name)
        done = goal_pb.ListGoalReportsRequest(report_state=goal_pb.GOAL_REPORT_STATE_DONE, page_size=1_000)
        until(lambda: len(stub.ListGoalReports(done, timeout=TIMEOUT_S).reports) == count)
    return names


@pytest.fixture(scope="module")
def page(server: SidecarThread, browser: Browser) -> Page:
    return opened(browser, server)


def check(page: Page, where: str) -> None:
    """Nothing of a text has become anything but text, and everything is in its place at both widths."""
    for width in (360, 1600):
        page.looks(width)
        assert (where, width, complaints(page)) == (where, width, [])
    assert page.told() == []


def more(page: Page, name: str) -> bool:
    """Presses the button that brings more, if there is one, and waits for what comes."""
    rows = "document.querySelectorAll('tbody tr, .entry').length"
    before = page.value(rows)
    buttons = "[...document.querySelectorAll('main > button, main > p > button')]"
    button = f"{buttons}.find((one) => one.innerText === {json.dumps(name)})"
    if not page.value(f"Boolean({button})"):
        return False
    page.value(f"{button}.click()")
    page.until(f"{rows} > {before}")
    return True


def test_turns(page: Page, turns: list[str], count: int, step: int) -> None:
    go(page, "/turns")
    while more(page, "Older turns"):
        check(page, "turns")
    page.until(f"document.querySelectorAll('tbody tr').length === {len(turns)}")
    kinds = [*event_fields("x", 0)]
    for name in (*kinds, *turns[:count:step], *turns[count - 3 : count]):
        page.value(f"void (location.hash = '/turns/' + encodeURIComponent({json.dumps(name)}))")
        settled(page)
        page.until("document.querySelectorAll('.entry').length > 6")
        while name in kinds and more(page, "Later entries"):
            pass
        check(page, name)
        # Whole texts too.
        page.value("[...document.querySelectorAll('.long button')].slice(0, 5).forEach((one) => one.click())")
        check(page, name)
        if name == "said":
            assert page.value("document.body.innerText.includes('<script>window.ran=1</script>')")
            assert page.value("document.body.innerText.includes('‹U+202E›gnirts')")


def test_lessons(page: Page, lessons: list[str], step: int) -> None:
    go(page, "/lessons")
    while more(page, "Older lessons"):
        check(page, "lessons")
    for name in lessons[::step]:
        go(page, f"/lessons/{name}", "Versions")
        check(page, name)


def test_goals(page: Page, goals: list[str], step: int) -> None:
    for name in goals[::step]:
        page.value(f"void (location.hash = '/goals/' + encodeURIComponent({json.dumps(name)}))")
        settled(page)
        page.until("document.body.innerText.includes('What it taught')")
        check(page, name)


def test_what_was_turned_off(server: SidecarThread, page: Page, count: int) -> None:
    """Ids that a policy silences are whatever somebody wrote."""
    with grpc.insecure_channel(server.address) as channel:
        ids = [printable(f"{number} {text}", 128) for number, text in enumerate(hostile_texts(count))]
        stub = sidecar_pb2_grpc.SidecarServiceStub(channel)
        for first in range(0, count, MOST_SILENCED):
            advice = sidecar_pb2.AdvicePolicy(silenced_ids=ids[first : first + MOST_SILENCED])
            policy = sidecar_pb2.Policy(advice=advice)
            stub.SetPolicy(sidecar_pb2.SetPolicyRequest(policy=policy), timeout=TIMEOUT_S)
        go(page, "/now", "in the policy of the project: 0 ")
        check(page, "now")
        stub.SetPolicy(sidecar_pb2.SetPolicyRequest(policy=sidecar_pb2.Policy()), timeout=TIMEOUT_S)


@pytest.mark.usefixtures("turns")
def test_recoveries(server: SidecarThread, page: Page, count: int, step: int) -> None:
    with memories(server) as memory:
        request = memory_pb.ListRecoveriesRequest(page_size=1000)
        until(lambda: len(memory.ListRecoveries(request, timeout=TIMEOUT_S).signatures) > count // 4)
        found = memory.ListRecoveries(request, timeout=TIMEOUT_S).signatures
    go(page, "/recoveries")
    while more(page, "More"):
        check(page, "recoveries")
    for one in [*found][::step]:
        page.value(f"void (location.hash = '/recoveries/' + encodeURIComponent({json.dumps(one.signature)}))")
        settled(page)
        check(page, one.signature)


def test_what_stands_in_the_address(page: Page, count: int, step: int) -> None:
    """Errors, the scope and the filters show it."""
    for text in hostile_texts(count)[::step]:
        said = json.dumps(printable(text, 128))
        for place in ("'/now?tenant=' +", "'/turns?task=x&session=' +", "'/turns/' +", "'/lessons?text=' +"):
            page.value(f"void (location.hash = {place} encodeURIComponent({said}))")
            settled(page)
            page.until("!document.querySelector('.waiting')")
            assert complaints(page) == []
    assert not [line for line in page.told() if "Content Security Policy" in line]


def test_nothing_was_fetched_from_elsewhere(server: SidecarThread, page: Page) -> None:
    """Of all that the tests before have looked at. The browser has its own pictures for fields of times."""
    asked = [url for url in page.asked() if not url.startswith("data:image/svg+xml;base64,")]
    assert asked
    assert {url for url in asked if not url.startswith(f"http://127.0.0.1:{server.http_port}/")} == set()
