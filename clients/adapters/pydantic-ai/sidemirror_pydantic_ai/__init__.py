"""Sidemirror for Pydantic AI: `Agent(..., capabilities=[Sidemirror()])`.

Every model and tool call of a run is reported to the sidecar, also those of agents that its tools run. Lessons for the
task stand behind the user's prompt, advice behind the results of the tools, and a wrong final answer is sent back.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pydantic_ai import RequestUsage, RunContext, UsageLimitExceeded, UsageLimits
from pydantic_ai.capabilities import (
    AbstractCapability,
    AgentNode,
    CapabilityOrdering,
    NodeResult,
    ValidatedToolArgs,
    WrapRunHandler,
    WrapToolExecuteHandler,
)
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, SkipToolExecution, ToolRetryError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.output import OutputContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import AgentDepsT, DeferredToolRequests, ToolDefinition
from pydantic_core import to_json
from pydantic_graph import End

from sidemirror_client import Sidemirror as Client
from sidemirror_client.adapter import Home, Run, Settings, as_text, first_to_watch

__all__ = ["Settings", "Sidemirror"]

# What a tool raises to be asked again, and what it raises that has not failed.
_RETRIES = (ModelRetry, ToolRetryError)
_NO_FAILURE = (ApprovalRequired, CallDeferred, SkipToolExecution)
_log = logging.getLogger("sidemirror_client")


class Sidemirror(AbstractCapability[AgentDepsT]):
    """A second look at an agent's work. One capability serves any number of agents and runs at once."""

    def __init__(self, settings: Settings | None = None, *, client: Client | None = None) -> None:
        """`client`: else one by the environment (`sidemirror_client.connect`), which connects at the first run. Raises
        TypeError for anything else."""
        if isinstance(settings, RunContext):
            # The framework takes a class for a function that makes a capability for each run.
            raise TypeError("capabilities=[Sidemirror]: an instance is expected, which is Sidemirror()")
        self._home = Home(client, settings)

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> "AbstractCapability[AgentDepsT]":
        """What looks at one run; nothing where another instance does already."""
        begin = partial(
            self._home.begin,
            _text(ctx.prompt or ""),
            session_id=ctx.conversation_id or "",
            agent=(ctx.agent.name if ctx.agent else None) or "",
            provider=ctx.model.system,
            model=ctx.model.model_name,
        )
        return first_to_watch(ctx.run_id or "", lambda: _OfRun[AgentDepsT](begin)) or AbstractCapability()


class _OfRun(AbstractCapability[AgentDepsT]):
    """One run of one agent. It may wait for others, and be cancelled meanwhile: `begin` is called when it begins."""

    _run: Run

    def __init__(self, begin: Callable[[], Run]) -> None:
        self._begin = begin
        self.is_over = False
        # What the model's last answer came to, if it was a final one.
        self._answer: str | None = None
        self._last_usage = RequestUsage()
        self._is_sent_back = False
        # The end that a revision has put off, with the number of messages up to it.
        self._put_off: tuple[int, End[Any]] | None = None

    def get_ordering(self) -> CapabilityOrdering:
        """Outside of the others: what they repair by themselves is no failure."""
        return CapabilityOrdering(position="outermost")

    async def wrap_run(self, ctx: RunContext[AgentDepsT], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """The run's beginning and its end, whichever it is."""
        self._run = self._begin()
        try:
            result = await handler()
        except BaseException as error:
            # `run_stream` cancels what follows the answer that it has shown.
            shown = self._answer if isinstance(error, asyncio.CancelledError) else None
            self._run.end(shown, None if shown is not None else error)
            raise
        finally:
            self.is_over = True
        waits = isinstance(result.output, DeferredToolRequests)
        self._run.end(None if waits else _text(result.output))
        return result

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Lessons and advice, as the last parts of the request. They are put into the message itself, which the
        framework has in the run's history: so they stay, and what stands before the next ones is as it was."""
        self._answer = None
        last = request_context.messages[-1]
        if not isinstance(last, ModelRequest):
            return request_context
        for part in last.parts:
            call_id = getattr(part, "tool_call_id", "")
            if isinstance(part, ToolReturnPart) and part.outcome == "denied" and not self._run.is_open(call_id):
                # Refused meanwhile: the model has asked for it in an earlier run.
                self._run.tool_called(call_id, part.tool_name, _arguments(request_context.messages, call_id))
            if self._run.is_open(call_id):
                self._ended(call_id, part)
        tools = [tool.name for tool in request_context.model_request_parameters.function_tools]
        if added := [UserPromptPart(text) for text in await self._run.texts(tools)]:
            last.parts = [*last.parts, *added]
        self._run.model_started(ctx.model.system, ctx.model.model_name)
        return request_context

    async def after_model_request(
        self, ctx: RunContext[AgentDepsT], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """The model's answer and the calls in it; a call of an output tool is the run's answer."""
        usage = self._last_usage = response.usage
        self._run.model_returned(response.text or "", usage.input_tokens, usage.output_tokens)
        answers = {tool.name for tool in request_context.model_request_parameters.output_tools}
        for part in response.parts:
            if isinstance(part, ToolCallPart) and part.tool_name not in answers:
                self._run.tool_called(part.tool_call_id, part.tool_name, part.args_as_json_str())
        return response

    async def wrap_tool_execute(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: ValidatedToolArgs,
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """A call's end. Those of calls that never begin, such as of unknown tools, stand in the next request."""
        if tool_def.kind == "output":
            return await handler(args)
        # One that was approved meanwhile is on record from here: the model has asked for it in an earlier run.
        asked = call.tool_call_id, call.tool_name, call.args_as_json_str()
        with self._run.calling(*asked, excused=(*_NO_FAILURE, *_RETRIES)):
            try:
                result = await handler(args)
            except _RETRIES as error:
                self._run.tool_returned(call.tool_call_id, str(error), is_error=True)
                raise
        content = result.return_value if isinstance(result, ToolReturn) else result
        self._ended(call.tool_call_id, ToolReturnPart(call.tool_name, content, call.tool_call_id))
        return result

    def _ended(self, call_id: str, part: Any) -> None:
        """A call's result. One that the model is to mend is a retry prompt, and from 2.60 on a result that says so."""
        outcome = getattr(part, "outcome", "retried")
        failed = outcome in ("failed", "retried")
        said = _text(part.content) if failed else _shown(part.model_response_str, part.content)
        if outcome == "denied":
            said = f"Tool execution denied: {said}"
        self._run.tool_returned(call_id, said, is_error=failed)

    async def after_output_process(
        self, ctx: RunContext[AgentDepsT], *, output_context: OutputContext, output: Any
    ) -> Any:
        """Has the model go on after a wrong answer, with the reason as the user's message."""
        if not ctx.partial_output and not isinstance(output, DeferredToolRequests):
            self._answer = _text(output)
            if self._has_room(ctx) and (why := await self._run.revision(self._answer)):
                self._is_sent_back = True
                ctx.enqueue(why, priority="when_idle")
        return output

    def _has_room(self, ctx: RunContext[AgentDepsT]) -> bool:
        """Whether another request like the last one fits into the run's limits. Early versions do not show them."""
        limits: UsageLimits = getattr(ctx, "usage_limits", None) or UsageLimits(request_limit=None)
        try:
            limits.check_before_request(ctx.usage)
            limits.check_tokens(ctx.usage + self._last_usage)
        except UsageLimitExceeded:
            return False
        return True

    async def after_node_run(
        self, ctx: RunContext[AgentDepsT], *, node: "AgentNode[AgentDepsT]", result: "NodeResult[AgentDepsT]"
    ) -> "NodeResult[AgentDepsT]":
        """Keeps the end that the revision puts off: the framework looks for what is enqueued after this."""
        if isinstance(result, End):
            self._put_off = (len(ctx.messages), result) if self._is_sent_back else None
            self._is_sent_back = False
        return result

    async def on_node_run_error(
        self, ctx: RunContext[AgentDepsT], *, node: "AgentNode[AgentDepsT]", error: Exception
    ) -> "NodeResult[AgentDepsT]":
        """A revision that fails takes no answer away: the run ends as it would have ended without."""
        if self._put_off is None:
            raise error
        _log.warning("a revision has failed (%s), and the answer before it stands", type(error).__name__)
        length, end = self._put_off
        # Calls of tools without results would be refused in the next run.
        del ctx.messages[length:]
        return end


def _arguments(messages: Sequence[ModelMessage], call_id: str) -> str:
    """What a call was given; empty where no message has it."""
    asked = (part for message in messages if isinstance(message, ModelResponse) for part in message.parts)
    return next(
        (one.args_as_json_str() for one in asked if isinstance(one, ToolCallPart) and one.tool_call_id == call_id), ""
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _shown(lambda: to_json(value, serialize_unknown=True).decode(), value)


def _shown(show: Callable[[], str], value: Any) -> str:
    """What `show` makes of the value; of one that is no JSON, such as bytes of a picture, what Python shows."""
    # The agent goes on: a value's own methods may raise anything.
    with contextlib.suppress(Exception):
        return show()
    return as_text(value)
