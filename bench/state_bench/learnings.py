"""What a sidecar learns from the trajectories of STATE-Bench, and tells an agent there.

Runs in the benchmark's own environment beside `sidemirror-client`, and by the command of this folder. A domain is a
project.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from sidemirror.v1.reflective_memory_pb2 import BuildMemoryContextRequest, FindRecoveriesRequest
from sidemirror.v1.thinking_pb2 import ModelReturned, ResponseDrafted, ToolCalled, ToolFailed, ToolReturned
from sidemirror_client import connect_sync

_DELIVERED_S = 60.0
_MOST_ITEMS = 20  # of a block


class Failure(NamedTuple):
    """A call of a tool that has failed."""

    tool: str
    arguments: str
    error: str


class Learnings:
    """The lessons of one domain."""

    def __init__(self, domain: str, address: str | None = None) -> None:
        """`address` None: as the environment says (SIDEMIRROR_ADDRESS)."""
        self._client = connect_sync(address, project_id=domain)

    def learn(self, folder: Path) -> int:
        """Reports the trajectories in a folder, a session each, and returns how many turns that were. What is learned
        of them, the sidecar learns afterwards. Raises RuntimeError if not all were delivered."""
        turns = 0
        for file in sorted(folder.glob("*.json")):
            for task, answers in _requests(json.loads(file.read_text())["conversation"]):
                self._report(file.stem, task, answers)
                turns += 1
        if not self._client.flush(_DELIVERED_S):
            raise RuntimeError(f"not all of {turns} turns were delivered within {_DELIVERED_S:.0f} s")
        return turns

    def told(self, query: str, top_k: int, failure: Failure | None = None) -> list[str]:
        """What helped at the last failing call, if there was one, then lessons for the query; `top_k` at most. Nothing
        without a sidecar: the agent goes on without it. Reads only: nothing of the query is learned."""
        items: list[Any] = []
        try:
            if failure is not None:
                asked = FindRecoveriesRequest(tool=failure.tool, arguments=failure.arguments, error_text=failure.error)
                items += self._client.memory.FindRecoveries(asked).block.items
            about = BuildMemoryContextRequest(task=query, max_items=min(top_k, _MOST_ITEMS))
            items += self._client.memory.BuildMemoryContext(about).block.items
        except grpc.RpcError:
            return []
        return [item.text for item in items][:top_k]

    def close(self) -> None:
        """What is not delivered is a warning."""
        self._client.close()

    def _report(self, session: str, task: str, answers: list[dict[str, Any]]) -> None:
        with self._client.begin_turn(task=task, session_id=session[:128]) as turn:
            for number, call in enumerate(call for answer in answers for call in answer.get("tool_calls") or ()):
                arguments = json.dumps(call.get("arguments"))
                turn.report(tool_called=ToolCalled(call_id=str(number), name=call["name"], arguments=arguments))
                if error := error_of(call.get("result")):
                    turn.report(tool_failed=ToolFailed(call_id=str(number), error=error))
                else:
                    content = json.dumps(call.get("result"))
                    turn.report(tool_returned=ToolReturned(call_id=str(number), content=content))
            answer = "\n\n".join(one["content"] for one in answers if one.get("content"))
            turn.report(model_returned=ModelReturned(text=answer))
            turn.report(response_drafted=ResponseDrafted(text=answer))
            # Trajectories do not say how they ended.
            turn.finish()


def error_of(result: object) -> str:
    """The error in a tool's result; empty without one."""
    return str(result["error"]) if isinstance(result, dict) and result.get("error") else ""


def _requests(conversation: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """What the user asks each time, with the answers up to the next."""
    task, answers = "", list[dict[str, Any]]()
    for message in conversation:
        if message["role"] == "user":
            if answers:
                yield task, answers
            task, answers = message["content"], []
        elif message["role"] == "assistant":
            answers.append(message)
    if answers:
        yield task, answers
