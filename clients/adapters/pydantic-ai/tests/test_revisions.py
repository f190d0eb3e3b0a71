"""A revision takes nothing away from a run: one that succeeds without it succeeds with it."""

import asyncio
import logging
import threading
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext, UsageLimits
from pydantic_ai.messages import ModelMessagesTypeAdapter
from scripted import stories
from scripted.endpoint import Endpoint
from scripted.record import Sidecar, kinds
from scripted.wire import Answer, Call, Fails, Hangs, Request
from sidemirror_pydantic_ai import Sidemirror
from tests.test_capability import agent_of, drained, model, search_payments

from sidemirror.v1 import common_pb2
from sidemirror_client import Sidemirror as Client

FOUND, WRONG, RIGHT = stories.MISCOUNTED
# From there on the context of a run shows its limits.
SHOWS_LIMITS = "usage_limits" in RunContext.__dataclass_fields__
# What the endpoint says the two requests of the run without a revision cost.
WITHOUT_REVISION = {"request_limit": 2, "input_tokens_limit": 101, "output_tokens_limit": 14, "total_tokens_limit": 115}


class Total(BaseModel):
    """A structured answer."""

    text: str


@pytest.mark.parametrize("limit", WITHOUT_REVISION)
async def test_there_is_none_where_the_limits_leave_no_room(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, limit: str, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.script("m", *stories.MISCOUNTED)
    limits = UsageLimits(**{limit: WITHOUT_REVISION[limit]})  # type: ignore[arg-type]  # all are numbers
    agent = agent_of(endpoint, "m", Sidemirror(client=client), search_payments)
    result = await agent.run(stories.PAYMENTS_TASK, usage_limits=limits)
    assert result.output == WRONG
    assert result.usage.requests == len(endpoint.seen["m"]) == 2 or not SHOWS_LIMITS
    assert warned(caplog) == ([] if SHOWS_LIMITS else ["UsageLimitExceeded"])


async def test_there_is_one_where_it_just_fits(endpoint: Endpoint, client: Client) -> None:
    """The third request costs a token more than the second: it is asked for, and paid."""
    endpoint.script("m", *stories.MISCOUNTED)
    limits = UsageLimits(request_limit=3, input_tokens_limit=153, output_tokens_limit=21, total_tokens_limit=174)
    agent = agent_of(endpoint, "m", Sidemirror(client=client), search_payments)
    assert (await agent.run(stories.PAYMENTS_TASK, usage_limits=limits)).output == RIGHT


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "revision",
    [
        pytest.param([Fails(400)], id="the provider refuses"),
        pytest.param([[Call("broken", {})]], id="a tool raises"),
        pytest.param([[Call("search_payments", {"text": "taxi"})], Fails(400)], id="after a call"),
    ],
)
async def test_the_answer_stands_where_the_revision_fails(
    endpoint: Endpoint, client: Client, sidecar: Sidecar, revision: list[Any], streamed: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    def broken() -> str:
        raise RuntimeError("disk on fire")

    endpoint.script("m", FOUND, WRONG, *revision, stories.GUESS)
    agent = agent_of(endpoint, "m", Sidemirror(client=client), search_payments, broken)
    result = await agent.run(stories.PAYMENTS_TASK, event_stream_handler=drained if streamed else None)
    assert result.output == WRONG
    assert len(warned(caplog)) == 1
    (turn,) = sidecar.turns()
    assert turn.outcome == common_pb2.TASK_OUTCOME_UNSPECIFIED
    *_, drafted, finished = sidecar.events(turn.turn_id)
    assert kinds([drafted, finished]) == ["response_drafted", "turn_finished"]
    assert drafted.response_drafted.text == WRONG
    # The history is that of the run without the revision, and can be gone on from.
    assert [type(one).__name__ for one in result.all_messages()] == ["ModelRequest", "ModelResponse"] * 2
    if len(revision) == 1:
        kept = ModelMessagesTypeAdapter.validate_json(result.all_messages_json())
        plain = Agent(model(endpoint, "m"), tools=[search_payments])
        assert (await plain.run("And now?", message_history=kept)).output == stories.GUESS


async def test_an_object_stands_where_the_revision_is_a_text(
    endpoint: Endpoint, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.script("m", FOUND, [Call("final_result", {"text": WRONG})], "Sorry, I meant 62.75.")
    agent = Agent(
        model(endpoint, "m"), tools=[search_payments], output_type=Total, retries=0,
        capabilities=[Sidemirror(client=client)],
    )  # fmt: skip
    result = await agent.run(stories.PAYMENTS_TASK)
    assert result.output == Total(text=WRONG)
    assert len(endpoint.seen["m"]) == 3
    assert warned(caplog) == ["UnexpectedModelBehavior"]
    assert [part.part_kind for part in result.all_messages()[-1].parts] == ["tool-return"]
    assert b"corrected" in result.all_messages_json(output_tool_return_content="corrected")


async def test_a_failure_before_the_answer_is_raised(endpoint: Endpoint, client: Client) -> None:
    endpoint.script("m", FOUND, Fails(400))
    with pytest.raises(Exception, match="400"):
        await agent_of(endpoint, "m", Sidemirror(client=client), search_payments).run(stories.PAYMENTS_TASK)


async def test_a_revision_that_is_cancelled_is_no_answer(endpoint: Endpoint, client: Client, sidecar: Sidecar) -> None:
    asked = threading.Event()

    def answers(request: Request) -> Answer:
        if request.number == 2:
            asked.set()
        return (FOUND, WRONG, Hangs())[request.number]

    endpoint.scripts["m"] = answers
    task = asyncio.ensure_future(
        agent_of(endpoint, "m", Sidemirror(client=client), search_payments).run(stories.PAYMENTS_TASK)
    )
    assert await asyncio.to_thread(asked.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sidecar.turns()[0].outcome == common_pb2.TASK_OUTCOME_TIMEOUT


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The exceptions that revisions have failed with, by the log."""
    said = [one for one in caplog.records if one.name == "sidemirror_client" and one.levelno >= logging.WARNING]
    return [str(one.args[0]) for one in said if one.args]  # type: ignore[index]  # a tuple
