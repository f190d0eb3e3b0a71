"""What the endpoint answers: well-formed answers of both providers, as strict as they are, and the same ones spoilt."""

import gzip
import json
import re
from collections.abc import Collection, Mapping
from hashlib import blake2b
from typing import Any, NoReturn

KEY = "sk-ant-test-0123456789abcdefghij"
CLAUDE = "claude-haiku-5-5"
ALWAYS_THINKS = "claude-opus-5-5"
BY_BUDGET = "claude-haiku-4-5"
GPT = "gpt-5.5-mini"
LOCAL = "qwen3:4b"
EMBEDDING = "nomic-embed-text"

# Keywords that Anthropic and OpenAI refuse in a schema (structured output pages).
_UNSUPPORTED_KEYWORDS = {"minLength", "maxLength", "minimum", "maximum", "maxItems", "default", "pattern", "multipleOf"}
_ANTHROPIC_PARAMETERS = {
    *("model", "max_tokens", "messages", "system", "thinking", "output_config", "metadata", "stop_sequences", "stream"),
    *("tools", "tool_choice", "cache_control", "service_tier"),
}
# From this many tokens on a prefix is cached (the 5.5 family).
_LEAST_CACHED_TOKENS = 512


class Refusal(Exception):
    """The provider does not take the request."""

    def __init__(self, status: int, kind: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        error = {"type": kind, "message": message, "param": param, "code": None}
        self.body = json.dumps({"type": "error", "error": error}).encode()


def _models() -> dict[str, dict[str, Any]]:
    def supports(*names: str, of: Collection[str]) -> dict[str, Any]:
        return {"supported": bool(names), **{name: {"supported": name in names} for name in of}}

    def model(name: str, thinking: Collection[str], efforts: Collection[str]) -> dict[str, Any]:
        types = supports(*thinking, of=("adaptive", "enabled", "disabled", "between_tools"))
        types.pop("supported")
        capabilities = {
            "effort": supports(*efforts, of=("low", "medium", "high", "xhigh", "max")),
            "thinking": {"supported": True, "types": types},
            "structured_outputs": {"supported": True},
        }
        return {"type": "model", "id": name, "display_name": name, "capabilities": capabilities, "max_tokens": 64_000}

    every = ("low", "medium", "high", "xhigh", "max")
    found = [
        model(CLAUDE, ("adaptive", "disabled"), every),
        model(ALWAYS_THINKS, ("adaptive",), every),
        model(BY_BUDGET, ("enabled", "disabled"), ()),
    ]
    return {entry["id"]: entry for entry in found}


MODELS = _models()


def respond(
    path: str,
    headers: Mapping[str, str],
    body: Mapping[str, Any],
    answer: Any,
    unsupported: Collection[str],
    cached: set[str],
) -> tuple[bytes, int, int]:
    """The response's body and its tokens (input, output). Raises Refusal. `cached`: system texts that were seen."""
    if headers.get("authorization") != f"Bearer {KEY}":
        raise Refusal(401, "authentication_error", "invalid key")
    if path == "/v1/messages":
        return _messages(headers, body, answer, cached)
    if path == "/v1/messages/count_tokens":
        _check_messages({**body, "max_tokens": 1}, headers)
        return json.dumps({"input_tokens": _count(_told(body))}).encode(), 0, 0
    if path == "/v1/chat/completions":
        return _chat(body, answer, unsupported)
    if path == "/v1/embeddings":
        return _embeddings(body)
    if path.startswith("/v1/models/"):
        known = MODELS.get(path.removeprefix("/v1/models/"))
        if known is None:
            raise Refusal(404, "not_found_error", "no such model")
        return json.dumps(known).encode(), 0, 0
    if path == "/v1/models":
        return json.dumps({"object": "list", "data": list(MODELS.values())}).encode(), 0, 0
    raise Refusal(404, "not_found_error", f"no such address {path}")


def fields_asked_for(body: Mapping[str, Any]) -> frozenset[str]:
    """The fields of the answer that a request asks for, from its schema or from a schema in its system text."""
    schema = _schema(body)
    if schema is None:
        system = _system(body)
        at = system.find('{"description"')
        with_schema = at >= 0
        schema = json.JSONDecoder().raw_decode(system[at:])[0] if with_schema else {}
    return frozenset(schema.get("properties", {}))


def _messages(
    headers: Mapping[str, str], body: Mapping[str, Any], answer: Any, cached: set[str]
) -> tuple[bytes, int, int]:
    _check_messages(body, headers)
    text = json.dumps(answer if answer is not None else _example(_schema(body) or {}))
    system = _system(body)
    given, made = _count(_told(body)), _count(text)
    read = written = 0
    marked = any("cache_control" in block for block in body.get("system", []))
    if marked and _count(system) >= _LEAST_CACHED_TOKENS:
        read, written = (_count(system), 0) if system in cached else (0, _count(system))
        cached.add(system)
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "thinking", "thinking": "", "signature": "s"}, {"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": given - read - written,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": made,
        },
    }
    return json.dumps(message).encode(), given, made


def _check_messages(body: Mapping[str, Any], headers: Mapping[str, str]) -> None:
    if headers.get("anthropic-version") != "2026-10-21":
        raise Refusal(400, "invalid_request_error", "anthropic-version: unknown")
    for name in body.keys() - _ANTHROPIC_PARAMETERS:
        raise Refusal(400, "invalid_request_error", f"{name}: Extra inputs are not permitted")
    model = MODELS.get(body["model"])
    if model is None:
        raise Refusal(404, "not_found_error", f"model: {body['model']}")
    takes = model["capabilities"]
    thinking = body.get("thinking", {})
    if thinking and not takes["thinking"]["types"][thinking["type"]]["supported"]:
        raise Refusal(400, "invalid_request_error", f"thinking.type: {thinking['type']} is not supported")
    if thinking.get("budget_tokens", 1024) < 1024 or thinking.get("budget_tokens", 0) >= body["max_tokens"]:
        raise Refusal(400, "invalid_request_error", "thinking.budget_tokens: out of range")
    effort = body.get("output_config", {}).get("effort")
    if effort and not takes["effort"][effort]["supported"]:
        raise Refusal(400, "invalid_request_error", "output_config.effort: not supported by this model")
    _check_schema(_schema(body))


def _chat(body: Mapping[str, Any], answer: Any, unsupported: Collection[str]) -> tuple[bytes, int, int]:
    for name in unsupported:
        kind = body.get("response_format", {}).get("type")
        if name in body or name == kind:
            raise Refusal(400, "invalid_request_error", f"Unsupported parameter: {name!r}", name)
    if body["model"] not in (GPT, LOCAL):
        raise Refusal(404, "not_found_error", "no such model")
    _check_schema(_schema(body))
    told_schema = _schema(body)
    if told_schema is None:
        system = _system(body)
        told_schema = json.loads(system[system.index('{"description"') :])
    text = json.dumps(answer if answer is not None else _example(told_schema))
    given, made = _count(_told(body)), _count(text)
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": {
            "prompt_tokens": given,
            "completion_tokens": made,
            "total_tokens": given + made,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
    }
    return json.dumps(completion).encode(), given, made


_TOPIC = re.compile(r"topic-\d+")


def _embeddings(body: Mapping[str, Any]) -> tuple[bytes, int, int]:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    data = []
    for index, text in enumerate(texts):
        # Texts of one topic mean the same, whatever their words are.
        meaning = topic[0] if (topic := _TOPIC.search(text)) else text
        vector = [byte / 255 - 0.5 for byte in blake2b(meaning.encode(), digest_size=32).digest()]
        data.append({"object": "embedding", "index": index, "embedding": vector})
    given = sum(_count(text) for text in texts)
    usage = {"prompt_tokens": given, "total_tokens": given}
    return json.dumps({"object": "list", "data": data, "model": body["model"], "usage": usage}).encode(), given, 0


def spoilt(fault: str, path: str, request: Mapping[str, Any], made: bytes) -> tuple[bytes, int]:
    """The response with the fault in it, and its output tokens."""
    response = json.loads(made)
    answer = json.loads(_text_of(response))
    texts = {
        "NOT_JSON": "I think that all is well so far.",
        "WRONG_SCHEMA": json.dumps({"verdict": "good", "reflection": ["a", "list"]}),
        "OUT_OF_RANGE": json.dumps({**answer, "confidence": 7}),
        "NAN_SCORE": json.dumps({**answer, "confidence": float("nan")}),
        "INFINITE_SCORE": json.dumps({**answer, "confidence": 0}).replace('"confidence": 0', '"confidence": 1e999'),
        "DEEP": "[" * 100_000,
        "PROMPT_ECHO": _told(request),
        "PROMPT_ECHO_IN_JSON": json.dumps({**answer, "reflection": _told(request)[:3_900]}),
        "NUL_AND_SURROGATE": json.dumps({**answer, "reflection": "a\0b\ud800c"}),
        "EMPTY_CONTENT": "",
        "TEN_MEGABYTES": json.dumps({**answer, "reflection": "x" * 10_000_000}),
    }
    text = texts.get(fault, _text_of(response))
    endings = {
        "NULL_STOP": (None, None),
        "REFUSED": ("refusal", "content_filter"),
        "MAX_TOKENS": ("max_tokens", "length"),
    }
    stop, finish = endings.get(fault, ("end_turn", "stop"))
    if fault == "MAX_TOKENS":
        text = text[: len(text) // 2]
    if path == "/v1/messages":
        response["content"] = [{"type": "text", "text": text}] if text and fault != "REFUSED" else []
        response["stop_reason"] = stop
        response["usage"]["output_tokens"] = _count(text)
    else:
        response["choices"][0]["message"]["content"] = None if fault == "REFUSED" else text
        response["choices"][0]["finish_reason"] = finish
        response["usage"]["completion_tokens"] = _count(text)
        response["usage"]["total_tokens"] = response["usage"]["prompt_tokens"] + _count(text)
    if fault == "PACKED":
        return gzip.compress(b" " * 20_000_000, 1), 0
    return json.dumps(response).encode(), _count(text)


def _text_of(response: Mapping[str, Any]) -> str:
    if "choices" in response:
        return str(response["choices"][0]["message"]["content"])
    return "".join(block.get("text", "") for block in response["content"])


def _schema(body: Mapping[str, Any]) -> dict[str, Any] | None:
    form = body.get("output_config", {}).get("format") or body.get("response_format", {}).get("json_schema")
    return None if form is None else form["schema"]


def _check_schema(schema: Any) -> None:
    """As the providers do in strict mode: every field required, no other allowed, no ranges."""
    if isinstance(schema, list):
        for entry in schema:
            _check_schema(entry)
    if not isinstance(schema, dict):
        return
    if _UNSUPPORTED_KEYWORDS & schema.keys():
        _invalid(f"keywords {sorted(_UNSUPPORTED_KEYWORDS & schema.keys())} are not supported")
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False or set(schema["required"]) != set(schema["properties"]):
            _invalid("an object must be closed and all of its fields required")
        _check_schema(list(schema["properties"].values()))
    for name in ("items", "anyOf"):
        _check_schema(schema.get(name))


def _invalid(message: str) -> NoReturn:
    raise Refusal(400, "invalid_request_error", f"schema: {message}", "schema")


def _example(schema: Mapping[str, Any]) -> Any:
    """A value that fits the schema."""
    if "anyOf" in schema:
        return _example(schema["anyOf"][0])
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: _example(field) for name, field in schema["properties"].items()}
        case "string":
            return "The endpoint says so."
        case "number":
            return 0.5
        case "integer":
            return 1
        case "boolean":
            return True
        case "array":
            return []
    return None


def _system(body: Mapping[str, Any]) -> str:
    system = body.get("system")
    if system is None:
        return "\n".join(message["content"] for message in body["messages"] if message["role"] == "system")
    return system if isinstance(system, str) else "\n".join(block["text"] for block in system)


def _told(body: Mapping[str, Any]) -> str:
    return "\n".join([_system(body), *(m["content"] for m in body["messages"] if m["role"] != "system")])


def _count(text: str) -> int:
    """Tokens of a text, in a simple tokenizer of four characters each."""
    return 1 + len(text) // 4
