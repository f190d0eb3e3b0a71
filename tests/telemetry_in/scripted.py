"""A model endpoint that follows a script, for agents in environments of their own. It speaks OpenAI's Chat Completions
and Responses, and Gemini's GenerateContent."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, TypeAlias


class Called(NamedTuple):
    """The model calls a tool."""

    name: str
    arguments: Mapping[str, Any]


# What the model says after these results of the calls so far: a call, or the answer.
Script: TypeAlias = Callable[[list[str]], Called | str]


@contextmanager
def scripted(script: Script) -> Iterator[str]:
    """The address of an endpoint whose model follows the script in each conversation."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answered = next(form for part, form in _FORMS.items() if part in self.path)
            body = json.dumps(answered(asked, script)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _chat(asked: dict[str, Any], script: Script) -> dict[str, Any]:
    results = [_text(message["content"]) for message in asked["messages"] if message["role"] == "tool"]
    said = script(results)
    message: dict[str, Any] = {"role": "assistant", "content": said if isinstance(said, str) else None}
    if isinstance(said, Called):
        function = {"name": said.name, "arguments": json.dumps(said.arguments)}
        message["tool_calls"] = [{"id": f"call_{len(results)}", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "stop" if isinstance(said, str) else "tool_calls"}
    usage = {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60}
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": asked["model"]}
    return {**answer, "choices": [choice], "usage": usage}


def _responses(asked: dict[str, Any], script: Script) -> dict[str, Any]:
    items = asked["input"] if isinstance(asked["input"], list) else []
    results = [_text(item["output"]) for item in items if item.get("type") == "function_call_output"]
    said = script(results)
    number = len(results)
    output: dict[str, Any] = {"status": "completed"}
    if isinstance(said, Called):
        called = {"call_id": f"call_{number}", "name": said.name, "arguments": json.dumps(said.arguments)}
        output |= {"type": "function_call", "id": f"fc_{number}", **called}
    else:
        content = [{"type": "output_text", "text": said, "annotations": []}]
        output |= {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    usage = {"input_tokens": 50, "output_tokens": 10, "total_tokens": 60}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    answer = {"id": f"resp_{number}", "object": "response", "created_at": 1, "status": "completed"}
    tools = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return {**answer, **tools, "model": asked["model"], "output": [output], "usage": {**usage, **details}}


def _gemini(asked: dict[str, Any], script: Script) -> dict[str, Any]:
    parts = [part for content in asked["contents"] for part in content["parts"]]
    results = [json.dumps(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part]
    said = script(results)
    part: dict[str, Any] = {"text": said}
    if isinstance(said, Called):
        part = {"functionCall": {"id": f"call_{len(results)}", "name": said.name, "args": said.arguments}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 50, "candidatesTokenCount": 10, "totalTokenCount": 60}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stubborn"}


# By a part of the path.
_FORMS = {":generateContent": _gemini, "/responses": _responses, "/chat/completions": _chat}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""
