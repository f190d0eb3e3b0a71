"""From a span as it was sent to what is kept of it, by the dialects. Pure; runs in the decoder's process."""

import ast
import hashlib
import json
from typing import Any

import msgspec

from sidemirror_server.telemetry_in.dialects import first_of, is_of_any_failure, kind_of, names_of
from sidemirror_server.telemetry_in.messages import answer_in, decoded, gathered, last_question, text_of
from sidemirror_server.telemetry_in.spans import RawSpan, Span, SpanKind
from sidemirror_server.trace.given_secrets import GivenForms, enter_arguments
from sidemirror_server.vocabulary.text import enter_clipped

# In code points. Chosen here: four times what recoveries read of a result, and so little that an export of spans stays
# small; no name of a tool or an agent is as long; the id of a session has 128, `otlp:` among them.
_TEXT_CHARS = 32_000
_NAME_CHARS = 100
_SESSION_CHARS = 123
# Longer texts are not taken for a Python literal. Chosen here: some milliseconds.
_LITERAL_CHARS = 64_000
_LARGEST = 2**53
# Fields that messages have beside their content: LangChain's, and results of MCP.
_OF_MESSAGES = frozenset(("type", "tool_call_id", "status", "isError"))
# What wraps a result, the outermost first, and what LangChain writes beside it.
_WRAPPERS = ("output", "kwargs", "data")
_BESIDE = frozenset((*_WRAPPERS, "graph", "id", "lc", "metadata", "name", "repr", "tags", "type"))


def span_of(raw: RawSpan, *, with_content: bool) -> Span:
    """What is kept of a span. Without content: no arguments, no results, no messages and no texts of errors."""
    attributes, kind = raw.attributes, kind_of(raw.attributes)
    start_us, end_us = raw.start_ns // 1000, max(raw.start_ns, raw.end_ns) // 1000
    node = _node(first_of(attributes, "graph")) if kind is SpanKind.AGENT else ""
    if node and node == raw.name:
        kind = SpanKind.STEP
    session = _session(first_of(attributes, "session"))
    if kind in (SpanKind.OTHER, SpanKind.STEP):
        return Span(raw.span_id, raw.parent_id, kind, start_us, end_us, raw.is_error, session=session)
    span = Span(
        *(raw.span_id, raw.parent_id, kind, start_us, end_us, raw.is_error or _tells_error(raw, kind)),
        name=_name(first_of(attributes, "tool" if kind is SpanKind.TOOL else "agent")) or _name(raw.name),
        call_id=_name(first_of(attributes, "call_id")),
        session=session,
        input_tokens=_count(first_of(attributes, "input_tokens")),
        output_tokens=_count(first_of(attributes, "output_tokens")),
        is_within=bool(node),
    )
    return _with_content(span, raw) if with_content else span


def _node(value: Any) -> str:
    """The node of LangGraph's in which a span lies; empty if none. OpenInference says AGENT of every run of LangChain's
    whose name has "agent" in it: the node `agent` of a graph is none, and an agent in a node is not the outermost."""
    found = decoded(value)
    node = found.get("langgraph_node") if isinstance(found, dict) else None
    return node if isinstance(node, str) else ""


def _with_content(span: Span, raw: RawSpan) -> Span:
    if span.kind is SpanKind.TOOL:
        arguments, given = _arguments(first_of(raw.attributes, "arguments"))
        return msgspec.structs.replace(span, arguments=arguments, text=_entered(_outcome(raw), given))
    question, answer = _question(raw.attributes), _answer(raw.attributes)
    return msgspec.structs.replace(span, question=_entered(question), text=_entered(answer))


def _outcome(raw: RawSpan) -> str:
    """What a tool returned, or why it failed with what it returned. An exception's message says more than the status,
    which may hold a traceback. What a framework says of every failure is told only where nothing else is."""
    result = _result(first_of(raw.attributes, "result"))
    if not raw.is_error:
        return result
    kind = _text(first_of(raw.attributes, "error_type"))
    says_why = raw.status_message != kind and not is_of_any_failure(raw.status_message)
    failure = raw.exception or (raw.status_message if says_why or not result else "") or ("" if result else kind)
    if failure in result or result in failure:
        return max(failure, result, key=len)
    return f"{failure}\n{result}"


def _tells_error(raw: RawSpan, kind: SpanKind) -> bool:
    """Whether a tool's result is a message that says that the call failed. LangChain's `handle_tool_error` makes one of
    what the tool has raised, and tools of MCP answer with one; their spans end well."""
    if kind is not SpanKind.TOOL:
        return False
    result = _unwrapped(first_of(raw.attributes, "result"))
    if not isinstance(result, dict) or not _is_message(result):
        return False
    return result.get("status") == "error" or result.get("isError") is True


def _result(value: Any) -> str:
    """A result without what frameworks wrap around it: the content of a message object."""
    result = _unwrapped(value)
    if not isinstance(result, dict) or not _is_message(result):
        return _text(result)
    content = result["content"]
    return content if isinstance(content, str) else text_of(result) or _text(result)


def _unwrapped(value: Any) -> Any:
    """A result without what frameworks wrap around it: `{"output": …}`, and what a message object is stored in. An
    object that says anything else is the tool's own, such as `{"output": …, "exit_code": 1}`, or `{"data": …, "errors":
    […]}` of GraphQL."""
    found, whole = decoded(value), value
    for _ in range(3):
        if not isinstance(found, dict) or _is_message(found):
            break
        inner = next((found[name] for name in _WRAPPERS if name in found), None)
        if not isinstance(inner, dict | str) or not found.keys() <= _BESIDE:
            break
        # Without a message in it, only a wrapper that holds nothing else is one.
        whole = inner if found.keys() <= set(_WRAPPERS) else whole
        found = inner
    return found if isinstance(found, dict) and _is_message(found) else whole


def _is_message(found: dict[str, Any]) -> bool:
    """Whether it is a message of a framework's, or a result of MCP. Its content is a text, or a list of parts."""
    content = found.get("content")
    is_parts = isinstance(content, list) and all(isinstance(part, dict) and "type" in part for part in content)
    return (is_parts or isinstance(content, str)) and bool(found.keys() & _OF_MESSAGES)


def _arguments(value: Any) -> tuple[str, GivenForms]:
    """A call's arguments, as JSON where they are an object, and their secrets, which its result may repeat. LangChain
    under OpenLLMetry has them as a Python literal within `input_str`."""
    found = decoded(value)
    if isinstance(found, dict) and isinstance(found.get("input_str"), str):
        value = _literal(found["input_str"])
    return enter_arguments(_text(value), _TEXT_CHARS)


def _literal(text: str) -> str:
    """A Python literal as JSON; another text, and a literal that JSON has no form for, as it is."""
    if not text.startswith("{") or len(text) > _LITERAL_CHARS or decoded(text) is not None:
        return text
    try:
        return json.dumps(ast.literal_eval(text), ensure_ascii=False, default=str)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def _question(attributes: dict[str, Any]) -> str:
    for name in names_of("inputs"):
        messages = gathered(attributes, name) if name.endswith(".") else attributes.get(name)
        if messages and (question := last_question(messages)):
            return question
    return ""


def _answer(attributes: dict[str, Any]) -> str:
    for name in names_of("outputs"):
        messages = gathered(attributes, name) if name.endswith(".") else attributes.get(name)
        if messages and (answer := answer_in(messages)):
            return answer
    return _text(first_of(attributes, "answer"))


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return ""


def _entered(text: str, given: GivenForms = ()) -> str:
    """A text as it is kept: without secrets, and cut."""
    return enter_clipped(text, _TEXT_CHARS, given)


def _name(value: Any) -> str:
    """A name or an id: printable, and no longer than ids may be."""
    return _printable(_entered(_text(value))[:_NAME_CHARS])


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(character for character in text if character.isprintable())


def _session(value: Any) -> str:
    """A conversation. Of a longer name than an id of a session has room for, its beginning and a digest of all."""
    text = _printable(_entered(_text(value)))
    if len(text) <= _SESSION_CHARS:
        return text
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{text[: _SESSION_CHARS - len(digest) - 1]}~{digest}"


def _count(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    # A truth value is no number, and is none of JSON's either.
    return value if type(value) is int and 0 <= value < _LARGEST else 0
