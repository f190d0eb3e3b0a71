"""The second run for a wrong answer, where it is not to come or fails, and what it costs."""

import asyncio
import gc
import logging
import threading
import warnings
from typing import Any

import pytest
from agents import OutputGuardrail, SQLiteSession, function_tool
from agents.guardrail import GuardrailFunctionOutput
from scripted import stories
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, kinds
from scripted.wire import Answer, Call, Fails, Hangs, Request
from sidemirror_openai_agents import Settings, SidemirrorRunner
from tests.test_runner import agent_of, ask, run_sql, search_payments

from sidemirror.v1 import common_pb2
from sidemirror_client import Sidemirror as Client
from sidemirror_client.adapter import Run

LOOKS: Answer = [Call("search_payments", {"text": "taxi"})]


def refuses(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
    """A guardrail of the user's that lets the first answer pass."""
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=output != stories.WRONG_TOTAL)


class TestItFails:
    @pytest.mark.parametrize("kept", ["by us", "by a session"])
    @pytest.mark.parametrize(
        "second", [(Fails(400),), (LOOKS, Fails(400)), (LOOKS, LOOKS), (stories.RIGHT_TOTAL,)],
        ids=["refused", "refused after a call", "out of turns", "a guardrail"],
    )  # fmt: skip
    async def test_the_first_answer_stands(
        self, endpoint: Endpoint, client: Client, sidecar: Sidecar, caplog: Any, second: tuple[Answer, ...], kept: str
    ) -> None:
        endpoint.script("m", LOOKS, stories.WRONG_TOTAL, *second)
        agent = agent_of(endpoint, "m", search_payments, output_guardrails=[OutputGuardrail(refuses)])
        session = SQLiteSession("s") if kept == "by a session" else None
        caplog.set_level(logging.WARNING, "sidemirror_client")
        result = await SidemirrorRunner(client=client).run(agent, stories.PAYMENTS_TASK, max_turns=4, session=session)
        assert result.final_output == stories.WRONG_TOTAL
        assert len(endpoint.seen["m"]) == 2 + len(second), "it was sent back"
        warned = [one.getMessage() for one in caplog.records if one.name == "sidemirror_client"]
        assert ["has failed" in one for one in warned] == [True]
        if session is not None:
            assert await session.get_items() == result.to_input_list()
        (turn,) = sidecar.turns()
        events = sidecar.events(turn.turn_id)
        assert turn.outcome == common_pb2.TASK_OUTCOME_UNSPECIFIED
        assert events[-2].response_drafted.text == stories.WRONG_TOTAL
        assert kinds(events).count("tool_called") == kinds(events).count("tool_returned") == 1 + second.count(LOOKS)

    async def test_an_empty_answer_is_none(self, endpoint: Endpoint, client: Client) -> None:
        """Seen to be the result."""
        endpoint.script("m", LOOKS, stories.WRONG_TOTAL, "")
        agent, session = agent_of(endpoint, "m", search_payments), SQLiteSession("s")
        result = await SidemirrorRunner(client=client).run(agent, stories.PAYMENTS_TASK, session=session)
        assert (result.final_output, len(endpoint.seen["m"])) == (stories.WRONG_TOTAL, 3)
        assert await session.get_items() == result.to_input_list()

    async def test_a_cancellation_is_raised(self, endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
        is_asked = threading.Event()

        def script(request: Request) -> Answer:
            if request.number < 2:
                return stories.MISCOUNTED[request.number]
            is_asked.set()
            return Hangs()

        endpoint.scripts["m"] = script
        agent = agent_of(endpoint, "m", search_payments)
        task = asyncio.ensure_future(ask(SidemirrorRunner(client=client), agent, stories.PAYMENTS_TASK))
        assert await asyncio.to_thread(is_asked.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_TIMEOUT


@pytest.mark.parametrize("turns", [2, 3])
async def test_it_has_the_turns_that_are_left(endpoint: Endpoint, client: Client, turns: int) -> None:
    endpoint.script("m", *stories.MISCOUNTED)
    agent = agent_of(endpoint, "m", search_payments)
    answer = await ask(SidemirrorRunner(client=client), agent, stories.PAYMENTS_TASK, max_turns=turns)
    assert (answer, len(endpoint.seen["m"])) == (stories.MISCOUNTED[turns - 1], turns)


async def test_it_comes_as_often_as_the_settings_say(endpoint: Endpoint, client: Client) -> None:
    endpoint.script("m", LOOKS, stories.WRONG_TOTAL, stories.WRONG_TOTAL, stories.RIGHT_TOTAL)
    agent = agent_of(endpoint, "m", search_payments)
    result = await SidemirrorRunner(Settings(revisions=2), client=client).run(agent, stories.PAYMENTS_TASK, max_turns=4)
    assert (result.final_output, result.context_wrapper.usage.requests) == (stories.RIGHT_TOTAL, 4)
    assert str(result.to_input_list()).count(stories.WRONG_TOTAL) >= 2


@pytest.mark.parametrize("turns", [None, 10])
async def test_the_usage_is_that_of_both_runs(endpoint: Endpoint, client: Client, turns: int | None) -> None:
    endpoint.script("m", *stories.MISCOUNTED)
    agent, mine = agent_of(endpoint, "m", search_payments), object()
    runner = SidemirrorRunner(client=client)
    result = await runner.run(agent, stories.PAYMENTS_TASK, max_turns=turns, context=mine)
    used = result.context_wrapper
    assert (used.usage.requests, used.usage.input_tokens, used.usage.output_tokens) == (3, 153, 21)
    assert used.context is mine


async def test_what_waits_for_an_approval_is_not_judged(
    endpoint: Endpoint, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []

    async def revision(run: Run, answer: str) -> str:
        judged.append(answer)
        return ""

    monkeypatch.setattr(Run, "revision", revision)
    endpoint.script("m", [stories.BAD], stories.GUESS)
    agent = agent_of(endpoint, "m").clone(tools=[function_tool(run_sql, strict_mode=False, needs_approval=True)])
    runner = SidemirrorRunner(client=client)
    waits = await runner.run(agent, stories.TASK)
    assert judged == []
    state = waits.to_state()
    state.approve(waits.interruptions[0])
    await runner.run(agent, state)
    assert judged == [stories.GUESS]


class TestSync:
    async def test_a_client_serves_run_after_run(self, endpoint: Endpoint, client: Client) -> None:
        """Seen to raise `Event loop is closed`: a connection that is kept alive belongs to the loop of the first."""
        endpoint.script("m", stories.RIGHT, stories.RIGHT)
        agent, runner = agent_of(endpoint, "m"), SidemirrorRunner(client=client)

        def twice() -> list[str]:
            return [runner.run_sync(agent, stories.TASK).final_output for _ in range(2)]

        assert await asyncio.to_thread(twice) == [stories.RIGHT] * 2

    async def test_within_a_loop_nothing_begins(self, endpoint: Endpoint, client: Client) -> None:
        """Seen to leave a coroutine that was never awaited."""
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", RuntimeWarning)
            with pytest.raises(RuntimeError, match="event loop is already running"):
                SidemirrorRunner(client=client).run_sync(agent_of(endpoint, "m"), stories.TASK)
            gc.collect()
        assert [str(one.message) for one in warned if "never awaited" in str(one.message)] == []
