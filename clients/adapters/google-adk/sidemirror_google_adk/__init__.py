"""Sidemirror for Google ADK: `Runner(..., plugins=[SidemirrorPlugin()])`.

Every model and tool call of an invocation is reported to the sidecar, also those of its sub-agents. Lessons for the
task stand behind the user's message, advice behind the results of the tools. ADK cannot send a final answer back to the
model: the reason to revise one stands in the event that carries it.
"""

import asyncio
from collections import defaultdict
from contextvars import ContextVar
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from sidemirror_client import Sidemirror
from sidemirror_client.adapter import Added, Home, Run, Settings

__all__ = ["REVISION", "Settings", "SidemirrorPlugin"]

# Where the final event's `custom_metadata` has the reason to revise the answer.
REVISION = "sidemirror_revision"


class _Watch:
    """One invocation. One that a tool makes, such as AgentTool, reports to the turn of the outer one."""

    def __init__(self, run: Run, agent: str, *, is_whole: bool) -> None:
        self.run = run
        self.agent = agent
        self.is_whole = is_whole
        self.answer: str | None = None
        # For each agent: ADK makes requests anew from the session's events.
        self.added: defaultdict[str, Added] = defaultdict(Added)


_CURRENT: ContextVar[_Watch | None] = ContextVar("sidemirror_invocation", default=None)


class SidemirrorPlugin(BasePlugin):
    """A second look at agents' work. One plugin serves any number of invocations at once. Put it first: another plugin
    that answers in the place of a tool or a model ends the round of the plugins."""

    def __init__(self, settings: Settings | None = None, *, client: Sidemirror | None = None) -> None:
        """`client`: else one that connects as the environment says (`sidemirror_client.connect`) at the first run."""
        super().__init__("sidemirror")
        self._home = Home(client, settings)
        self._open: dict[str, _Watch] = {}

    # --- an invocation -----------------------------------------------------------------------------------------------

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        """It begins. Of one that is cancelled ADK tells no plugin: its task does."""
        agent, outer = invocation_context.agent.name if invocation_context.agent else "", _CURRENT.get()
        run = outer.run if outer else None
        if run is None:
            message = invocation_context.user_content
            task = "".join(part.text or "" for part in (message.parts if message else None) or ())
            run = self._home.begin(task, session_id=invocation_context.session.id, agent=agent)
        watch = _Watch(run, agent, is_whole=outer is None)
        self._open[invocation_context.invocation_id] = watch
        if (task_of_it := asyncio.current_task()) is not None:
            key = invocation_context.invocation_id
            task_of_it.add_done_callback(lambda done: self._left(key, done))
        return None

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """It has an answer, or waits for somebody."""
        watch = self._open.pop(invocation_context.invocation_id, None)
        if watch and watch.is_whole:
            watch.run.end(watch.answer)

    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: Exception) -> None:
        """It has raised."""
        watch = self._open.pop(invocation_context.invocation_id, None)
        if watch and watch.is_whole:
            watch.run.end(error=error)

    def _left(self, invocation_id: str, done: "asyncio.Task[Any]") -> None:
        watch = self._open.pop(invocation_id, None)
        if watch and watch.is_whole:
            error = asyncio.CancelledError() if done.cancelled() else done.exception()
            watch.run.end(error=error or asyncio.CancelledError())

    # --- the model ---------------------------------------------------------------------------------------------------

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Lessons and advice, behind what the request has."""
        watch, agent = self._open.get(callback_context.invocation_id), callback_context.agent_name
        if watch is None:
            return None
        texts = await watch.run.texts(list(llm_request.tools_dict))
        llm_request.contents = watch.added[agent].to(llm_request.contents, texts, _said)
        watch.run.model_started("google", llm_request.model or "", agent=agent)
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """The model's answer, and the calls in it. Of a stream the last event has all of it."""
        watch, agent = self._open.get(callback_context.invocation_id), callback_context.agent_name
        if watch is None or llm_response.partial or llm_response.content is None:
            return None
        parts = llm_response.content.parts or []
        text, usage = "".join(part.text or "" for part in parts), llm_response.usage_metadata
        asked, answered = (usage.prompt_token_count, usage.candidates_token_count) if usage else (0, 0)
        watch.run.model_returned(text, asked or 0, answered or 0, agent=agent)
        calls = [part.function_call for part in parts if part.function_call]
        for call in calls:
            if call.id:
                watch.run.tool_called(call.id, call.name or "", call.args or {}, agent=agent)
        if calls or not text or not watch.is_whole:
            return None
        watch.answer = text
        if why := await watch.run.revision(text):
            llm_response.custom_metadata = {**(llm_response.custom_metadata or {}), REVISION: why}
            return llm_response
        return None

    # --- tools -------------------------------------------------------------------------------------------------------

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """What the tool invokes is part of this invocation."""
        if watch := self._open.get(tool_context.invocation_id):
            _CURRENT.set(watch)
            call_id = tool_context.function_call_id or ""
            watch.run.tool_called(call_id, tool.name, tool_args or {}, agent=tool_context.agent_name)
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """A call's result; one with `error`, or whose `status` is that, is a failure."""
        watch, call_id = self._open.get(tool_context.invocation_id), tool_context.function_call_id or ""
        _CURRENT.set(None)
        if watch and watch.run.is_open(call_id):
            failed = isinstance(result, dict) and bool(result.get("error") or result.get("status") == "error")
            watch.run.tool_returned(call_id, result, is_error=failed)
        return None

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, Any] | None:
        """A tool has raised. ADK ends the invocation then, unless another plugin has an answer."""
        watch, call_id = self._open.get(tool_context.invocation_id), tool_context.function_call_id or ""
        _CURRENT.set(None)
        if watch:
            watch.run.tool_called(call_id, tool.name, tool_args or {}, agent=tool_context.agent_name)
            watch.run.tool_failed(call_id, error, agent=tool_context.agent_name)
        return None


def _said(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])
