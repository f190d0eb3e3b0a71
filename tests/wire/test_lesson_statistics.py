"""Evidence of lessons over a real socket: what is held back, what outcomes say, and what is retired."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from sidemirror.v1 import common_pb2, thinking_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.memory.kin.signature import error_signature
from sidemirror_server.memory.trials.evidence import is_held_back
from sidemirror_server.models.answers import MemoryReflectionAnswer
from sidemirror_server.rpc.memory import report_outcome
from tests.critique.cast import Cast
from tests.memory.talk import event, listed, memories
from tests.wire.calls import NOT_FOUND, TIMEOUT_S, bad_field, called, failed, refused, started
from tests.wire.sidecar import SidecarThread, sidecar, thinking

SUCCESS, FAILURE = common_pb2.TASK_OUTCOME_SUCCESS, common_pb2.TASK_OUTCOME_FAILURE
HELPS, HARMS = pb.LESSON_VERDICT_HELPS, pb.LESSON_VERDICT_HARMS
ACTIVE, RETIRED = pb.MEMORY_STATE_ACTIVE, pb.MEMORY_STATE_RETIRED
TASK = "Find the order of a customer by its number"
HELD_BACK = "it is held back this time, to learn what happens without it"
LESSON = MemoryReflectionAnswer(
    reflection="The order of the customer was looked up by its number without the sign.",
    strategy="Look the orders of customers up with the leading sign of their number.",
    importance=0.6,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with sidecar(tmp_path_factory.mktemp("lessons"), model=Cast(memory_reflection=LESSON)) as found:
        yield found


@pytest.fixture(scope="module")
def stub(server: SidecarThread) -> Iterator[ReflectiveMemoryServiceStub]:
    with memories(server) as found:
        yield found


def learn(stub: ReflectiveMemoryServiceStub, text: str, strategy: str = "", **scope: str) -> pb.StoreReflectionResponse:
    """With a request_id, as blocks have: who is held back hangs on ids alone, and is the same in each run of the
    tests."""
    result = pb.ReflectionResult(reflection_text=text, strategy_text=strategy)
    request = pb.StoreReflectionRequest(result=result, request_id=text, **scope)
    return stub.StoreReflection(request, timeout=TIMEOUT_S)


def build(stub: ReflectiveMemoryServiceStub, fraction: float = 0.0, **fields: Any) -> common_pb2.ContextBlock:
    request = pb.BuildMemoryContextRequest(**{"task": TASK, "holdout_fraction": fraction, **fields})
    return stub.BuildMemoryContext(request, timeout=TIMEOUT_S).block


def report(stub: ReflectiveMemoryServiceStub, receipt_id: str, outcome: Any, **fields: Any) -> None:
    request = pb.ReportOutcomeRequest(receipt_id=receipt_id, outcome=outcome, **fields)
    stub.ReportOutcome(request, timeout=TIMEOUT_S)


def statistics(stub: ReflectiveMemoryServiceStub, *ids: str, **scope: Any) -> list[pb.LessonStatistics]:
    request = pb.GetLessonStatisticsRequest(reflection_ids=ids, **scope)
    return list(stub.GetLessonStatistics(request, timeout=TIMEOUT_S).lessons)


def arm(assigned: int = 0, success: int = 0, failure: int = 0, missing: int = 0, **more: int) -> pb.LessonArm:
    return pb.LessonArm(
        assigned_count=assigned, success_count=success, failure_count=failure, missing_count=missing, **more
    )


def worked(
    stub: ReflectiveMemoryServiceStub, memory_id: str, tasks: int, better_with: bool, when: str = "", **scope: str
) -> int:
    """An agent's tasks, which succeed whenever the lesson was, or was not, shown; how many until it was shown no
    more."""
    for number in range(tasks):
        block = build(stub, 0.5, request_id=f"task{when}{number}", **scope)
        if not block.receipt_id:
            return number
        shown = memory_id in {item.id for item in block.items}
        report(stub, block.receipt_id, SUCCESS if shown == better_with else FAILURE, **scope)
    return tasks


def test_a_lesson_is_held_back_at_random(stub: ReflectiveMemoryServiceStub) -> None:
    """A reflection and its strategy together, others by themselves; nothing takes the place of what is held back."""
    scope: dict[str, Any] = {"tenant_id": "random"}
    one = learn(stub, LESSON.reflection, str(LESSON.strategy), **scope)
    other = learn(stub, "The customer of the order had two numbers, and the first was found.", **scope)
    pair, single = {one.reflection_id, one.strategy_id}, {other.reflection_id}
    seen = set()
    for number in range(30):
        block = build(stub, 0.5, request_id=f"r{number}", **scope)
        shown = {item.id for item in block.items}
        held = {left.id for left in block.omitted if left.reason == HELD_BACK}
        assert shown | held == pair | single
        assert shown & pair in (pair, set())
        for ids, key in ((pair, one.reflection_id), (single, other.reflection_id)):
            assert (ids <= held) == is_held_back(block.receipt_id, key, 0.5)
        assert bool(block.text) == bool(shown)
        assert block.receipt_id
        seen.add((bool(pair & shown), bool(single & shown)))
        assert build(stub, 0.5, request_id=f"r{number}", **scope) == block
    assert len(seen) == 4
    found = {one.reflection_id: one for one in statistics(stub, *pair, *single, **scope)}
    for lesson in found.values():
        assert lesson.shown.assigned_count + lesson.held_back.assigned_count == 30
        assert min(lesson.shown.missing_count, lesson.held_back.missing_count) >= 5
        assert not lesson.HasField("lift")
    assert found[one.reflection_id].shown == found[one.strategy_id].shown


def test_nothing_is_held_back_unless_that_is_asked_for(stub: ReflectiveMemoryServiceStub) -> None:
    """What was shown without a draw is counted once its outcome is told, and compared with nothing."""
    scope: dict[str, Any] = {"tenant_id": "usual"}
    memory_id = learn(stub, LESSON.reflection, **scope).reflection_id
    blocks = [build(stub, **scope) for _ in range(10)]
    assert all([item.id for item in block.items] == [memory_id] for block in blocks)
    assert statistics(stub, memory_id, **scope)[0].outside == arm()
    report(stub, blocks[0].receipt_id, SUCCESS, **scope)
    report(stub, blocks[1].receipt_id, FAILURE, **scope)
    (found,) = statistics(stub, memory_id, **scope)
    assert (found.outside, found.shown, found.held_back) == (arm(2, 1, 1), arm(), arm())
    assert found.verdict == pb.LESSON_VERDICT_NOT_ENOUGH_DATA
    assert found.detail == "no task was compared: a comparison needs a holdout_fraction"


def test_what_harms_is_retired_and_can_be_brought_back(stub: ReflectiveMemoryServiceStub) -> None:
    scope: dict[str, Any] = {"tenant_id": "harms"}
    memory_id = learn(stub, LESSON.reflection, **scope).reflection_id
    tasks = worked(stub, memory_id, 200, better_with=False, **scope)
    assert 60 <= tasks < 200, "30 outcomes in each arm, and then none"
    (found,) = statistics(stub, memory_id, **scope)
    assert (found.verdict, found.state, found.lift) == (HARMS, RETIRED, -1.0)
    assert found.reason.startswith("tasks succeed less often with it: -100.0 points, at any look")
    assert found.interval.high < found.interval_at_any_look.high < 0
    assert min(found.shown.failure_count, found.held_back.success_count) == 30
    (memory,) = listed(stub, **scope)
    assert (memory.change, memory.reason, memory.version) == ("judged", found.reason, 2)

    review = pb.ReviewReflectionRequest(reflection_id=memory_id, state=ACTIVE, reason="it was the weather", **scope)
    stub.ReviewReflection(review, timeout=TIMEOUT_S)
    (anew,) = statistics(stub, memory_id, **scope)
    assert (anew.from_version, anew.state, anew.shown, anew.held_back) == (3, ACTIVE, arm(), arm())
    late = build(stub, 0.5, request_id="late", **scope)
    report(stub, late.receipt_id, FAILURE, **scope)
    assert statistics(stub, memory_id, **scope)[0].state == ACTIVE, "what it was retired for does not count again"
    assert worked(stub, memory_id, 200, better_with=False, when="again", **scope) < 200, "new evidence does"


def test_what_helps_stays(stub: ReflectiveMemoryServiceStub) -> None:
    scope: dict[str, Any] = {"tenant_id": "helps"}
    memory_id = learn(stub, LESSON.reflection, **scope).reflection_id
    assert worked(stub, memory_id, 90, better_with=True, **scope) == 90
    (found,) = statistics(stub, memory_id, **scope)
    assert (found.verdict, found.state) == (HELPS, ACTIVE)
    assert found.interval_at_any_look.low > 0


def test_another_text_is_another_lesson(stub: ReflectiveMemoryServiceStub) -> None:
    scope: dict[str, Any] = {"tenant_id": "text"}
    memory_id = learn(stub, LESSON.reflection, **scope).reflection_id
    before = build(stub, 0.5, **scope)
    for changes, from_version in ((pb.MemoryChanges(importance=0.7), 1), (pb.MemoryChanges(content=TASK), 3)):
        update = pb.UpdateReflectionRequest(reflection_id=memory_id, changes=changes, **scope)
        stub.UpdateReflection(update, timeout=TIMEOUT_S)
        assert statistics(stub, memory_id, **scope)[0].from_version == from_version
    report(stub, before.receipt_id, SUCCESS, **scope)
    (found,) = statistics(stub, memory_id, **scope)
    assert (found.shown, found.held_back) == (arm(), arm()), "that task had another text"


def test_an_outcome_replaces_the_one_before(stub: ReflectiveMemoryServiceStub) -> None:
    scope: dict[str, Any] = {"tenant_id": "replaced"}
    memory_id = learn(stub, LESSON.reflection, **scope).reflection_id
    block = build(stub, 0.9, request_id="one", **scope)
    shown = bool(block.items)

    def its_arm() -> pb.LessonArm:
        (found,) = statistics(stub, memory_id, **scope)
        return found.shown if shown else found.held_back

    assert its_arm() == arm(1, missing=1)
    for outcome, wanted in (
        (FAILURE, arm(1, failure=1)),
        (common_pb2.TASK_OUTCOME_PARTIAL, arm(1, failure=1)),
        (SUCCESS, arm(1, success=1)),
        (common_pb2.TASK_OUTCOME_TIMEOUT, arm(1, failure=1)),
    ):
        report(stub, block.receipt_id, outcome, **scope)
        assert its_arm() == wanted


def fail_once(stub: ReflectiveMemoryServiceStub, **scope: Any) -> pb.GenerateReflectionResponse:
    request = pb.GenerateReflectionRequest(
        events=[
            event(pb.EVENT_TYPE_TOOL_CALL, "W17", "e1", tool_name="find_order"),
            event(pb.EVENT_TYPE_ERROR_EVENT, "bash: jq: command not found", "e2", tool_name="find_order"),
        ],
        outcome=FAILURE,
        task_description=TASK,
        store=True,
        **scope,
    )
    return stub.GenerateReflection(request, timeout=TIMEOUT_S)


def errors(*texts: str, tool: str = "find_order") -> pb.TaskErrors:
    return pb.TaskErrors(failed_calls=[pb.FailedCall(tool_name=tool, error_message=text) for text in texts])


def test_whether_the_error_returned(stub: ReflectiveMemoryServiceStub) -> None:
    """In whatever words; only where it is known what came up."""
    scope: dict[str, Any] = {"tenant_id": "recurrence"}
    made = fail_once(stub, **scope)
    told = [
        errors("sh: 1: jq: not found"),
        errors("disk full", "/bin/bash: line 3: jq: command not found"),
        errors("sh: 1: jq: not found", tool="another_tool"),
        errors("sh: 1: yq: not found"),
        errors(),
        None,
    ]
    for one in told:
        block = build(stub, tools=["find_order"], **scope)
        assert {item.id for item in block.items} == {made.reflection_id, made.strategy_id}
        report(stub, block.receipt_id, SUCCESS, errors=one, **scope)
    for found in statistics(stub, made.reflection_id, made.strategy_id, **scope):
        assert found.outside == arm(6, 6, returned_count=2, stayed_away_count=3)


@pytest.mark.parametrize("has_ids", [True, False], ids=["call ids", "no call ids"])
def test_a_recorded_turn_says_which_errors_came_up(
    has_ids: bool, server: SidecarThread, stub: ReflectiveMemoryServiceStub
) -> None:
    """Seen to fail where an answer without a call id was that of no tool."""
    scope: dict[str, Any] = {"tenant_id": f"turns {has_ids}"}
    made = fail_once(stub, **scope)
    with thinking(server) as turns:
        for turn_id, texts in (("broken", ["jq: command not found"]), ("well", [])):
            block = build(stub, turn_id=turn_id, tools=["find_order"], **scope)
            events = [started(session_id="s")]
            for number, text in enumerate(texts):
                call_id = f"c{number}" if has_ids else ""
                events += [called("find_order", "W17", call_id), failed(text, call_id)]
            for number, one in enumerate(events):
                one.event_id = f"e{number}"
            start = thinking_pb2.StartTurnRequest(turn_id=turn_id, session_id="s", **scope)
            turns.StartTurn(start, timeout=TIMEOUT_S)
            more = thinking_pb2.ReportEventsRequest(turn_id=turn_id, events=events[1:], **scope)
            if events[1:]:
                turns.ReportEvents(more, timeout=TIMEOUT_S)
            report(stub, block.receipt_id, SUCCESS, **scope)
    unrecorded = build(stub, turn_id="nobody", tools=["find_order"], **scope)
    report(stub, unrecorded.receipt_id, SUCCESS, **scope)
    (found,) = statistics(stub, made.reflection_id, **scope)
    assert found.outside == arm(3, 3, returned_count=1, stayed_away_count=1)


def test_all_lessons_page_by_page(stub: ReflectiveMemoryServiceStub) -> None:
    scope: dict[str, Any] = {"tenant_id": "pages"}
    ids = [
        learn(stub, f"The order of a customer {text}.", **scope).reflection_id
        for text in ("was sent back by the post", "needs two numbers to be known", "stays open for a whole month")
    ]
    deleted = learn(stub, "The order of a customer had no number at all.", **scope).reflection_id
    never = learn(stub, "Cached embeddings made the search fast.", **scope).reflection_id
    build(stub, 0.5, max_items=20, **scope)
    stub.DeleteReflection(pb.DeleteReflectionRequest(reflection_id=deleted, **scope), timeout=TIMEOUT_S)
    found, token = [], ""
    while True:
        asked = pb.GetLessonStatisticsRequest(page_size=2, page_token=token, **scope)
        page = stub.GetLessonStatistics(asked, timeout=TIMEOUT_S)
        found += [one.reflection_id for one in page.lessons]
        token = page.next_page_token
        if not token:
            break
    assert found == sorted(ids, reverse=True)
    assert [one.reflection_id for one in statistics(stub, never, *ids, **scope)] == [never, *ids]
    assert (
        refused(stub.GetLessonStatistics, pb.GetLessonStatisticsRequest(reflection_ids=[deleted], **scope)) == NOT_FOUND
    )
    assert statistics(stub, tenant_id="nobody") == []


def test_bad_requests(stub: ReflectiveMemoryServiceStub) -> None:
    for fraction in (-0.1, 0.95, float("nan")):
        asked = pb.BuildMemoryContextRequest(task=TASK, holdout_fraction=fraction)
        assert refused(stub.BuildMemoryContext, asked) == bad_field("holdout_fraction")
    both = pb.GetLessonStatisticsRequest(reflection_ids=["x"], page_token="x")
    assert refused(stub.GetLessonStatistics, both) == bad_field("page_token")
    wrong = pb.GetLessonStatisticsRequest(page_token="x")
    assert refused(stub.GetLessonStatistics, wrong) == bad_field("page_token")
    many = pb.GetLessonStatisticsRequest(reflection_ids=["x"] * 101)
    assert refused(stub.GetLessonStatistics, many) == bad_field("reflection_ids")


def test_reported_errors_are_recognised_beside_the_loop(
    stub: ReflectiveMemoryServiceStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred of them take a second, and those of a turn can be thousands. Seen to fail when the call did it itself:
    in the thread of the loop."""
    learn(stub, LESSON.reflection, project_id="beside")
    receipt_id = build(stub, project_id="beside").receipt_id
    threads = set[str]()

    def watched(tool: str, text: str) -> str:
        threads.add("of the loop" if running_loop() else "another")
        return error_signature(tool, text)

    monkeypatch.setattr(report_outcome, "error_signature", watched)
    errors = pb.TaskErrors(failed_calls=[pb.FailedCall(tool_name="sql", error_message="no such table: t")])
    report(stub, receipt_id, FAILURE, errors=errors, project_id="beside")
    assert threads == {"another"}


def running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
