"""The wire formats that the scripted endpoint speaks: OpenAI's Chat Completions and Responses, and Gemini's
GenerateContent; whole and streamed."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Call(NamedTuple):
    """The model calls a tool."""

    name: str
    arguments: dict[str, Any]


class Fails(NamedTuple):
    """The endpoint answers with an error, which SDKs may try again."""

    status: int


class Hangs(NamedTuple):
    """The endpoint does not answer."""


# A final text, calls in parallel, or none of these.
Answer = str | list[Call] | Fails | Hangs


@dataclass
class Request:
    """A request: what stands before the conversation, the conversation as it came, and results by their call's id."""

    model: str
    system: str
    messages: list[Any]
    streamed: bool
    results: dict[str, str] = field(default_factory=dict)
    number: int = 0

    @property
    def text(self) -> str:
        """All that the model sees but for its instructions."""
        return json.dumps(self.messages, ensure_ascii=False)


class Format(NamedTuple):
    """How requests are read and answers written. A stream is made of server-sent events."""

    read: Callable[[str, dict[str, Any]], Request]
    whole: Callable[[Request, str | list[Call], Sequence[str]], dict[str, Any]]
    stream: Callable[[Request, str | list[Call], Sequence[str]], Iterator[str]]


OUTPUT_TOKENS = 7


def input_tokens(request: Request) -> int:
    """What the endpoint says that a request has cost."""
    return 50 + request.number


def _event(data: dict[str, Any], name: str = "") -> str:
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


# --- Chat Completions ------------------------------------------------------------------------------------------------


def _read_chat(_: str, body: dict[str, Any]) -> Request:
    first = [one for one in body["messages"] if one["role"] in ("system", "developer")]
    rest = [one for one in body["messages"] if one["role"] not in ("system", "developer")]
    results = {one["tool_call_id"]: _text_of(one["content"]) for one in rest if one["role"] == "tool"}
    system = "\n".join(_text_of(one["content"]) for one in first)
    return Request(body["model"], system, rest, bool(body.get("stream")), results)


def _chat_usage(request: Request) -> dict[str, int]:
    tokens = input_tokens(request)
    return {"prompt_tokens": tokens, "completion_tokens": OUTPUT_TOKENS, "total_tokens": tokens + OUTPUT_TOKENS}


def _whole_chat(request: Request, answer: str | list[Call], ids: Sequence[str]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer if isinstance(answer, str) else None}
    if not isinstance(answer, str):
        message["tool_calls"] = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call_id, call in zip(ids, answer, strict=True)
        ]
    reason = "stop" if isinstance(answer, str) else "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {
        "id": f"chatcmpl-{request.number}", "object": "chat.completion", "created": 1, "model": request.model,
        "choices": [choice], "usage": _chat_usage(request),
    }  # fmt: skip


def _stream_chat(request: Request, answer: str | list[Call], ids: Sequence[str]) -> Iterator[str]:
    base = {
        "id": f"chatcmpl-{request.number}", "object": "chat.completion.chunk", "created": 1, "model": request.model,
    }  # fmt: skip

    def chunk(delta: dict[str, Any], reason: str | None = None) -> str:
        return _event({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield chunk({"role": "assistant", "content": ""})
    if isinstance(answer, str):
        half = len(answer) // 2
        yield chunk({"content": answer[:half]})
        yield chunk({"content": answer[half:]})
        yield chunk({}, "stop")
    else:
        for place, (call_id, call) in enumerate(zip(ids, answer, strict=True)):
            text = json.dumps(call.arguments)
            function = {"name": call.name, "arguments": text[:3]}
            yield chunk({"tool_calls": [{"index": place, "id": call_id, "type": "function", "function": function}]})
            yield chunk({"tool_calls": [{"index": place, "function": {"arguments": text[3:]}}]})
        yield chunk({}, "tool_calls")
    yield _event({**base, "choices": [], "usage": _chat_usage(request)})
    yield "data: [DONE]\n\n"


# --- Responses -------------------------------------------------------------------------------------------------------


def _read_responses(_: str, body: dict[str, Any]) -> Request:
    given = body["input"]
    items = given if isinstance(given, list) else [{"role": "user", "content": given}]
    results = {one["call_id"]: _text_of(one["output"]) for one in items if one.get("type") == "function_call_output"}
    return Request(body["model"], body.get("instructions") or "", items, bool(body.get("stream")), results)


def _whole_responses(request: Request, answer: str | list[Call], ids: Sequence[str]) -> dict[str, Any]:
    if isinstance(answer, str):
        content = [{"type": "output_text", "text": answer, "annotations": []}]
        message_id = f"msg_{request.model}_{request.number}"
        output: list[dict[str, Any]] = [
            {"type": "message", "id": message_id, "role": "assistant", "status": "completed", "content": content}
        ]
    else:
        output = [
            {
                "type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": call.name,
                "arguments": json.dumps(call.arguments), "status": "completed",
            }
            for call_id, call in zip(ids, answer, strict=True)
        ]  # fmt: skip
    tokens = input_tokens(request)
    usage = {
        "input_tokens": tokens, "output_tokens": OUTPUT_TOKENS, "total_tokens": tokens + OUTPUT_TOKENS,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip
    return {
        "id": f"resp_{request.model}_{request.number}", "object": "response", "created_at": 1, "status": "completed",
        "model": request.model, "output": output, "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto",
        "tools": [], "error": None, "incomplete_details": None, "instructions": None, "metadata": {},
        "temperature": 1.0, "top_p": 1.0,
    }  # fmt: skip


def _stream_responses(request: Request, answer: str | list[Call], ids: Sequence[str]) -> Iterator[str]:
    whole = _whole_responses(request, answer, ids)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    said: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for place, item in enumerate(whole["output"]):
        at = {"output_index": place, "item_id": item["id"]}
        said.append({"type": "response.output_item.added", "output_index": place, "item": item})
        if item["type"] == "message":
            text = item["content"][0]["text"]
            said.append({"type": "response.output_text.delta", "content_index": 0, "delta": text, "logprobs": [], **at})
        else:
            said.append({"type": "response.function_call_arguments.delta", "delta": item["arguments"], **at})
        said.append({"type": "response.output_item.done", "output_index": place, "item": item})
    said.append({"type": "response.completed", "response": whole})
    for number, event in enumerate(said):
        yield _event({**event, "sequence_number": number}, event["type"])


# --- GenerateContent -------------------------------------------------------------------------------------------------


def _read_gemini(path: str, body: dict[str, Any]) -> Request:
    model, _, method = path.partition("?")[0].rpartition("/")[2].partition(":")
    parts = [part for content in body["contents"] for part in content["parts"]]
    answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    # Gemini matches calls and answers by place where ids are left out.
    results = {
        (one.get("id") or calls[place].get("id") or str(place)): json.dumps(one["response"], ensure_ascii=False)
        for place, one in enumerate(answers)
    }
    system = "\n".join(part.get("text", "") for part in body.get("systemInstruction", {}).get("parts", ()))
    return Request(model, system, body["contents"], method.startswith("stream"), results)


def _whole_gemini(request: Request, answer: str | list[Call], ids: Sequence[str]) -> dict[str, Any]:
    if isinstance(answer, str):
        parts: list[dict[str, Any]] = [{"text": answer}]
    else:
        parts = [
            {"functionCall": {"id": call_id, "name": call.name, "args": call.arguments}}
            for call_id, call in zip(ids, answer, strict=True)
        ]
    tokens = input_tokens(request)
    usage = {
        "promptTokenCount": tokens, "candidatesTokenCount": OUTPUT_TOKENS, "totalTokenCount": tokens + OUTPUT_TOKENS,
    }  # fmt: skip
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": request.model}


def _stream_gemini(request: Request, answer: str | list[Call], ids: Sequence[str]) -> Iterator[str]:
    whole = _whole_gemini(request, answer, ids)
    if isinstance(answer, str):
        half = len(answer) // 2
        first = {"content": {"role": "model", "parts": [{"text": answer[:half]}]}, "index": 0}
        yield _event({"candidates": [first], "modelVersion": request.model})
        whole["candidates"][0]["content"]["parts"] = [{"text": answer[half:]}]
    yield _event(whole)


FORMATS = {
    "/chat/completions": Format(_read_chat, _whole_chat, _stream_chat),
    "/responses": Format(_read_responses, _whole_responses, _stream_responses),
    "enerateContent": Format(_read_gemini, _whole_gemini, _stream_gemini),
}
