"""Sidemirror for LangChain and LangGraph: `create_agent(..., middleware=[SidemirrorMiddleware()])`.

Every model and tool call is reported to the sidecar. Lessons for the task stand behind the user's message, advice
behind the results of the tools, and a wrong final answer is sent back to the model.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    hook_config,
)
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tracers.context import register_configure_hook
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Command

from sidemirror_client import Sidemirror
from sidemirror_client.adapter import Home, Run, Settings, as_text, waited

if TYPE_CHECKING:
    # Where it stands at run time depends on the version.
    from langgraph.prebuilt.tool_node import ToolCallRequest

__all__ = ["Settings", "SidemirrorMiddleware"]

State = AgentState[Any]
Update = dict[str, Any] | None


class _Invocation:
    """What LangChain runs for one call of `invoke` or its like, with all agents in it: one turn. An agent begins it."""

    def __init__(self) -> None:
        self.run: Run | None = None
        # How deep in the graph the agents stand whose answer is that of the turn.
        self.depth = 0


_CURRENT: ContextVar[_Invocation | None] = ContextVar("sidemirror_invocation", default=None)


class _Endings(BaseCallbackHandler):
    """Sees where the outermost runs of this process begin and end: middleware does not see the end of one that raises.
    It acts only on those in which a middleware has begun a turn."""

    run_inline = True
    ignore_llm = ignore_chat_model = ignore_agent = ignore_retriever = ignore_retry = ignore_custom_event = True

    def __init__(self) -> None:
        self._open: dict[UUID, _Invocation] = {}

    def on_chain_start(self, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **__: Any) -> None:
        """Seen by everything that is run inside, whose contexts are copies of this one."""
        if parent_run_id is None:
            self._open[run_id] = invocation = _Invocation()
            _CURRENT.set(invocation)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        """An interrupted run has no answer yet."""
        if run := self._ended(run_id):
            run.end(_answer(outputs))

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """Also a cancelled run, and a stream that nobody reads to its end."""
        if run := self._ended(run_id):
            run.end(error=error)

    def _ended(self, run_id: UUID) -> Run | None:
        invocation = self._open.pop(run_id, None)
        return invocation.run if invocation else None


_ENDINGS = _Endings()
register_configure_hook(ContextVar("sidemirror_endings", default=_ENDINGS), inheritable=False)


class SidemirrorMiddleware(AgentMiddleware[Any, Any]):
    """A second look at an agent's work. One middleware serves any number of agents and runs at once. Put it first: then
    it stands outside of the others."""

    def __init__(self, settings: Settings | None = None, *, agent: str = "", client: Sidemirror | None = None) -> None:
        """`agent` names this agent among several. `client`: else one that connects as the environment says
        (`sidemirror_client.connect`) at the first run."""
        super().__init__()
        self._home = Home(client, settings)
        self._agent = agent

    # --- lessons, advice, revisions ----------------------------------------------------------------------------------

    async def abefore_agent(self, state: State, runtime: Runtime[Any]) -> Update:
        """Lessons for the task, behind the user's message."""
        invocation = _CURRENT.get()
        if invocation is None or invocation.run is not None:
            return None
        return _said(await self._run_of(invocation, state).lessons())

    def before_agent(self, state: State, runtime: Runtime[Any]) -> Update:
        """As `abefore_agent`."""
        return _here(self.abefore_agent, state, runtime)

    async def abefore_model(self, state: State, runtime: Runtime[Any]) -> Update:
        """Advice, behind the results of the tools."""
        invocation = _CURRENT.get()
        return None if invocation is None else _said(await self._run_of(invocation, state).advice())

    def before_model(self, state: State, runtime: Runtime[Any]) -> Update:
        """As `abefore_model`."""
        return _here(self.abefore_model, state, runtime)

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: State, runtime: Runtime[Any]) -> Update:
        """A wrong final answer goes back to the model. That of an agent which another one's tool runs is not final."""
        invocation, last = _CURRENT.get(), state["messages"][-1]
        if invocation is None or invocation.run is None or not isinstance(last, AIMessage) or last.tool_calls:
            return None
        why = await invocation.run.revision(last.text) if _depth() <= invocation.depth else ""
        return {**(_said(why) or {}), "jump_to": "model"} if why else None

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: State, runtime: Runtime[Any]) -> Update:
        """As `aafter_model`."""
        return _here(self.aafter_model, state, runtime)

    # --- what happens ------------------------------------------------------------------------------------------------

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """The model's answer, and the calls in it."""
        self._asks(request)
        return self._answered(request, await handler(request))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """As `awrap_model_call`."""
        self._asks(request)
        return self._answered(request, handler(request))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """A call's end. An interrupt is none."""
        self._calls(request.state, [request.tool_call])
        try:
            result = await handler(request)
        except Exception as error:
            self._failed(request, error)
            raise
        return self._returned(request, result)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """As `awrap_tool_call`."""
        self._calls(request.state, [request.tool_call])
        try:
            result = handler(request)
        except Exception as error:
            self._failed(request, error)
            raise
        return self._returned(request, result)

    def _run_of(self, invocation: _Invocation, state: Any) -> Run:
        """The invocation's turn. It begins here; after an interrupt that may be anywhere in an agent."""
        if invocation.run is None:
            session = get_config().get("configurable", {}).get("thread_id") or ""
            invocation.depth = _depth()
            invocation.run = self._home.begin(_task(state), session_id=str(session), agent=self._agent)
        return invocation.run

    def _asks(self, request: ModelRequest[Any]) -> None:
        if invocation := _CURRENT.get():
            model = str(getattr(request.model, "model_name", "") or getattr(request.model, "model", ""))
            self._run_of(invocation, request.state).model_started(model=model, agent=self._agent)

    def _answered(self, request: ModelRequest[Any], response: ModelResponse[Any]) -> ModelResponse[Any]:
        invocation = _CURRENT.get()
        for message in response.result if invocation else ():
            if isinstance(message, AIMessage):
                usage: Any = message.usage_metadata or {}
                self._run_of(invocation, request.state).model_returned(  # type: ignore[arg-type]  # the loop says so
                    message.text, usage.get("input_tokens", 0), usage.get("output_tokens", 0), agent=self._agent
                )
                # A structured answer is a call too, of a tool that the agent has not.
                known = {getattr(tool, "name", "") for tool in request.tools}
                self._calls(request.state, [call for call in message.tool_calls if call["name"] in known])
        return response

    def _calls(self, state: Any, calls: list[Any]) -> None:
        invocation = _CURRENT.get()
        if invocation is not None:
            run = self._run_of(invocation, state)
            for call in calls:
                run.tool_called(call["id"], call["name"], call["args"], agent=self._agent)

    def _failed(self, request: ToolCallRequest, error: Exception) -> None:
        invocation = _CURRENT.get()
        if invocation and not isinstance(error, GraphBubbleUp):
            self._run_of(invocation, request.state).tool_failed(request.tool_call["id"] or "", error, agent=self._agent)

    def _returned(self, request: ToolCallRequest, result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
        call_id = request.tool_call["id"] or ""
        message = _message_of(result, call_id) if isinstance(result, Command) else result
        if invocation := _CURRENT.get():
            self._run_of(invocation, request.state).tool_returned(
                call_id, message.text, is_error=message.status == "error", agent=self._agent
            )
        return result


def _message_of(command: Command[Any], call_id: str) -> ToolMessage:
    """What the model is told of a call that returns a command; without a text where that says nothing."""
    update = command.update if isinstance(command.update, dict) else {}
    said = (one for one in update.get("messages", ()) if isinstance(one, ToolMessage) and one.tool_call_id == call_id)
    return next(said, ToolMessage("", tool_call_id=call_id))


def _said(text: str) -> Update:
    return {"messages": [HumanMessage(text, name="sidemirror")]} if text else None


def _here(
    hook: Callable[[State, Runtime[Any]], Coroutine[Any, Any, Update]], state: State, runtime: Runtime[Any]
) -> Update:
    """A hook for a caller without a loop."""
    return waited(hook(state, runtime), None)


def _depth() -> int:
    namespace: str = get_config().get("configurable", {}).get("checkpoint_ns") or ""
    return namespace.count("|")


def _task(state: Any) -> str:
    messages: list[AnyMessage] = state["messages"]
    return next((one.text for one in reversed(messages) if isinstance(one, HumanMessage)), "")


def _answer(outputs: Any) -> str | None:
    if not isinstance(outputs, dict) or outputs.get("__interrupt__"):
        return None
    if "structured_response" in outputs:
        return as_text(outputs["structured_response"])
    last = next(iter(reversed(outputs.get("messages") or [])), None)
    return last.text if isinstance(last, AIMessage) and not last.tool_calls else None
