"""Each convention by its attributes: what a span is, and where its fields stand."""

import json
from typing import Any

import pytest

from sidemirror_server.telemetry_in.reading import span_of
from sidemirror_server.telemetry_in.spans import RawSpan, SpanKind


def read(attributes: dict[str, Any], *, exception: str = "", status: str = "", failed: bool = False) -> Any:
    raw = RawSpan("t", "s", "", "the span", 1_000, 2_000, failed, status, exception, attributes)
    return span_of(raw, with_content=True)


TOOLS: dict[str, dict[str, Any]] = {
    "GenAI": {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "sql",
        "gen_ai.tool.call.id": "c",
        "gen_ai.tool.call.arguments": '{"q": 1}',
        "gen_ai.tool.call.result": "17",
        "gen_ai.conversation.id": "s",
    },
    "GenAI with structured values": {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "sql",
        "gen_ai.tool.call.id": "c",
        "gen_ai.tool.call.arguments": {"q": 1},
        "gen_ai.tool.call.result": 17,
        "gen_ai.conversation.id": "s",
    },
    "OpenInference": {
        "openinference.span.kind": "TOOL",
        "tool.name": "sql",
        "tool_call.id": "c",
        "input.value": '{"q": 1}',
        "output.value": '{"type": "tool", "data": {"content": "17", "type": "tool"}}',
        "session.id": "s",
    },
    "OpenLLMetry": {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "sql",
        "gen_ai.tool.call.id": "c",
        "traceloop.entity.input": '{"input_str": "{\'q\': 1}", "tags": []}',
        "traceloop.entity.output": '{"output": {"lc": 1, "kwargs": {"content": "17", "type": "tool"}}}',
        "traceloop.association.properties.thread_id": "s",
    },
    "Vercel": {
        "ai.operationId": "ai.toolCall",
        "ai.toolCall.name": "sql",
        "ai.toolCall.id": "c",
        "ai.toolCall.args": '{"q": 1}',
        "ai.toolCall.result": "17",
        "ai.telemetry.metadata.sessionId": "s",
    },
}


@pytest.mark.parametrize("dialect", TOOLS)
def test_a_tool(dialect: str) -> None:
    span = read(TOOLS[dialect])
    assert (span.kind, span.name, span.call_id, span.session) == (SpanKind.TOOL, "sql", "c", "s")
    assert (span.arguments, span.text) == ('{"q": 1}', "17")


MODELS: dict[str, dict[str, Any]] = {
    "GenAI": {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "how many?"}]},'
        ' {"role": "user", "parts": [{"type": "tool_call_response", "id": "c", "response": "17"}]}]',
        "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "17"}]}]',
        "gen_ai.usage.input_tokens": 5,
        "gen_ai.usage.output_tokens": 2,
    },
    "OpenInference": {
        "openinference.span.kind": "LLM",
        "llm.input_messages.10.message.role": "user",
        "llm.input_messages.10.message.content": "how many?",
        "llm.input_messages.2.message.role": "user",
        "llm.input_messages.2.message.content": "earlier",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.contents.0.message_content.text": "17",
        "llm.token_count.prompt": 5,
        "llm.token_count.completion": 2,
    },
    "OpenLLMetry": {
        "llm.request.type": "chat",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "how many?",
        "gen_ai.completion.0.content": "17",
        "gen_ai.usage.prompt_tokens": 5,
        "gen_ai.usage.completion_tokens": 2,
    },
    "Vercel": {
        "ai.operationId": "ai.streamText.doStream",
        "ai.prompt.messages": '[{"role": "user", "content": [{"type": "text", "text": "how many?"}]}]',
        "ai.response.text": "17",
        "ai.usage.inputTokens": 5,
        "ai.usage.outputTokens": 2,
    },
}


@pytest.mark.parametrize("dialect", MODELS)
def test_a_model(dialect: str) -> None:
    span = read(MODELS[dialect])
    assert (span.kind, span.question, span.text) == (SpanKind.MODEL, "how many?", "17")
    assert (span.input_tokens, span.output_tokens) == (5, 2)


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"},
        {"openinference.span.kind": "AGENT", "agent.name": "a"},
        {"traceloop.span.kind": "workflow", "traceloop.entity.name": "a"},
        {"ai.operationId": "ai.generateText", "ai.telemetry.functionId": "a"},
    ],
)
def test_an_agent(attributes: dict[str, Any]) -> None:
    span = read(attributes)
    assert (span.kind, span.name) == (SpanKind.AGENT, "a")


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"gen_ai.operation.name": "create_agent"}, SpanKind.STEP),
        ({"gen_ai.operation.name": 7}, SpanKind.STEP),
        ({"openinference.span.kind": "CHAIN"}, SpanKind.STEP),
        ({"http.method": "GET"}, SpanKind.OTHER),
        ({}, SpanKind.OTHER),
    ],
)
def test_what_is_neither(attributes: dict[str, Any], kind: SpanKind) -> None:
    assert read(attributes).kind is kind


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"exception": "no such column", "status": "Traceback"}, "no such column"),
        ({"status": "it failed"}, "it failed"),
        ({}, "ValueError"),
    ],
)
def test_why_a_tool_failed(given: dict[str, str], told: str) -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "error.type": "ValueError"}
    assert read(attributes, failed=True, **given).text == told


GENAI_TOOL = ({"gen_ai.operation.name": "execute_tool", "error.type": "TOOL_ERROR"}, "gen_ai.tool.call.result")
OPENINFERENCE_TOOL = ({"openinference.span.kind": "TOOL"}, "output.value")


@pytest.mark.parametrize(
    "given", [{"exception": "quota exceeded", "status": "Traceback"}, {"status": "quota exceeded"}]
)
@pytest.mark.parametrize(
    ("result", "told"),
    [
        ("row row row", "quota exceeded\nrow row row"),
        ("quota exceeded", "quota exceeded"),
        ("Error: quota exceeded, 3 of 3", "Error: quota exceeded, 3 of 3"),
        ("exceeded", "quota exceeded"),
    ],
)
@pytest.mark.parametrize(("kind", "name"), [GENAI_TOOL, OPENINFERENCE_TOOL], ids=["GenAI", "OpenInference"])
def test_why_a_tool_failed_goes_before_its_result(
    kind: dict[str, str], name: str, result: str, told: str, given: dict[str, str]
) -> None:
    """Seen to fail: a result took the place of the status's description, and an exception that of the result."""
    assert read({**kind, name: result}, failed=True, **given).text == told


@pytest.mark.parametrize(
    "status",
    [
        "TOOL_ERROR",
        "Error running tool (non-fatal): {'tool_name': 'sql', 'error': 'Error details are redacted.'}",
        "{'message': 'Error running tool (non-fatal)', 'data': {'tool_name': 'sql', 'error': 'redacted'}}",
    ],
)
def test_a_description_of_any_failure_is_told_where_there_is_no_result(status: str) -> None:
    """Seen to fail when it goes before the result: OpenAI Agents' failures all read alike."""
    kind, name = GENAI_TOOL
    assert read({**kind, name: "no such table: orders"}, failed=True, status=status).text == "no such table: orders"
    assert read(kind, failed=True, status=status).text == status


@pytest.mark.parametrize("status", ["error", "success"])
def test_a_message_says_whether_its_call_failed(status: str) -> None:
    """As LangChain tells of a tool with `handle_tool_error`, whose span ends well."""
    message = json.dumps(
        {"type": "tool", "data": {"type": "tool", "content": "no such table: orders", "status": status}}
    )
    span = read({"openinference.span.kind": "TOOL", "tool.name": "run_sql", "output.value": message})
    assert (span.text, span.is_error) == ("no such table: orders", status == "error")
    empty = json.dumps({"type": "tool", "content": "", "status": status})
    assert not read({"openinference.span.kind": "TOOL", "tool.name": "run_sql", "output.value": empty}).text


@pytest.mark.parametrize("failed", [True, False])
@pytest.mark.parametrize(
    "says",
    [{True: {"status": "error"}, False: {"status": "success"}}, {True: {"isError": True}, False: {"isError": False}}],
)
def test_a_result_of_mcp_is_its_text(says: dict[bool, dict[str, Any]], failed: bool) -> None:
    """As LangChain's adapters of MCP have it, and as MCP does. Seen to fail when only a text is taken for content."""
    parts = [{"type": "text", "text": "no such table: orders", "id": "lc_1"}, {"type": "image", "data": "x"}]
    message = json.dumps({"content": parts, **says[failed]})
    span = read({"openinference.span.kind": "TOOL", "tool.name": "run_sql", "output.value": message})
    assert (span.text, span.is_error) == ("no such table: orders", failed)


@pytest.mark.parametrize(
    "result", [{"type": "page", "content": ["a", "b"]}, {"content": [{"type": "image"}], "isError": False}]
)
def test_a_result_without_a_text_of_its_own_stays_whole(result: dict[str, Any]) -> None:
    span = read({"openinference.span.kind": "TOOL", "tool.name": "read", "output.value": json.dumps(result)})
    assert json.loads(span.text) == result


@pytest.mark.parametrize(
    "result",
    [
        {"data": {"user": None}, "errors": [{"message": "not found"}]},
        {"data": {"content": "half of it", "type": "page"}, "errors": [{"message": "timed out"}]},
        {"output": "3 files", "exit_code": 1, "stderr": "permission denied"},
        {"kwargs": {"a": 1}, "error": "bad arguments"},
    ],
)
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ({"openinference.span.kind": "TOOL"}, "output.value"),
        ({"traceloop.span.kind": "tool"}, "traceloop.entity.output"),
    ],
    ids=["OpenInference", "OpenLLMetry"],
)
def test_what_a_result_says_beside_its_data_is_kept(result: dict[str, Any], kind: dict[str, str], name: str) -> None:
    """Seen to fail when any `output`, `kwargs` or `data` is taken for what wraps a result: its errors were lost."""
    assert json.loads(read({**kind, name: json.dumps(result)}).text) == result


@pytest.mark.parametrize(
    ("result", "text"),
    [({"output": "17", "kwargs": {"tags": []}}, "17"), ({"output": {"rows": 3}}, '{"rows": 3}'), ({"data": "x"}, "x")],
)
def test_what_only_wraps_a_result_is_left_out(result: dict[str, Any], text: str) -> None:
    assert read({"traceloop.span.kind": "tool", "traceloop.entity.output": json.dumps(result)}).text == text


def node(name: str, node: str) -> Any:
    """A run of LangChain's under OpenInference, which says AGENT because of its name."""
    said = {"openinference.span.kind": "AGENT", "metadata": json.dumps({"thread_id": "t", "langgraph_node": node})}
    return span_of(RawSpan("t", "s", "p", name, 1_000, 2_000, False, "", "", said), with_content=True)


def test_a_node_of_a_graph_is_no_agent() -> None:
    """Seen to fail when OpenInference's AGENT is always one: the usual node `agent` was a turn at each visit."""
    assert node("agent", "agent").kind is SpanKind.STEP
    assert node("Logging.before_agent", "Logging.before_agent").kind is SpanKind.STEP
    inner = node("researcher_agent", "tools")
    assert (inner.kind, inner.is_within) == (SpanKind.AGENT, True)


def test_a_kind_that_one_dialect_knows_counts() -> None:
    """Seen to fail when the first attribute decides, also where its value is not known."""
    said = {"gen_ai.operation.name": "run_tool", "traceloop.span.kind": "tool", "traceloop.entity.name": "sql"}
    assert read(said).kind is SpanKind.TOOL


def test_conversations_with_long_names_are_several() -> None:
    """Seen to fail when a name is cut to 100 characters: FindRecoveries with the whole name found none."""
    of = [read({"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "c" * 122 + end}) for end in ("1", "2")]
    assert [span.session for span in of] == ["c" * 122 + "1", "c" * 122 + "2"]
    longer = [read({"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "c" * 200 + end}) for end in ("1", "2")]
    assert len({span.session for span in longer}) == 2
    assert {len(span.session) for span in longer} == {123}


def test_a_secret_is_redacted_and_a_long_text_is_cut() -> None:
    secret = "sk-ant-api03-" + "a1B2" * 24
    span = read({**TOOLS["GenAI"], "gen_ai.tool.call.arguments": f'{{"key": "{secret}"}}'})
    assert secret not in span.arguments
    given = {"gen_ai.tool.call.arguments": {"password": "hunter2"}, "gen_ai.tool.call.result": "no hunter2"}
    assert read({**TOOLS["GenAI"], **given}).text == "no [redacted:value]"
    assert len(read({**TOOLS["GenAI"], "gen_ai.tool.call.result": "x" * 1_000_000}).text) < 33_000
    assert len(read({**TOOLS["GenAI"], "gen_ai.tool.name": "x" * 1_000}).name) == 100
