"""The benchmark's agent, with what Sidemirror tells: for the folder `agents` of a checkout of STATE-Bench.

`bench/state_bench` and `sidemirror-client` are importable there: docs/scoreboard.md has the commands.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from learnings import Failure, Learnings, error_of
from state_bench.agents.state_bench import StateBenchAgent


class SidemirrorAgent(StateBenchAgent):
    """Looks up lessons for its query, and what helped when a call failed like its last one did."""

    def __init__(
        self,
        client: Any,
        system_prompt: str,
        tools: list[dict[str, Any]],
        tool_handlers: dict[str, Callable[[Any], Any]],
        runtime_context: Any = None,
        **given: Any,
    ) -> None:
        handlers = {name: partial(self._watched, name, handler) for name, handler in tool_handlers.items()}
        super().__init__(client, system_prompt, tools, handlers, runtime_context, **given)
        self._failure: Failure | None = None
        self._learnings = Learnings(runtime_context.domain if runtime_context else "")

    def retrieve_learnings(self, query: str, top_k: int = 3) -> list[str]:
        """At most `top_k` texts."""
        failure, self._failure = self._failure, None
        return self._learnings.told(query, top_k, failure)

    def _watched(self, name: str, handler: Callable[[Any], Any], arguments: Any) -> Any:
        result = handler(arguments)
        if error := error_of(result):
            self._failure = Failure(name, json.dumps(arguments), error)
        return result
