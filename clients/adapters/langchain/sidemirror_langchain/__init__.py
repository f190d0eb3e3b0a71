"""Sidemirror for LangChain and LangGraph: `create_agent(..., middleware=[SidemirrorMiddleware()])`.

Every model and tool call is reported to the sidecar. Lessons for the task stand behind the user's message, advice
behind the results of the tools, and a wrong final answer is sent back to the model.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tracers.context import register_configure_hook
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command
from langsmith.utils import tracing_is_enabled

from sidemirror_client import Sidemirror
from sidemirror_client.adapter import Home, Run, Settings, as_text, instance_of, waited

if TYPE_CHECKING:
    # Where it stands at run time depends on the version.
    from langgraph.prebuilt.tool_node import ToolCallRequest

__all__ = ["Settings", "SidemirrorMiddleware"]

ToolResult = ToolMessage | Command[Any]
# The name of the messages that are added, by which a thread's state tells them from the user's.
_OURS = "sidemirror"
_log = logging.getLogger("sidemirror_client")


class _Invocation:
    """What LangChain runs for one call of `invoke` or its like, with all agents in it: one turn. An agent begins it."""

    def __init__(self, outer: _Invocation | None) -> None:
        """`outer`: a stream whose reader begins this one meanwhile. It goes on in the context of its reader."""
        self.outer = outer
        self.run: Run | None = None
        self.is_over = False
        # One begins it, of the calls that a resumed invocation begins with, each in a thread.
        self.beginning = Lock()
        # How deep in the graph the agents stand whose answer is that of the turn, and where each of them does.
        self.depth = 0
        self.places: set[str] = set()


_CURRENT: ContextVar[_Invocation | None] = ContextVar("sidemirror_invocation", default=None)


def _current() -> _Invocation | None:
    """The one that runs in this context."""
    invocation = _CURRENT.get()
    while invocation is not None and invocation.is_over:
        invocation = invocation.outer
    return invocation


class _Endings(BaseCallbackHandler):
    """Sees where the outermost runs of this process begin and end: middleware does not see the end of one that raises.
    It acts only on those in which a middleware has begun a turn."""

    run_inline = True
    ignore_llm = ignore_chat_model = ignore_agent = ignore_retriever = ignore_retry = ignore_custom_event = True

    def __init__(self) -> None:
        self._open: dict[UUID, _Invocation] = {}

    def on_chain_start(self, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **__: Any) -> None:
        """Everything that is run inside has copies of this context. An outermost run may have a parent that is none of
        LangChain's, such as a function that LangSmith traces."""
        outer = _current()
        if parent_run_id is None or outer is None:
            self._open[run_id] = invocation = _Invocation(outer)
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
        if (invocation := self._open.pop(run_id, None)) is None:
            return None
        invocation.is_over = True
        return invocation.run


_ENDINGS = _Endings()
register_configure_hook(ContextVar("sidemirror_endings", default=_ENDINGS), inheritable=False)


class SidemirrorMiddleware(AgentMiddleware[Any, Any]):
    """A second look at an agent's work. One middleware serves any number of agents and runs at once. Middleware that
    makes messages of tools' errors stands before it, so that it sees the errors; all others stand behind it."""

    def __init__(self, settings: Settings | None = None, *, agent: str = "", client: Sidemirror | None = None) -> None:
        """`agent` names this agent among several. `client`: else one by the environment (`sidemirror_client.connect`),
        which connects at the first run. Raises TypeError for anything else."""
        super().__init__()
        instance_of("agent", agent, str)
        self._home = Home(client, settings)
        self._agent = agent
        if not tracing_is_enabled():
            hooks = (self.awrap_model_call, self.awrap_tool_call)
            vars(self).update({hook.__name__: _untraced(hook) for hook in hooks})

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """A call of the model, and another one when its final answer is wrong."""
        if (run := self._run(request.state)) is None:
            return await handler(request)
        call = _ModelCall(run, request)
        call.answered(await handler(await call.first()))
        while (asked := await call.again()) is not None:
            with call.revising():
                call.answered(await handler(asked))
        return call.response()

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """As `awrap_model_call`, for a caller without a loop."""
        if (run := self._run(request.state)) is None:
            return handler(request)
        call = _ModelCall(run, request)
        call.answered(handler(waited(call.first(), request)))
        while (asked := waited(call.again(), None)) is not None:
            with call.revising():
                call.answered(handler(asked))
        return call.response()

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """A call's end. An interrupt is none."""
        with self._call(request) as returned:
            return returned(await handler(request))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """As `awrap_tool_call`."""
        with self._call(request) as returned:
            return returned(handler(request))

    def _run(self, state: Any) -> Run | None:
        """The part that this agent has in the invocation's turn. The turn begins here; after an interrupt that may be
        anywhere in an agent."""
        invocation = _current()
        if invocation is None:
            return None
        depth, place = _place()
        with invocation.beginning:
            if invocation.run is None:
                session = get_config().get("configurable", {}).get("thread_id") or ""
                invocation.depth = depth
                invocation.run = self._home.begin(_task(state), session_id=str(session), agent=self._agent)
        if depth > invocation.depth:
            return invocation.run.inner(self._agent)
        invocation.places.add(place)
        return invocation.run.of(self._agent)

    @contextmanager
    def _call(self, request: ToolCallRequest) -> Iterator[Callable[[ToolResult], ToolResult]]:
        """A call from its beginning to its end; what it returns is handed to what this gives."""
        run, call = self._run(request.state), request.tool_call
        if run is None:
            yield lambda result: result
            return
        call_id = call["id"] or ""

        def returned(result: ToolResult) -> ToolResult:
            message = _message_of(result, call_id) if isinstance(result, Command) else result
            run.tool_returned(call_id, message.text, is_error=message.status == "error")
            return result

        with run.calling(call_id, call["name"], call["args"], excused=(GraphBubbleUp,)):
            yield returned


class _ModelCall:
    """A call of the model with what is added to it. That stays in the agent's state, before the model's answer."""

    def __init__(self, run: Run, request: ModelRequest[Any]) -> None:
        self._run = run
        self._request = request
        invocation = _current()
        self._places = invocation.places if invocation else set()
        self._last: ModelResponse[Any] = ModelResponse([])
        self._is_to_stay = False
        # What the call leaves in the state.
        self._new: list[Any] = []

    async def first(self) -> ModelRequest[Any]:
        """The request with lessons behind the user's message, and advice behind the results of the tools."""
        past = self._request.messages
        # A run that is resumed goes on behind a tool's result. Its lessons were shown before.
        lessons = "" if past and isinstance(past[-1], ToolMessage) else await self._run.lessons()
        return self._asked(*filter(None, (lessons, await self._run.advice())))

    def answered(self, response: ModelResponse[Any]) -> None:
        """The model has answered."""
        self._last = response
        self._new += response.result
        # A structured answer is a call too, of a tool that the agent has not.
        known = {getattr(tool, "name", "") for tool in self._request.tools}
        for message in response.result:
            if isinstance(message, AIMessage):
                usage: Any = message.usage_metadata or {}
                self._run.model_returned(message.text, usage.get("input_tokens"), usage.get("output_tokens"))
                for call in message.tool_calls:
                    if call["name"] in known:
                        self._run.tool_called(call["id"] or "", call["name"], call["args"])

    async def again(self) -> ModelRequest[Any] | None:
        """The request for another answer when a final one is wrong."""
        # The record has the calls of all agents, by which the answer of one would be judged.
        if self._is_to_stay or len(self._places) > 1:
            return None
        last, said = next(reversed(self._last.result), None), ""
        if self._last.structured_response is not None:
            said = as_text(self._last.structured_response)
        elif isinstance(last, AIMessage) and not last.tool_calls:
            said = last.text
        why = await self._run.revision(said)
        return self._asked(why) if why else None

    @contextmanager
    def revising(self) -> Iterator[None]:
        """A request for another answer. One that fails leaves the answer before it as it was."""
        try:
            yield
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001  # whatever the second request raises, the first has an answer
            _log.warning("a revision has failed (%s), and the answer before it stands", type(error).__name__)
            self._new.pop()
            self._is_to_stay = True

    def response(self) -> ModelResponse[Any]:
        """What the model has answered in the end, behind what was added."""
        return replace(self._last, result=self._new)

    def _asked(self, *texts: str) -> ModelRequest[Any]:
        self._new += [HumanMessage(text, name=_OURS) for text in texts]
        model = getattr(self._request.model, "model_name", "") or getattr(self._request.model, "model", "")
        self._run.model_started(model=str(model))
        return self._request.override(messages=[*self._request.messages, *self._new])


def _untraced(hook: Callable[..., Any]) -> Callable[..., Any]:
    """A plain function that returns the hook's coroutine. LangChain wraps each hook for LangSmith, and the wrapper of a
    coroutine function hands each call to another thread twice, also where nothing is traced."""

    def called(request: Any, handler: Any) -> Any:
        return hook(request, handler)

    return called


def _message_of(command: Command[Any], call_id: str) -> ToolMessage:
    """What the model is told of a call that returns a command; without a text where that says nothing."""
    update = command.update if isinstance(command.update, dict) else {}
    said = (one for one in update.get("messages", ()) if isinstance(one, ToolMessage) and one.tool_call_id == call_id)
    return next(said, ToolMessage("", tool_call_id=call_id))


def _place() -> tuple[int, str]:
    """Where in the graph the agent stands: how deep, and below which node."""
    namespace: str = get_config().get("configurable", {}).get("checkpoint_ns") or ""
    return namespace.count("|"), namespace.rpartition("|")[0]


def _task(state: Any) -> str:
    messages: list[AnyMessage] = state["messages"]
    said = (one for one in reversed(messages) if isinstance(one, HumanMessage) and one.name != _OURS)
    return next((one.text for one in said), "")


def _answer(outputs: Any) -> str | None:
    if not isinstance(outputs, dict) or outputs.get("__interrupt__"):
        return None
    if "structured_response" in outputs:
        return as_text(outputs["structured_response"])
    last = next(iter(reversed(outputs.get("messages") or [])), None)
    return last.text if isinstance(last, AIMessage) and not last.tool_calls else None
