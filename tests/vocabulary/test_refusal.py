"""A call that a person refused, and failures that are none."""

import pytest

from sidemirror_server.vocabulary.refusal import is_refusal


@pytest.mark.parametrize(
    "text",
    [
        # What frameworks write: the AI SDK, the OpenAI Agents SDK, Pydantic AI, LangChain (two), Google ADK (as JSON
        # and as Python writes it), Claude Code, Codex (two), Gemini CLI (two).
        "Tool execution denied.",
        "Tool execution was not approved.",
        "The tool call was denied.",
        "User rejected the tool call for `pay` with id call_1",
        "User rejected the tool call for `pay` with reason: not this month",
        '{"error": "This tool call is rejected."}',
        "{'error': 'This tool call is rejected.'}",
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit",
        "exec command rejected by user",
        "user cancelled MCP tool call",
        "[Operation Cancelled] Reason: User denied execution.",
        "[Operation Cancelled] User cancelled tool execution.",
        # What our adapter for the AI SDK reports, and what others write.
        "Tool execution denied: not this month",
        '{"type": "execution-denied", "reason": "No."}',
        "Declined by a reviewer: over the limit",
    ],
)
def test_a_refusal(text: str) -> None:
    assert is_refusal(text)
    assert is_refusal(f"  {text}\nmore")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "denied",
        "Permission denied",
        "Access denied for user 'bob'@'localhost'",
        "Request denied: quota exceeded",
        "pull access denied for registry/foo",
        "Payment rejected: insufficient funds",
        "Card declined by the issuer",
        "The user declined the invitation.",
        "The user cancelled order 77",
        "User denied permission to use the location",
        "Tool failed: denied",
        "Tool call rejected: invalid arguments",
        "tool not found",
        "! [rejected] main -> main (fetch first)",
        "Two tool calls were denied by the user before",
    ],
)
def test_no_refusal(text: str) -> None:
    assert not is_refusal(text)
