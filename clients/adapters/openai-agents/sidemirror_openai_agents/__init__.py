"""Sidemirror for the OpenAI Agents SDK: `SidemirrorRunner().run(…)` in the place of `Runner.run(…)`.

Every model and tool call is reported to the sidecar, with the errors that the SDK keeps from the model. Lessons for the
task stand behind the user's input, advice behind the results of the tools, and a wrong final answer is sent back.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from inspect import isawaitable
from types import MethodType
from typing import Any, TypeVar, Unpack, cast

from agents import (
    Agent,
    InputGuardrailTripwireTriggered,
    ModelResponse,
    RunConfig,
    RunHooks,
    RunResult,
    RunResultStreaming,
    RunState,
)
from agents.run import AgentRunner, CallModelData, ModelInputData, RunOptions, get_default_agent_runner

from sidemirror_client import Sidemirror
from sidemirror_client.adapter import Added, Home, Run, Settings, as_text, error_of

__all__ = ["Settings", "SidemirrorRunner"]

# What the SDK tells the model of an error. Older versions, such as 0.20, go on with the error itself.
_FAILED = "An error occurred while running the tool. Please try again."
_AND_WHY = f"{_FAILED} Error: "
# What tools return that have an id when they are called.
_ENDS = ("function_call_output", "custom_tool_call_output")
_log = logging.getLogger("sidemirror_client")
M = TypeVar("M", bound=Callable[..., Any])


class _OfAnInstance:
    """A method that is called on an instance only. `Runner`, whose place ours takes, is used as a class."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, runner: object, kind: type) -> Callable[..., Any]:
        return self._refuse if runner is None else MethodType(self._method, runner)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        name = self._method.__name__
        raise TypeError(f"SidemirrorRunner.{name}: an instance is expected, as in SidemirrorRunner().{name}(…)")


def _of_an_instance(method: M) -> M:
    return cast(M, _OfAnInstance(method))


class SidemirrorRunner(AgentRunner):
    """Runs agents as `Runner` does, with a second look at their work. One runner serves any number of runs at once. As
    the SDK's default (`agents.run.set_default_agent_runner`) it is what `Runner` uses."""

    def __init__(self, settings: Settings | None = None, *, client: Sidemirror | None = None) -> None:
        """`client`: else one by the environment (`sidemirror_client.connect`), which connects at the first run. Raises
        TypeError for anything else."""
        self._home = Home(client, settings)

    @_of_an_instance
    async def run(self, starting_agent: Agent[Any], input: Any, **given: Unpack[RunOptions[Any]]) -> RunResult:  # noqa: A002  # the SDK's
        """As `Runner.run`, with its arguments. A wrong final answer has another run follow, whose result this is
        unless that fails."""
        watch = self._watch(starting_agent, input, given)
        with watch.watching():
            result = await _sdk().run(starting_agent, input, **watch.arguments())
            while (revised := await _revised(result, watch)) is not result:
                result = revised
        watch.ended(result)
        return result

    @_of_an_instance
    def run_sync(self, starting_agent: Agent[Any], input: Any, **given: Unpack[RunOptions[Any]]) -> RunResult:  # noqa: A002  # the SDK's
        """As `Runner.run_sync`: for callers without a loop. All of a thread's runs are on one."""
        return super().run_sync(starting_agent, input, **_known(given))

    @_of_an_instance
    def run_streamed(
        self,
        starting_agent: Agent[Any],
        input: Any,  # noqa: A002  # the SDK's
        **given: Unpack[RunOptions[Any]],
    ) -> RunResultStreaming:
        """As `Runner.run_streamed`. The final answer is shown as it comes, so that nothing is revised."""
        watch = self._watch(starting_agent, input, given)
        with watch.watching():
            result = _sdk().run_streamed(starting_agent, input, **watch.arguments())
        cast("asyncio.Task[Any]", result.run_loop_task).add_done_callback(lambda done: watch.finished(result, done))
        return result

    def _watch(self, agent: Agent[Any], given_input: Any, options: RunOptions[Any]) -> "_Watch":
        given = _known(options)
        session = given.get("conversation_id") or getattr(given.get("session"), "session_id", "")
        run = self._home.begin(_task(given_input), session_id=session or "", agent=agent.name)
        return _Watch(run, given, is_resumed=isinstance(given_input, RunState))


class _Watch:
    """What looks at one run."""

    def __init__(self, run: Run, given: dict[str, Any], *, is_resumed: bool) -> None:
        self.run = run
        self.given = given
        self._may_be_refused = is_resumed
        self.agent = ""
        # Changes of a request are not in the SDK's history.
        self._added = Added()
        # This run's calls, of which some may not have ended, with their tools' names; and what was raised in calls.
        self._calls: dict[str, str] = {}
        self._errors: dict[str, Exception] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While the SDK is at work: agents that begin are part of this run, and what it raises is its end."""
        try:
            with self.run.inside():
                yield
        except BaseException as error:
            self.failed(error)
            raise

    def arguments(self, **more: Any) -> dict[str, Any]:
        """The arguments of `Runner.run`, with ours around the user's own hooks and filters."""
        # Without one: newer versions close the model provider of a run whose configuration they have made.
        config: RunConfig | dict[str, Any] = self.given.get("run_config") or {}
        theirs = config if isinstance(config, dict) else vars(config)
        ours: dict[str, Any] = {
            "call_model_input_filter": self._filter(theirs.get("call_model_input_filter")),
            "tool_error_formatter": self._formatter(theirs.get("tool_error_formatter")),
        }
        hooks = _Hooks(self, self.given.get("hooks") or RunHooks())
        watched = {**config, **ours} if isinstance(config, dict) else replace(config, **ours)
        return {**self.given, **more, "hooks": hooks, "run_config": watched}

    def _filter(self, inner: Callable[[CallModelData[Any]], Any] | None) -> Callable[[CallModelData[Any]], Any]:
        async def filtered(data: CallModelData[Any]) -> ModelInputData:
            # The config goes on to agents that are tools, whose conversations are their own.
            is_ours = data.agent.name == self.agent
            if is_ours:
                data.model_data.input = await self._with_advice(list(data.model_data.input), data.agent)
            said = inner(data) if inner is not None else data.model_data
            changed: ModelInputData = await said if isawaitable(said) else said
            if is_ours:
                name = getattr(data.agent.model, "model", data.agent.model)
                self.run.of(self.agent).model_started("openai", str(name or ""))
            return changed

        return filtered

    async def _with_advice(self, items: list[Any], agent: Agent[Any]) -> list[Any]:
        if self._may_be_refused:
            self._refused(items)
            self._may_be_refused = False
        self._results(items)
        texts = await self.run.texts([tool.name for tool in agent.tools])
        return self._added.to(items, texts, lambda text: {"role": "user", "content": text})

    def _formatter(self, inner: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
        def formatted(arguments: Any) -> Any:
            if getattr(arguments, "error", None) is not None:
                self._errors[arguments.call_id] = arguments.error
            return inner(arguments) if inner is not None else None

        return formatted

    def answered(self, agent: Agent[Any], response: ModelResponse) -> None:
        """The model's answer, and the calls in it."""
        run, text, usage = self.run.of(agent.name), "", response.usage
        for item in response.output:
            # Not what it has reasoned.
            for part in item.content if item.type == "message" else ():
                text += getattr(part, "text", "")
        run.model_returned(text, usage.input_tokens, usage.output_tokens)
        for item in response.output:
            if item.type == "function_call":
                self._calls[item.call_id] = item.name
                run.tool_called(item.call_id, item.name, item.arguments)

    def called(self, agent: Agent[Any], context: Any) -> None:
        """A tool begins. Tools of the SDK's own, such as a shell, have no id here."""
        if call_id := getattr(context, "tool_call_id", ""):
            self._calls[call_id] = context.tool_name
            self.run.of(agent.name).tool_called(call_id, context.tool_name, context.tool_arguments)

    def returned(self, context: Any) -> None:
        """A tool has come to its end: what the run raises from here is not its error."""
        self._calls.pop(getattr(context, "tool_call_id", ""), None)

    def _results(self, items: list[Any]) -> None:
        """The ends of calls, as the next request has them."""
        for item in items:
            is_end = isinstance(item, dict) and item.get("type") in _ENDS
            if is_end and self.run.is_open(call_id := item["call_id"]):
                text = as_text(item["output"])
                if error := self._errors.pop(call_id, None):
                    self.run.tool_failed(call_id, error)
                else:
                    self.run.tool_returned(call_id, text.removeprefix(_AND_WHY), is_error=text.startswith(_FAILED))

    def _refused(self, items: list[Any]) -> None:
        """The calls that a resumed run begins with, of those that have not begun: a person has refused them."""
        calls = {one["call_id"]: one for one in items if isinstance(one, dict) and one.get("type") == "function_call"}
        for item in reversed(items):
            if not isinstance(item, dict) or item.get("type") not in _ENDS:
                break
            call = calls.get(call_id := item["call_id"])
            if call is not None and not self.run.is_open(call_id):
                self.run.tool_called(call_id, call["name"], call["arguments"])
                self.run.tool_returned(call_id, f"Tool execution denied: {as_text(item['output'])}")

    def failed(self, error: BaseException) -> None:
        """The run is over with an error."""
        self.raised(error)
        self.run.end(error=error)

    def raised(self, error: BaseException) -> None:
        """The SDK's run has raised; where it has put an error of its own around a tool's, that is on record. Calls that
        have come to their end are on record as they did, and those that a guardrail or a cancellation stopped have
        none."""
        if data := getattr(error, "run_data", None):
            self._results([item.to_input_item() for item in data.new_items])
        if isinstance(error, Exception) and not isinstance(error, InputGuardrailTripwireTriggered):
            is_open = {call_id: name for call_id, name in self._calls.items() if self.run.is_open(call_id)}
            # The SDK says whose error it is; calls beside that were cancelled, or have not begun.
            whose = [one for one, name in is_open.items() if re.search(rf"\b[Tt]ool {re.escape(name)}\b", str(error))]
            for call_id in whose or is_open:
                self.run.tool_failed(call_id, error.__cause__ or error)

    def ended(self, result: RunResult | RunResultStreaming) -> None:
        """The run has an answer, or waits for an approval."""
        self._results(result.to_input_list())
        self.run.end(as_text(result.final_output) if result.final_output is not None else None)

    def finished(self, result: RunResultStreaming, done: "asyncio.Task[Any]") -> None:
        """A streamed run is over."""
        if error := error_of(done):
            self.failed(error)
        else:
            self.ended(result)


class _Hooks(RunHooks[Any]):
    """Ours around the user's own; those that ours does not have are the user's."""

    def __init__(self, watch: _Watch, inner: RunHooks[Any]) -> None:
        self._watch = watch
        self._inner = inner
        for name in dir(inner):
            if name.startswith("on_") and name not in vars(_Hooks):
                setattr(self, name, getattr(inner, name))

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        """Whose requests are to come."""
        self._watch.agent = agent.name
        await self._inner.on_agent_start(context, agent)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        """One that was approved meanwhile, of which the model's answer is an earlier run's, is on record from here."""
        self._watch.called(agent, context)
        await self._inner.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        """Its result is on record from the next request, in the words that the model sees."""
        self._watch.returned(context)
        await self._inner.on_tool_end(context, agent, tool, result)

    async def on_llm_end(self, context: Any, agent: Any, response: ModelResponse) -> None:
        self._watch.answered(agent, response)
        await self._inner.on_llm_end(context, agent, response)


def _sdk() -> AgentRunner:
    """What runs agents: the SDK's default, unless that is one of ours."""
    default = get_default_agent_runner()
    return AgentRunner() if isinstance(default, SidemirrorRunner) else default


def _known(given: RunOptions[Any]) -> dict[str, Any]:
    """The arguments. Raises TypeError, as `Runner` does, for what is none: the SDK's own runner passes over it."""
    if unknown := given.keys() - RunOptions.__annotations__.keys():
        raise TypeError(f"Runner has no argument {', '.join(sorted(unknown))}")
    return dict[str, Any](given)


def _kept_elsewhere(given: dict[str, Any]) -> bool:
    """Whether OpenAI keeps the conversation, and requests have only what is new."""
    names = ("conversation_id", "previous_response_id", "auto_previous_response_id")
    return any(given.get(name) for name in names)


async def _revised(result: RunResult, watch: _Watch) -> RunResult:
    """The result, or where its answer is wrong that of a second run, which has the turns that the first has left; the
    same result where the second raises, or answers nothing."""
    left = None if result.max_turns is None else result.max_turns - len(result.raw_responses)
    # A run that waits for an approval has no answer.
    if result.final_output is None or (left is not None and left <= 0):
        return result
    if not (why := await watch.run.revision(as_text(result.final_output))):
        return result
    # One context counts the tokens of both.
    more = {**_goes_on(result, why, watch.given), "max_turns": left, "context": result.context_wrapper}
    try:
        revised = await _sdk().run(result.last_agent, **watch.arguments(**more))
        if not isinstance(revised.final_output, str) or revised.final_output.strip():
            return revised
        what = "an empty answer"
    except Exception as error:  # noqa: BLE001  # whatever the second run raises, the first has an answer
        what = type(error).__name__
        watch.raised(error)
    _log.warning("a second run, to revise its answer, has failed (%s): the answer stands", what)
    with suppress(Exception):
        await _forgotten(watch.given.get("session"), why)
    return result


async def _forgotten(session: Any, why: str) -> None:
    """Takes our message and all behind it out of a session that has it."""
    if session is not None and any(one.get("content") == why for one in await session.get_items()):
        while (item := await session.pop_item()) and item.get("content") != why:
            pass


def _goes_on(result: RunResult, why: str, given: dict[str, Any]) -> dict[str, Any]:
    """What the second run is given: the conversation, or what is new where somebody else keeps it."""
    if given.get("session") is not None or given.get("conversation_id"):
        return {"input": why}
    if _kept_elsewhere(given):
        return {"input": why, "previous_response_id": result.last_response_id}
    return {"input": [*result.to_input_list(), {"role": "user", "content": why}]}


def _task(given: Any) -> str:
    """The last that the user said; nothing for a run that is resumed."""
    if isinstance(given, str):
        return given
    for item in reversed(given if isinstance(given, list) else []):
        if isinstance(item, dict) and item.get("role") == "user":
            content = item.get("content")
            return content if isinstance(content, str) else "".join(one.get("text", "") for one in content or ())
    return ""
