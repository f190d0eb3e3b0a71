"""The SDK's functions and its agent: the real SDK, and a scripted endpoint that speaks OpenAI's Chat Completions."""

import json
from typing import Any

import pytest
from agents import Agents, Ended
from conftest import Ask
from scripted import stories
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, assert_in_time, assert_same, is_prefix, kinds, on_record, seen_by
from scripted.wire import Answer, Call, Fails, Hangs

from sidemirror.v1 import common_pb2

WAYS = ("generateText", "streamText", "agent.generate", "agent.stream")
WHOLE = ("generateText", "agent.generate")
PROMPT = stories.TASK
SEARCH = Call("search_payments", {"text": "taxi"})
# Answers that are JSON, as the request may ask for.
WRONG_JSON, RIGHT_JSON = (
    json.dumps({"orders": 3, "note": text}) for text in (stories.WRONG_TOTAL, stories.RIGHT_TOTAL)
)


def roles(endpoint: Endpoint, model: str, number: int = -1) -> list[str]:
    """Who says what in a request."""
    return [one["role"] for one in endpoint.seen[model][number].request.messages]


@pytest.mark.parametrize("way", WAYS)
def test_advice_stands_behind_the_failing_calls_result(
    endpoint: Endpoint, ask: Ask, sidecar: Sidecar, way: str
) -> None:
    endpoint.script("m", [stories.BAD], [stories.GOOD], stories.RIGHT)
    assert ask(way, "m", PROMPT, "run_sql")["text"] == stories.RIGHT
    first, second, third = endpoint.seen["m"]
    assert is_prefix(first, second)
    assert is_prefix(second, third), "what was added is added again at its place"
    *_, failure, advice = second.request.messages
    assert (failure["role"], advice["role"]) == ("tool", "user")
    assert stories.FAILURE in failure["content"]
    assert "[reflection] " in json.dumps(advice["content"])
    (turn,) = sidecar.turns()
    assert (turn.task, turn.outcome) == (PROMPT, common_pb2.TASK_OUTCOME_UNSPECIFIED)
    events = sidecar.events(turn.turn_id)
    assert kinds(events)[-2:] == ["response_drafted", "turn_finished"]
    assert [one.tool_failed.error for one in events if one.HasField("tool_failed")] == [stories.FAILURE]


def test_the_sixth_session_is_right_because_of_the_recovery(endpoint: Endpoint, ask: Ask, sidecar: Sidecar) -> None:
    """Lessons are off, so that nothing else can have told it."""

    def session(number: int) -> Ended:
        settings = {"sessionId": f"s{number}", "lessons": False, "outcome": "session"}
        return ask("generateText", f"m{number}", PROMPT, "run_sql", settings=settings)

    for number in range(stories.SESSIONS):
        endpoint.script(f"m{number}", *stories.REPAIRED)
        assert session(number)["text"] == stories.RIGHT
        sidecar.wait_for_observations(number + 1)
    # One in ten is held back from what is told.
    for number in range(stories.SESSIONS, stories.SESSIONS + 10):
        endpoint.scripts[f"m{number}"] = stories.listener
        ended = session(number)
        _, second, *_ = endpoint.seen[f"m{number}"]
        told = stories.ADVICE in second.request.text
        assert ended["text"] == (stories.RIGHT if told else stories.GUESS)
        if told:
            break
    else:
        pytest.fail("it was never told")
    assert sidecar.turns(number + 1)[-1].outcome == common_pb2.TASK_OUTCOME_SUCCESS


async def test_advice_for_a_failure_that_is_a_text_is_in_the_next_request(
    endpoint: Endpoint, ask: Ask, sidecar: Sidecar
) -> None:
    """Seen to fail where advice is waited for behind failures alone that are marked."""

    async def session(name: str) -> Ended:
        settings = {"sessionId": name, "lessons": False}
        return ask("generateText", name, stories.TASK, "run_sql", unmarked="run_sql", settings=settings)

    await assert_in_time(sidecar, endpoint, session)


def test_lessons_are_the_last_part_of_the_users_message(endpoint: Endpoint, ask: Ask, sidecar: Sidecar) -> None:
    """A guardrail that reads the last message reads what the user said. Seen to fail with a message of its own."""
    settings = {"outcome": "session", "goalId": "count"}
    endpoint.script("m", *stories.REPAIRED)
    ask("generateText", "m", PROMPT, "run_sql", settings=settings)
    sidecar.wait_for_lessons(PROMPT)
    endpoint.script("n", [stories.GOOD], stories.RIGHT)
    assert ask("generateText", "n", PROMPT, "run_sql", settings=settings, guarded=True)["read"] == [PROMPT, PROMPT]
    first, second = endpoint.seen["n"]
    assert is_prefix(first, second)
    (prompt,) = first.request.messages
    said, lessons = prompt["content"]
    assert (prompt["role"], said["text"]) == ("user", PROMPT)
    assert "orders" in lessons["text"]
    assert first.request.system == endpoint.seen["m"][0].request.system, "the instructions stay as they are"


@pytest.mark.parametrize("way", WHOLE)
def test_a_wrong_answer_is_revised_once(endpoint: Endpoint, ask: Ask, sidecar: Sidecar, way: str) -> None:
    endpoint.script("m", *stories.MISCOUNTED)
    ended = ask(way, "m", stories.PAYMENTS_TASK, "search_payments")
    assert ended["text"] == stories.RIGHT_TOTAL
    assert len(endpoint.seen["m"]) == 3
    *_, wrong, revised = endpoint.seen["m"]
    assert is_prefix(wrong, revised)
    assert "64.75" in json.dumps(revised.request.messages[-1]["content"])
    assert ended["tokens"] == 50 + 51 + 52, "what the SDK counts has the tokens of both"
    (turn,) = sidecar.turns()
    events = sidecar.events(turn.turn_id)
    assert [one.response_drafted.text for one in events if one.HasField("response_drafted")] == [stories.RIGHT_TOTAL]
    assert_same(on_record(events, "clerk"), seen_by(endpoint.seen["m"]))


@pytest.mark.parametrize("way", WHOLE)
def test_a_revision_that_fails_leaves_the_answer(endpoint: Endpoint, ask: Ask, way: str) -> None:
    endpoint.script("m", *stories.MISCOUNTED[:2], Fails(400))
    assert ask(way, "m", stories.PAYMENTS_TASK, "search_payments")["text"] == stories.WRONG_TOTAL


def assert_first_stays(endpoint: Endpoint, sidecar: Sidecar, ended: Ended, first: str) -> None:
    """The first answer is the run's and the turn's, and the tokens of both are counted."""
    assert ended["text"] == first
    assert ended["tokens"] == 50 + 51 + 52
    assert len(endpoint.seen["m"]) == 3
    events = sidecar.events(sidecar.turns()[0].turn_id)
    assert [one.response_drafted.text for one in events if one.HasField("response_drafted")] == [first]
    returned = [one.model_returned for one in events if one.HasField("model_returned")]
    assert [one.input_tokens for one in returned] == [50, 51, 52]


@pytest.mark.parametrize("way", WHOLE)
@pytest.mark.parametrize("text", ["", " \n"], ids=["nothing", "space"])
def test_the_first_answer_stays_where_the_second_is_empty(
    endpoint: Endpoint, ask: Ask, sidecar: Sidecar, way: str, text: str
) -> None:
    endpoint.script("m", *stories.MISCOUNTED[:2], text)
    ended = ask(way, "m", stories.PAYMENTS_TASK, "search_payments")
    assert_first_stays(endpoint, sidecar, ended, stories.WRONG_TOTAL)


@pytest.mark.parametrize("form", ["text", "object"])
@pytest.mark.parametrize("reason", ["length", "content-filter", "error", "interrupted"])
@pytest.mark.parametrize("second", [stories.RIGHT_TOTAL[:9], [SEARCH]], ids=["text", "call"])
def test_the_first_answer_stays_where_the_second_is_cut_or_refused(
    endpoint: Endpoint, ask: Ask, sidecar: Sidecar, form: str, reason: str, second: Answer
) -> None:
    """In both forms that a reason has by the version of the model. A call in the second does not run."""
    endpoint.script("m", *stories.MISCOUNTED[:2], second, stories.GUESS)
    revision = {"finishReason": reason if form == "text" else {"unified": reason, "raw": reason}}
    ended = ask("generateText", "m", stories.PAYMENTS_TASK, "search_payments", revision=revision)
    assert_first_stays(endpoint, sidecar, ended, stories.WRONG_TOTAL)
    assert kinds(sidecar.events(sidecar.turns()[0].turn_id)).count("tool_called") == 1


@pytest.mark.parametrize(
    ("second", "revision"),
    [(stories.RIGHT_TOTAL, {}), (RIGHT_JSON[:-1], {}), (RIGHT_JSON, {"structuredOutputText": ""})],
    ids=["prose", "half", "apart"],
)
def test_the_first_answer_stays_where_json_was_asked_for_and_the_second_is_none(
    endpoint: Endpoint, ask: Ask, sidecar: Sidecar, second: str, revision: dict[str, str]
) -> None:
    """Since 7.0 the JSON may stand apart from the text."""
    endpoint.script("m", [SEARCH], WRONG_JSON, second)
    ended = ask("generateText", "m", stories.PAYMENTS_TASK, "search_payments", object=True, revision=revision)
    assert_first_stays(endpoint, sidecar, ended, WRONG_JSON)


@pytest.mark.parametrize("answers", [(RIGHT_JSON,), ([SEARCH], RIGHT_JSON)], ids=["json", "call"])
def test_an_answer_in_json_is_revised(endpoint: Endpoint, ask: Ask, answers: tuple[Answer, ...]) -> None:
    endpoint.script("m", [SEARCH], WRONG_JSON, *answers)
    assert ask("generateText", "m", stories.PAYMENTS_TASK, "search_payments", object=True)["text"] == RIGHT_JSON


def test_a_revised_answer_may_call_tools(endpoint: Endpoint, ask: Ask, sidecar: Sidecar) -> None:
    endpoint.script("m", [SEARCH], stories.WRONG_TOTAL, [SEARCH], stories.RIGHT_TOTAL)
    ended = ask("generateText", "m", stories.PAYMENTS_TASK, "search_payments")
    assert ended["text"] == stories.RIGHT_TOTAL
    assert_same(on_record(sidecar.events(sidecar.turns()[0].turn_id), "clerk"), seen_by(endpoint.seen["m"]))


def test_what_a_stream_has_shown_is_not_taken_back(endpoint: Endpoint, ask: Ask, sidecar: Sidecar) -> None:
    endpoint.script("m", *stories.MISCOUNTED)
    assert ask("streamText", "m", stories.PAYMENTS_TASK, "search_payments")["text"] == stories.WRONG_TOTAL
    (turn,) = sidecar.turns()
    assert kinds(sidecar.events(turn.turn_id))[-2:] == ["response_drafted", "turn_finished"]


@pytest.mark.parametrize("way", WAYS)
class TestEndings:
    """The outcome is on record however a run ends."""

    def test_the_model_raises(self, endpoint: Endpoint, ask: Ask, sidecar: Sidecar, way: str) -> None:
        endpoint.script("m", [stories.BAD], Fails(400))
        assert ask(way, "m", PROMPT, "run_sql")["error"] == "AI_APICallError"
        (turn,) = sidecar.turns()
        assert turn.outcome == common_pb2.TASK_OUTCOME_ERROR
        assert "tool_failed" in kinds(sidecar.events(turn.turn_id))

    @pytest.mark.parametrize("more", [{"abortMs": 300}, {"cancelMs": 300}], ids=["timeout", "abort"])
    def test_there_is_no_more_time(
        self, endpoint: Endpoint, ask: Ask, sidecar: Sidecar, way: str, more: dict[str, int]
    ) -> None:
        endpoint.script("m", Hangs())
        ask(way, "m", PROMPT, **more)
        assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_TIMEOUT

    def test_a_tool_runs_out_of_time(self, endpoint: Endpoint, ask: Ask, sidecar: Sidecar, way: str) -> None:
        endpoint.script("m", [Call("hang", {"key": "k"})], stories.RIGHT)
        ask(way, "m", PROMPT, "hang", abortMs=700)
        (turn,) = sidecar.turns()
        assert turn.outcome == common_pb2.TASK_OUTCOME_TIMEOUT
        assert "tool_called" in kinds(sidecar.events(turn.turn_id))


def test_runs_at_once_have_a_turn_each(endpoint: Endpoint, agents: Agents, sidecar: Sidecar) -> None:
    names = [endpoint.script(f"m{number}", *stories.REPAIRED) for number in range(8)]
    begun = [
        agents.begin(endpoint, sidecar, WAYS[place % 4], name, name, "run_sql") for place, name in enumerate(names)
    ]
    assert [end()["text"] for end in begun] == [stories.RIGHT] * 8
    turns = sidecar.turns(8)
    assert sorted(turn.task for turn in turns) == names
    for turn in turns:
        assert_same(on_record(sidecar.events(turn.turn_id), "clerk"), seen_by(endpoint.seen[turn.task]))


def test_calls_that_never_begin_are_on_record(endpoint: Endpoint, ask: Ask, sidecar: Sidecar) -> None:
    """An unknown tool, and arguments that do not fit."""
    endpoint.script("m", [Call("nobody", {}), Call("run_sql", {"quary": 1})], stories.GUESS)
    ask("generateText", "m", PROMPT, "run_sql")
    (turn,) = sidecar.turns()
    ends = [one.tool_returned for one in sidecar.events(turn.turn_id) if one.HasField("tool_returned")]
    assert [one.is_error for one in ends] == [True, True]
    assert any("nobody" in one.content for one in ends)


def test_calls_that_end_before_their_stream_are_on_record_as_parallel(ask: Ask, sidecar: Sidecar) -> None:
    """The second is no repair of the first."""
    ask("streamText", "mock", PROMPT, "flaky", mock=True, steps=1)
    events = sidecar.events(sidecar.turns()[0].turn_id)
    assert kinds(events)[1:7] == ["model_started", "model_returned", *["tool_called"] * 2, *["tool_failed"] * 2]


def test_a_tool_that_returns_piece_by_piece_ends_with_the_last(endpoint: Endpoint, ask: Ask, sidecar: Sidecar) -> None:
    endpoint.script("m", [Call("piecewise", {"key": "k"})])
    ask("streamText", "m", PROMPT, "piecewise", steps=1)
    events = sidecar.events(sidecar.turns()[0].turn_id)
    assert [one.tool_returned.content for one in events if one.HasField("tool_returned")] == ["k is whole"]


def test_a_run_that_waits_for_an_approval_is_taken_up_in_its_session(
    endpoint: Endpoint, ask: Ask, sidecar: Sidecar
) -> None:
    endpoint.script("m", [stories.GOOD], stories.RIGHT)
    settings = {"sessionId": "chat"}
    waits = ask("generateText", "m", PROMPT, "run_sql", approval="run_sql", settings=settings)
    (request,) = [one for one in waits["content"] if one["type"] == "tool-approval-request"]
    answer = {"type": "tool-approval-response", "approvalId": request["approvalId"], "approved": True}
    messages = [{"role": "user", "content": PROMPT}, *waits["messages"], {"role": "tool", "content": [answer]}]
    ended = ask("generateText", "m", "", "run_sql", approval="run_sql", settings=settings, messages=messages)
    assert ended["text"] == stories.RIGHT
    one, two = sidecar.turns(2)
    assert {one.session_id, two.session_id} == {"chat"}
    assert "response_drafted" not in kinds(sidecar.events(one.turn_id))
    assert [kind for kind in kinds(sidecar.events(two.turn_id)) if kind.startswith("tool")] == [
        "tool_called",
        "tool_returned",
    ]


@pytest.mark.parametrize("way", WHOLE)
def test_one_call_is_approved_and_one_refused(endpoint: Endpoint, ask: Ask, sidecar: Sidecar, way: str) -> None:
    endpoint.script("m", [stories.GOOD, stories.BAD], stories.RIGHT)
    waits = ask(way, "m", PROMPT, "run_sql", approval="run_sql")
    answers = [
        {"type": "tool-approval-response", "approvalId": one["approvalId"], "approved": place == 0, "reason": "No."}
        for place, one in enumerate(part for part in waits["content"] if part["type"] == "tool-approval-request")
    ]
    messages = [{"role": "user", "content": PROMPT}, *waits["messages"], {"role": "tool", "content": answers}]
    assert ask(way, "m", "", "run_sql", approval="run_sql", messages=messages)["text"] == stories.RIGHT
    events = sidecar.events(sidecar.turns(2)[1].turn_id)
    assert [one.tool_called.arguments for one in events if one.HasField("tool_called")] == [
        json.dumps(call.arguments, separators=(",", ":")) for call in (stories.GOOD, stories.BAD)
    ]
    assert [one.tool_returned.content for one in events if one.HasField("tool_returned")] == [
        "17",
        "Tool execution denied: No.",
    ]


@pytest.mark.parametrize("way", WHOLE)
def test_a_refused_call_that_is_told_as_done_is_revised(endpoint: Endpoint, ask: Ask, way: str) -> None:
    """Seen to fail: with the reason alone on record nothing said that the call did not run."""
    endpoint.script("m", [stories.PAY], stories.PAID, stories.UNPAID)
    waits = ask(way, "m", stories.PAY_TASK, "pay_invoice", approval="pay_invoice")
    (request,) = [one for one in waits["content"] if one["type"] == "tool-approval-request"]
    answer = {"type": "tool-approval-response", "approvalId": request["approvalId"], "approved": False}
    messages = [
        {"role": "user", "content": stories.PAY_TASK},
        *waits["messages"],
        {"role": "tool", "content": [answer]},
    ]
    ended = ask(way, "m", "", "pay_invoice", approval="pay_invoice", messages=messages)
    assert ended["text"] == stories.UNPAID
    assert "The call of pay_invoice was refused." in str(endpoint.seen["m"][-1].request.messages[-1])


@pytest.mark.parametrize("way", WAYS)
def test_an_approval_for_a_tool_of_the_providers_is_no_result(ask: Ask, sidecar: Sidecar, way: str) -> None:
    """The SDK leaves it in the request. Seen to end the run with a TypeError."""
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "remote", "input": {}, "providerExecuted": True}
    asks = {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c"}
    answer = {"type": "tool-approval-response", "approvalId": "a", "approved": True, "providerExecuted": True}
    messages = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": [call, asks]},
        {"role": "tool", "content": [answer]},
    ]
    assert ask(way, "mock", "", mock=True, messages=messages).get("text") == "Fine."
    assert not [kind for kind in kinds(sidecar.events(sidecar.turns()[0].turn_id)) if kind.startswith("tool")]


@pytest.mark.parametrize("way", ["generateText", "streamText", "agent.generate"])
def test_results_of_the_users_own_loop_are_on_record(endpoint: Endpoint, ask: Ask, sidecar: Sidecar, way: str) -> None:
    """As the SDK's recipe of a manual loop has it: tools without `execute`, and a call for each step."""
    endpoint.script("m", [stories.GOOD._replace(name="by_hand"), stories.BAD._replace(name="by_hand")], stories.RIGHT)
    asked = ask(way, "m", PROMPT, "by_hand")
    good, bad = endpoint.seen["m"][0].call_ids
    outputs = {good: {"type": "text", "value": "17"}, bad: {"type": "error-text", "value": stories.FAILURE}}
    results = [
        {"type": "tool-result", "toolCallId": call_id, "toolName": "by_hand", "output": output}
        for call_id, output in outputs.items()
    ]
    messages = [{"role": "user", "content": PROMPT}, *asked["messages"], {"role": "tool", "content": results}]
    assert ask(way, "m", "", "by_hand", messages=messages)["text"] == stories.RIGHT
    assert "[reflection] " in str(endpoint.seen["m"][1].request.messages[-1]["content"])
    one, two = sidecar.turns(2)
    assert kinds(sidecar.events(one.turn_id))[-3:] == ["tool_called", "tool_called", "turn_finished"]
    events = sidecar.events(two.turn_id)
    assert kinds(events)[1:6] == ["tool_called", "tool_called", "tool_returned", "tool_returned", "model_started"]
    ended = [one.tool_returned for one in events if one.HasField("tool_returned")]
    assert [(one.call_id, one.content, one.is_error) for one in ended] == [
        (good, "17", False),
        (bad, stories.FAILURE, True),
    ]


def test_a_structured_answer_is_the_answer(endpoint: Endpoint, ask: Ask, sidecar: Sidecar) -> None:
    endpoint.script("m", '{"orders": 17}')
    ask("generateText", "m", PROMPT, object=True)
    *_, drafted, _ = sidecar.events(sidecar.turns()[0].turn_id)
    assert json.loads(drafted.response_drafted.text) == {"orders": 17}


def test_where_messages_are_taken_away_nothing_parts_a_call_and_its_result(endpoint: Endpoint, ask: Ask) -> None:
    """`prepareStep` leaves the last four."""
    endpoint.script("m", [stories.BAD], [stories.BAD], [stories.GOOD], stories.RIGHT)
    assert ask("generateText", "m", PROMPT, "run_sql", prunes=True)["text"] == stories.RIGHT
    assert roles(endpoint, "m", 1) == ["user", "assistant", "tool", "user"]
    for number in range(2, 4):
        assert roles(endpoint, "m", number)[:4] == ["assistant", "tool"] * 2


def test_a_model_of_a_single_step_is_watched_too(endpoint: Endpoint, ask: Ask, sidecar: Sidecar) -> None:
    endpoint.script("a", [stories.BAD])
    endpoint.script("b", stories.GUESS)
    assert ask("generateText", "a", PROMPT, "run_sql", swaps=["a", "b"])["text"] == stories.GUESS
    started = [one for one in sidecar.events(sidecar.turns()[0].turn_id) if one.HasField("model_started")]
    assert [one.model_started.model for one in started] == ["a", "b"]
    assert roles(endpoint, "b")[-1] == "user"


@pytest.mark.parametrize("redact", ["hide", "throws"])
def test_only_what_a_redactor_lets_through_is_reported(
    endpoint: Endpoint, ask: Ask, sidecar: Sidecar, redact: str
) -> None:
    endpoint.script("m", *stories.REPAIRED)
    assert ask("generateText", "m", PROMPT, "run_sql", settings={"redact": redact})["text"] == stories.RIGHT
    (turn,) = sidecar.turns()
    assert "orders" not in str(sidecar.events(turn.turn_id))
    assert "orders" in endpoint.seen["m"][-1].request.text


@pytest.mark.parametrize("outcome", ["throws", "name"])
def test_an_outcome_that_fails_is_unknown(endpoint: Endpoint, ask: Ask, sidecar: Sidecar, outcome: str) -> None:
    endpoint.script("m", stories.RIGHT)
    assert ask("generateText", "m", PROMPT, settings={"outcome": outcome})["text"] == stories.RIGHT
    assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_UNSPECIFIED


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [(stories.RIGHT, common_pb2.TASK_OUTCOME_SUCCESS), (stories.GUESS, common_pb2.TASK_OUTCOME_FAILURE)],
)
def test_an_outcome_may_say_yes_or_no(
    endpoint: Endpoint, ask: Ask, sidecar: Sidecar, answer: str, outcome: int
) -> None:
    endpoint.script("m", answer)
    ask("generateText", "m", PROMPT, settings={"outcome": "isRight", "revisions": 0})
    assert sidecar.turns()[0].outcome == outcome


def test_everything_can_be_off(endpoint: Endpoint, ask: Ask, sidecar: Sidecar) -> None:
    endpoint.script("m", [stories.BAD], [Call("search_payments", {"text": "taxi"})], stories.WRONG_TOTAL)
    settings = {"lessons": False, "advice": False, "revisions": 0}
    ended = ask("generateText", "m", stories.PAYMENTS_TASK, "run_sql", "search_payments", settings=settings)
    assert ended["text"] == stories.WRONG_TOTAL
    assert roles(endpoint, "m") == ["user", "assistant", "tool", "assistant", "tool"]
    said = sidecar.directives(sidecar.turns()[0].turn_id)
    assert {one.WhichOneof("kind") for one in said} <= {"turn_plan", "turn_summary"}, "nothing counts as told"


@pytest.mark.parametrize("way", WAYS)
def test_without_a_sidecar_the_run_is_the_same(endpoint: Endpoint, agents: Agents, way: str) -> None:
    ends: dict[str, Any] = {}
    for name in ("with", "without"):
        endpoint.script(name, *stories.MISCOUNTED[:2])
        away = Sidecar("127.0.0.1:1", f"away-{way}")
        asked = (endpoint, away, way, name, stories.PAYMENTS_TASK, "search_payments")
        ends[name] = agents.begin(*asked, plain=name == "without")()
    assert ends["with"]["text"] == ends["without"]["text"] == stories.WRONG_TOTAL
    with_, without = (
        [one.request.text.replace("_without_", "_with_") for one in endpoint.seen[name]] for name in ("with", "without")
    )
    assert with_ == without


def test_the_sdks_own_mock_model_works_as_before(ask: Ask, sidecar: Sidecar) -> None:
    assert ask("generateText", "mock", "How are you?", mock=True)["text"] == "Fine."
    (turn,) = sidecar.turns()
    assert kinds(sidecar.events(turn.turn_id))[1:3] == ["model_started", "model_returned"]
