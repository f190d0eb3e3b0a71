"""A scripted model endpoint on loopback, for Codex (Responses), Gemini CLI (generateContent) and OpenHands (chat
completions). It plays a list of steps: a shell command to call, or a final text; when the list is over, its last step
again. It keeps every request."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Call(NamedTuple):
    """The model asks for this shell command."""

    command: str


class Say(NamedTuple):
    """The model ends its turn with this text."""

    text: str


Step = Call | Say


class Endpoint:
    """What a scripted model was asked. `requests`: the bodies, oldest first."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = list(steps)
        self.requests: list[Any] = []
        self.url = ""
        self._lock = threading.Lock()

    def next_step(self, body: Any) -> tuple[int, Step]:
        """Takes a request; returns its number from 0, and what the model does."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
        return number, self._steps[min(number, len(self._steps) - 1)]


@contextmanager
def endpoint(steps: Sequence[Step]) -> Iterator[Endpoint]:
    """An endpoint that plays these steps, on a free port."""
    scripted = Endpoint(steps)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self._answer(404, "application/json", b"{}")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
            if self.path.endswith("/responses"):
                self._answer(200, "text/event-stream", _responses(*scripted.next_step(body)))
            elif "GenerateContent" in self.path or "generateContent" in self.path:
                # What Gemini CLI asks about its own work, such as which model to take, is no step of the agent.
                if "tools" not in body:
                    self._answer(200, "application/json", _gemini_aside())
                    return
                content = json.dumps(_gemini(*scripted.next_step(body))).encode()
                if "alt=sse" in self.path:
                    self._answer(200, "text/event-stream", b"data: " + content + b"\r\n\r\n")
                else:
                    self._answer(200, "application/json", content)
            elif self.path.endswith("/chat/completions"):
                self._answer(200, "application/json", json.dumps(_chat(*scripted.next_step(body))).encode())
            else:
                self._answer(404, "application/json", b"{}")

        def _answer(self, status: int, kind: str, content: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    scripted.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, name="endpoint", daemon=True)
    thread.start()
    try:
        yield scripted
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _responses(number: int, step: Step) -> bytes:
    """A stream of the Responses API with one item."""
    if isinstance(step, Call):
        arguments = json.dumps({"cmd": step.command})
        item: dict[str, Any] = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
        item |= {"name": "exec_command", "arguments": arguments}
    else:
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    usage: dict[str, Any] = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": None, "output_tokens_details": None}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": f"resp_{number}"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": f"resp_{number}", "usage": usage}},
    ]
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def _gemini(number: int, step: Step) -> Any:
    part: Any = {"text": step.text} if isinstance(step, Say) else None
    if isinstance(step, Call):
        arguments = {"command": step.command, "description": "looks something up"}
        part = {"functionCall": {"id": f"call_{number}", "name": "run_shell_command", "args": arguments}}
    return _candidate(part)


def _chat(number: int, step: Step) -> Any:
    """A chat completion with one call: of OpenHands' shell, or of the tool by which its agent ends a turn."""
    name, given = (
        ("terminal", {"command": step.command}) if isinstance(step, Call) else ("finish", {"message": step.text})
    )
    call = {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    whole = {"id": f"chat_{number}", "object": "chat.completion", "created": 0, "model": "scripted"}
    return whole | {"choices": [choice], "usage": usage}


def _gemini_aside() -> bytes:
    text = json.dumps({"reasoning": "it is a task", "model_choice": "pro", "complexity_score": 90})
    return json.dumps(_candidate({"text": text})).encode()


def _candidate(part: Any) -> Any:
    return {
        "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]}}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }
