"""Sidemirror for Google ADK: `Runner(..., plugins=[SidemirrorPlugin()])`.

Every model and tool call of an invocation is reported to the sidecar, also those of its sub-agents. Lessons for the
task are a part of the user's message, advice stands behind the results of the tools. ADK cannot send a final answer
back to the model: the reason to revise one stands in the event that carries it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from sidemirror_client import Sidemirror
from sidemirror_client.adapter import CURRENT, Added, Home, Run, Settings, error_of, first_to_watch

__all__ = ["REVISION", "Settings", "SidemirrorPlugin"]

# Where the final event's `custom_metadata` has the reason to revise the answer.
REVISION = "sidemirror_revision"


class _Watch:
    """One invocation."""

    def __init__(self, run: Run) -> None:
        self.run = run
        # What it runs in itself.
        self.outer = CURRENT.get()
        self.answer: str | None = None
        # Has its task tell of its end no more.
        self.let_go: Callable[[], object] | None = None
        # For each agent: ADK makes requests anew from the session's events.
        self.added: defaultdict[str, Added] = defaultdict(Added)


class SidemirrorPlugin(BasePlugin):
    """A second look at agents' work. One plugin serves any number of invocations at once. Put it first: another plugin
    that answers in the place of a tool or a model ends the round of the plugins."""

    def __init__(
        self, settings: Settings | None = None, *, client: Sidemirror | None = None, name: str = "sidemirror"
    ) -> None:
        """`client`: else one by the environment (`sidemirror_client.connect`), which connects at the first run. `name`:
        the plugin's among others; ADK gives one where it makes the plugin (`--extra_plugins`). Raises TypeError for
        anything else."""
        super().__init__(name)
        self._home = Home(client, settings)
        self._open: dict[str, _Watch] = {}

    # --- an invocation -----------------------------------------------------------------------------------------------

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        """It begins. One that a tool makes, such as AgentTool, is part of the outer one. Of one that is cancelled ADK
        tells no plugin: its task does."""
        message, key = invocation_context.user_content, invocation_context.invocation_id
        task = _text_of(message.parts if message else None)
        agent = invocation_context.agent.name if invocation_context.agent else ""
        begin = partial(self._home.begin, task, session_id=_session_id(invocation_context.session), agent=agent)
        if (run := first_to_watch(key, begin)) is None:
            return None
        self._open[key] = watch = _Watch(run)
        if (runs := asyncio.current_task()) is not None:

            def done(task: "asyncio.Task[Any]") -> None:
                self._ended(key, error=error_of(task) or asyncio.CancelledError())

            runs.add_done_callback(done)
            # It may be a worker's, and live as long as the process.
            watch.let_go = partial(runs.remove_done_callback, done)
        return None

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> Event | None:
        """A final one has the answer; that of an agent with an output schema may come of a tool."""
        watch = self._open.get(invocation_context.invocation_id)
        if watch and event.content and event.is_final_response() and not event.get_function_calls():
            watch.answer = _text_of(event.content.parts) or watch.answer
        return None

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """It has an answer, or waits for somebody."""
        self._ended(invocation_context.invocation_id)

    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: Exception) -> None:
        """It has raised."""
        self._ended(invocation_context.invocation_id, error=error)

    def _ended(self, invocation_id: str, error: BaseException | None = None) -> None:
        if watch := self._open.pop(invocation_id, None):
            if watch.let_go is not None:
                watch.let_go()
            watch.run.end(watch.answer if error is None else None, error)

    # --- the model ---------------------------------------------------------------------------------------------------

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Lessons, as a part of the user's message, and advice, behind what the request has."""
        watch, agent = self._open.get(callback_context.invocation_id), callback_context.agent_name
        if watch is None:
            return None
        texts = await watch.run.texts(list(llm_request.tools_dict))
        contents = watch.added[agent].to(llm_request.contents, texts, _Said.of)
        llm_request.contents = _joined(contents, callback_context.user_content)
        watch.run.of(agent).model_started("google", llm_request.model or "")
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """The model's answer, and the calls in it. Of a stream the last event has all of it."""
        watch = self._open.get(callback_context.invocation_id)
        if watch is None or llm_response.partial or llm_response.content is None:
            return None
        run, parts = watch.run.of(callback_context.agent_name), llm_response.content.parts or []
        text, usage = _text_of(parts), llm_response.usage_metadata
        asked, answered = (usage.prompt_token_count, usage.candidates_token_count) if usage else (0, 0)
        run.model_returned(text, asked, answered)
        calls = [part.function_call for part in parts if part.function_call]
        for call in calls:
            if call.id:
                run.tool_called(call.id, call.name or "", call.args or {})
        if not calls and (why := await run.revision(text)):
            # In place: behind a plugin that gives an answer ADK asks no other, nor the agent's own callbacks.
            llm_response.custom_metadata = {**(llm_response.custom_metadata or {}), REVISION: why}
        return None

    # --- tools -------------------------------------------------------------------------------------------------------

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """What the tool invokes is part of this invocation."""
        if watch := self._open.get(tool_context.invocation_id):
            run = watch.run.of(tool_context.agent_name)
            CURRENT.set(run)
            run.tool_called(tool_context.function_call_id or "", tool.name, tool_args or {})
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """A call's result; one with `error`, or whose `status` is that, is a failure. `success` is ADK's own word for a
        tool that has worked. A call that waits for a person's confirmation has none yet."""
        watch, call_id = self._open.get(tool_context.invocation_id), tool_context.function_call_id or ""
        if watch:
            CURRENT.set(watch.outer)
            waits = call_id in tool_context.actions.requested_tool_confirmations
            if watch.run.is_open(call_id) and not waits:
                said = result if isinstance(result, dict) else {}
                failed = bool(said.get("error") or said.get("status") == "error")
                worked = not failed and said.get("status") == "success"
                words = (said.get("error") or said.get("error_message")) if failed else None
                content = words if isinstance(words, str) else result
                watch.run.tool_returned(call_id, content, is_error=failed, has_worked=worked)
        return None

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, Any] | None:
        """A tool has raised. ADK ends the invocation then, unless another plugin has an answer."""
        watch, call_id = self._open.get(tool_context.invocation_id), tool_context.function_call_id or ""
        if watch:
            CURRENT.set(watch.outer)
            run = watch.run.of(tool_context.agent_name)
            run.tool_called(call_id, tool.name, tool_args or {})
            run.tool_failed(call_id, error)
        return None


def _text_of(parts: Iterable[types.Part] | None) -> str:
    """What is said to the user; not what a model has thought."""
    return "".join(part.text or "" for part in parts or () if not part.thought)


def _session_id(session: Session) -> str:
    """ADK's ids of sessions are a user's own. The sidecar takes 128 characters."""
    whole = f"{session.app_name}/{session.user_id}/{session.id}"
    return whole if len(whole) <= 128 else session.id


class _Said(types.Content):
    """What the sidecar says."""

    @classmethod
    def of(cls, text: str) -> "_Said":
        return cls(role="user", parts=[types.Part(text=text)])


def _joined(contents: Iterable[types.Content], message: types.Content | None) -> list[types.Content]:
    """What stands behind the user's message becomes a part of it: callbacks that guard an agent read the last one."""
    joined: list[types.Content] = []
    is_message = False
    for content in contents:
        if is_message and isinstance(content, _Said):
            parts = [*(joined[-1].parts or ()), *(content.parts or ())]
            joined[-1] = joined[-1].model_copy(update={"parts": parts})
        else:
            joined.append(content)
            is_message = message is not None and content.parts == message.parts
    return joined
