"""The screens of lessons and goals: nothing is denied that was not looked for, and who changed what is told."""

from collections.abc import Iterator

import pytest

from sidemirror.v1 import goal_reflection_pb2 as goal_pb
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import sidecar_pb2
from sidemirror.v1 import thinking_pb2 as thinking_pb
from sidemirror_server.rpc.sidecar.findings import finding_to_wire, findings_of
from tests.http.chromium import Browser
from tests.http.console.looking import answer, answered, fact, go, press, shows, texts
from tests.http.sidecars import door
from tests.memory.talk import memories
from tests.wire.calls import TIMEOUT_S
from tests.wire.sidecar import SidecarThread

pytestmark = pytest.mark.slow("a browser is started")
# More than one page of a search.
ALIKE = 55


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with door(tmp_path_factory.mktemp("lessons"), {"limits__http_requests_per_second": "1000"}) as running:
        yield running


def test_a_retired_lesson_is_found_among_many_that_fit_better(server: SidecarThread, browser: Browser) -> None:
    """By words and state. Seen to fail when the state was looked for among the best fifty."""
    with memories(server) as memory:
        for number in range(ALIKE):
            result = memory_pb.ReflectionResult(reflection_text=f"The invoices of customer {number} are in euros.")
            memory.StoreReflection(memory_pb.StoreReflectionRequest(result=result), timeout=TIMEOUT_S)
        wrong = memory_pb.ReflectionResult(
            reflection_text="Whoever closes the books of a year long past looks at invoices in the archive of paper."
        )
        stored = memory.StoreReflection(memory_pb.StoreReflectionRequest(result=wrong), timeout=TIMEOUT_S)
        review = memory_pb.ReviewReflectionRequest(
            reflection_id=stored.reflection_id, state=memory_pb.MEMORY_STATE_RETIRED, reason="there is no paper"
        )
        memory.ReviewReflection(review, timeout=TIMEOUT_S)
    page = answered(browser, server, "/now", {})
    # Who retired it, one click from the front page.
    shows(page, "Lessons retired last")
    shows(page, "reviewed by a caller whose name is not known: there is no paper")
    go(page, "/lessons?text=invoices+customer")
    shows(page, "The 50 that fit best are shown; there may be others.")
    go(page, "/lessons?text=invoices+customer&state=retired", "the archive of paper")
    assert texts(page, "tbody .badge") == ["retired"]


def test_a_version_says_who_made_it_and_all_of_them_are_there(server: SidecarThread, browser: Browser) -> None:
    """Seen to fail when `changed_by` was left out, and when the second page of versions was."""
    lesson = memory_pb.Memory(id="l", content="Look twice.", version=3, state=memory_pb.MEMORY_STATE_RETIRED)
    retired = memory_pb.Memory(
        id="l", content="Look twice.", version=3, change="reviewed", changed_by="alice", reason="it is wrong",
        state=memory_pb.MEMORY_STATE_RETIRED,
    )  # fmt: skip
    learned = memory_pb.Memory(id="l", content="Look once.", version=2, change="learned")
    first = memory_pb.ListReflectionVersionsResponse(versions=[retired, learned], next_page_token="more")
    page = answered(
        browser,
        server,
        "/lessons/l",
        {"GetReflection": memory_pb.GetReflectionResponse(memory=lesson), "ListReflectionVersions": first},
    )
    shows(page, "reviewed by alice retired it is wrong")
    shows(page, "To bring it back: sidemirror memory review l active --reason …")
    assert [row.split()[0] for row in texts(page, ".versions li")] == ["3", "2"]
    oldest = memory_pb.Memory(id="l", content="Look.", version=1, change="learned")
    last = memory_pb.ListReflectionVersionsResponse(versions=[oldest])
    answer(page, {"ListReflectionVersions": last})
    press(page, "main button", "Other versions")
    page.until("document.querySelectorAll('.versions li').length === 3")
    assert page.value(
        "[...document.querySelectorAll('main button')].every((one) => one.innerText !== 'Other versions')"
    )


def test_how_often_and_from_how_many_episodes(server: SidecarThread, browser: Browser) -> None:
    """Seen to fail with "Learned 5 ×, Episodes 2": two numbers for one thing, it seemed."""
    lesson = memory_pb.Memory(id="l", content="Look twice.", strength=5, episode_count=2, source_turn_ids=["t", "u"])
    answers = {
        "GetReflection": memory_pb.GetReflectionResponse(memory=lesson),
        "QueryReflections": memory_pb.QueryReflectionsResponse(hits=[memory_pb.QueryHit(memory=lesson)]),
    }
    page = answered(browser, server, "/lessons/l", answers)
    learned = "5 times, each repetition counted, from 2 different episodes"
    assert fact(page, "Learned") == learned
    go(page, "/lessons?text=twice", f"and 1 turn more, learned {learned}")


def test_what_a_goal_left_is_found_in_other_words(server: SidecarThread, browser: Browser) -> None:
    """By the turn that taught it, among the newest; where there are older ones, none is denied. Seen to fail when it
    was looked for by the words of the goal alone."""
    report = goal_pb.GoalReport(report_id="r", goal_id="g", objective="Ship what was packed", turn_id="t")
    left = memory_pb.Memory(id="l", content="Zebras wear stripes.", source_turn_ids=["t"])
    answers = {
        "ListGoalReports": goal_pb.ListGoalReportsResponse(reports=[report]),
        "GetGoalReflections": goal_pb.GetGoalReflectionsResponse(),
        "QueryReflections": memory_pb.QueryReflectionsResponse(),
        "ListReflections": memory_pb.ListReflectionsResponse(memories=[left]),
    }
    page = answered(browser, server, "/goals/g", answers)
    shows(page, "Zebras wear stripes.")
    others = [memory_pb.Memory(id=f"m{number}", content="Other words.") for number in range(1_000)]
    answers["ListReflections"] = memory_pb.ListReflectionsResponse(memories=others, next_page_token="more")
    page = answered(browser, server, "/goals/g", answers)
    shows(page, "None that is found by words, or among the newest 1,000; there are older ones.")


def test_what_was_counted_and_shown_elsewhere_is_told(server: SidecarThread, browser: Browser) -> None:
    """Before an edit, without a draw, and as the goal's lesson. Seen to fail when two tasks stood above a list of
    eight, when it said that no outcome was known, and when words of a goal were shown in no block."""
    tasks = memory_pb.LessonArm(assigned_count=2, success_count=1, failure_count=1)
    earlier = memory_pb.LessonArm(assigned_count=6, success_count=3, failure_count=2, missing_count=1)
    counted = memory_pb.LessonStatistics(reflection_id="l", from_version=2, outside=tasks, earlier_outside=earlier)
    memory = memory_pb.Memory(id="l", content="Look twice.", metadata={"goal_id": "g"})
    items = [memory_pb.ReceiptItem(id="l", kind="strategy", version=2), memory_pb.ReceiptItem(id="of-goal")]
    of_goal = goal_pb.GoalReflection(id="of-goal", goal_id="g", insight="Look twice.")
    page = answered(
        browser,
        server,
        "/lessons/l",
        {
            "GetReflection": memory_pb.GetReflectionResponse(memory=memory),
            "ListReflections": memory_pb.ListReflectionsResponse(memories=[memory]),
            "GetGoalReflections": goal_pb.GetGoalReflectionsResponse(reflections=[of_goal]),
            "ListReflectionVersions": memory_pb.ListReflectionVersionsResponse(),
            "GetLessonStatistics": memory_pb.GetLessonStatisticsResponse(lessons=[counted]),
            "ListReceipts": memory_pb.ListReceiptsResponse(receipts=[memory_pb.Receipt(receipt_id="r", items=items)]),
        },
    )
    shows(page, "No lift yet: nothing was compared.")
    shows(page, "A partial outcome is among those that did not. A turn is one task, with however many blocks.")
    shows(page, "Shown without a draw is not compared.")
    rows = [" ".join(row.split()) for row in texts(page, ".arms tbody tr")]
    assert rows[2:] == [
        "shown without a draw 2 1 1 0 50 %",
        "before version 2, counts no more: shown without a draw 6 3 2 1 60 %",
    ]
    assert texts(page, ".receipts tbody td:nth-child(2)") == ["not known version 2"]
    shows(page, "As the lesson of its goal the same words were shown 1 time.")
    # One click from the front page.
    go(page, "/lessons", "not compared; succeeded in 1 of 2")


def test_a_lesson_in_quarantine_says_what_releases_it(server: SidecarThread, browser: Browser) -> None:
    """On its own screen, where it was left out of a turn, and counted where somebody looks. Seen to fail with no
    command, no reason and "all well"."""
    lesson = memory_pb.Memory(
        id="l", content="Ask for the postcode.", version=1, state=memory_pb.MEMORY_STATE_QUARANTINED,
        quarantine="steering", reason="asks to send something",
    )  # fmt: skip
    plan = thinking_pb.TurnPlan(silence=thinking_pb.SILENCE_REASON_NOTHING_FITS)
    plan.context.omitted.add(id="l", reason="it is in quarantine (steering)")
    said = [thinking_pb.TurnEntry(sequence=1, directive=thinking_pb.TurnDirective(directive_id="p", turn_plan=plan))]
    turn = thinking_pb.Turn(turn_id="t", state=thinking_pb.TURN_STATE_FINISHED, last_sequence=1)
    info = sidecar_pb2.GetServerInfoResponse(quarantined_count=6)
    info.server_time.GetCurrentTime()
    info.findings.extend(map(finding_to_wire, findings_of(info)))
    answers = {
        "GetReflection": memory_pb.GetReflectionResponse(memory=lesson),
        "GetTurn": thinking_pb.GetTurnResponse(turn=turn, entries=said),
        "GetServerInfo": info,
    }
    page = answered(browser, server, "/lessons/l", answers)
    shows(page, "No agent is shown it. To release it: sidemirror memory review l active --reason …")
    go(page, "/turns/t", "1 lesson left out")
    press(page, ".block summary", "left out")
    shows(page, "today it is in quarantine (steering: asks to send something), to release it: sidemirror memory")
    go(page, "/now", "6 memories are in quarantine and wait for a person; no agent is shown them")
    assert page.value("document.querySelector('.findings a').hash") == "#/lessons?state=quarantined"
    shows(page, "all well")


def test_a_lesson_that_a_policy_turned_off_does_not_look_active(server: SidecarThread, browser: Browser) -> None:
    """In the list, at its head, and by its words where it was turned off. Seen to fail with "active" and a bare id."""
    lesson = memory_pb.Memory(id="l", content="Look twice.", version=1, state=memory_pb.MEMORY_STATE_ACTIVE)
    other = memory_pb.Memory(id="m", content="Look once.", version=1, state=memory_pb.MEMORY_STATE_ACTIVE)
    policy = sidecar_pb2.AdvicePolicy(silenced_ids=["l"])
    change = sidecar_pb2.AdviceChange(after=policy, level=sidecar_pb2.POLICY_LEVEL_PROJECT, reason="it is of another")
    answers = {
        "ListReflections": memory_pb.ListReflectionsResponse(memories=[lesson, other]),
        "GetReflection": memory_pb.GetReflectionResponse(memory=lesson),
        "GetServerInfo": sidecar_pb2.GetServerInfoResponse(advice_changes=[change]),
        "ListReflectionVersions": memory_pb.ListReflectionVersionsResponse(versions=[lesson]),
    }
    page = answered(browser, server, "/lessons", answers)
    shows(page, "turned off")
    assert texts(page, "tbody .badge") == ["turned off", "active"]
    go(page, "/lessons/l", "A policy turned it off: no agent is told it. To turn it on again: sidemirror advice on l")
    assert texts(page, ".title .badge") == ["turned off"]
    shows(page, "by a caller whose name is not known")
    shows(page, "without one (SIDEMIRROR_ACCESS_FILE) callers have none")
    go(
        page,
        "/now",
        "turned off by a caller without a name in the policy of the project (it is of another): Look twice.",
    )
    assert page.value("document.querySelector('.versions a[href*=\"lessons/l\"]') !== null")


def test_a_strategy_does_not_look_active_whose_reflection_a_policy_turned_off(
    server: SidecarThread, browser: Browser
) -> None:
    """Seen to fail with "active" in the list and on its screen, and with no change of what is told."""
    active = memory_pb.MEMORY_STATE_ACTIVE
    strategy = memory_pb.Memory(id="s", content="Before you refund, look.", version=1, state=active, strategy_of="r")
    waits = memory_pb.Memory(id="w", content="`f` failed.", version=1, state=active, awaits_review=True)
    dreamt = memory_pb.Memory(id="d", content="Look at refunds.", version=1, state=active, derived_from=["x", "r"])
    policy = sidecar_pb2.AdvicePolicy(silenced_ids=["r"])
    change = sidecar_pb2.AdviceChange(after=policy, level=sidecar_pb2.POLICY_LEVEL_PROJECT, changed_by="lena")
    answers = {
        "ListReflections": memory_pb.ListReflectionsResponse(memories=[strategy, dreamt, waits]),
        "GetReflection": memory_pb.GetReflectionResponse(memory=strategy),
        "GetServerInfo": sidecar_pb2.GetServerInfoResponse(advice_changes=[change]),
        "ListReflectionVersions": memory_pb.ListReflectionVersionsResponse(versions=[strategy]),
    }
    page = answered(browser, server, "/lessons", answers)
    shows(page, "turned off")
    assert texts(page, "tbody .badge") == ["turned off", "turned off", "not told until reviewed"]
    go(page, "/lessons/s", "A policy turned its reflection off: no agent is told it. To turn it on again: sidemirror")
    assert texts(page, ".title .badge") == ["turned off"]
    shows(page, "what it rests on, r, silenced by lena in the policy of the project")


def test_the_menu_of_scopes_closes_by_itself(server: SidecarThread, browser: Browser) -> None:
    """By Escape, and on another screen. Seen to fail when only its own heading closed it, and it covered the tabs."""
    page = answered(browser, server, "/lessons", {})
    shows(page, "Lessons")
    for leave in (
        "document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))",
        "document.querySelector('main').dispatchEvent(new PointerEvent('pointerdown', {bubbles: true}))",
        "location.hash = '#/goals'",
    ):
        page.value("document.querySelector('.scope').setAttribute('open', '')")
        page.value(leave)
        page.until("!document.querySelector('.scope').hasAttribute('open')")
