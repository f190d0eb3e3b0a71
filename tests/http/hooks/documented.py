"""What Claude Code and Cursor document of their hooks: a payload of every event, and which fields an answer may have.

Neither host can be run by these tests. The fields are those of code.claude.com/docs/en/hooks (2.1.274) and
cursor.com/docs/hooks, as they stood in the autumn of 2026; the values are ours.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from sidemirror_server.http.hooks.hosts.happening import AnswerGiven, CallEnded, HostLeft, Prompted, SaidByAgent, What

Json = dict[str, Any]


class Documented(NamedTuple):
    """One event of a host, without the fields that all have. `means`: what it tells; None if nothing is recorded.
    `takes`: the fields that an answer may have."""

    event: str
    payload: Json
    means: What | None = None
    takes: tuple[str, ...] = ()


CLAUDE_COMMON: Json = {
    "session_id": "7be0",
    "prompt_id": "3f1c9d52-8a44-4b0e-9f6d-0b1d2c3e4f50",
    "transcript_path": "/home/ada/.claude/projects/shop/7be0.jsonl",
    "cwd": "/home/ada/shop",
    "permission_mode": "default",
    "effort": {"level": "high"},
}
_CONTEXT = ("hookSpecificOutput",)
_BLOCK = ("decision", "reason")
_BASH: Json = {"command": "make test", "description": "Run the tests", "timeout": 60000, "run_in_background": False}


def _claude_ran(tool: str, given: Json, response: Any, result: str) -> Documented:
    arguments = given.get("command")
    call = {"tool_name": tool, "tool_use_id": f"toolu_{tool}", "tool_input": given, "duration_ms": 12}
    means = CallEnded(f"toolu_{tool}", tool, arguments or _json(given), result, failed=False)
    return Documented("PostToolUse", call | {"tool_response": response}, means, (*_CONTEXT, *_BLOCK))


def _claude_failed(tool: str, error: str, **more: Any) -> Documented:
    call = {"tool_name": tool, "tool_use_id": f"toolu_{tool}", "tool_input": _BASH, "duration_ms": 12}
    means = None if more.get("is_interrupt") else CallEnded(f"toolu_{tool}", tool, _BASH["command"], error, failed=True)
    return Documented("PostToolUseFailure", call | {"error": error} | more, means, _CONTEXT)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_WRITTEN: Json = {
    "type": "create",
    "filePath": "/home/ada/shop/a.txt",
    "content": "a",
    "structuredPatch": [],
    "originalFile": None,
}
_READ = {
    "type": "text",
    "file": {"filePath": "/home/ada/shop/a.txt", "content": "a", "numLines": 1, "startLine": 1, "totalLines": 1},
}
_BLOCKS = [{"type": "text", "text": "three orders"}]

_SWITCH: Json = {
    "from_model": "small",
    "to_model": "large",
    "requested_model": None,
    "source": "picker",
    "context_tokens": 9000,
    "prompt_cache_warm": True,
    "cache_ttl": "5m",
    "estimated_cache_write_usd": 0.01,
    "pricing": "catalog",
}

CLAUDE_CODE = (
    Documented("SessionStart", {"source": "resume", "model": "large"}, None, _CONTEXT),
    Documented("Setup", {"trigger": "init"}, None, _CONTEXT),
    Documented("InstructionsLoaded", {"file_path": "/a/CLAUDE.md", "memory_type": "User", "load_reason": "compact"}),
    Documented("UserPromptSubmit", {"prompt": "Run the tests"}, Prompted("Run the tests"), (*_CONTEXT, *_BLOCK)),
    Documented(
        "UserPromptExpansion",
        {"expansion_type": "slash_command", "command_name": "x", "command_args": "y", "prompt": "/x y"},
    ),
    Documented("PreToolUse", {"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": _BASH}),
    Documented("PermissionRequest", {"tool_name": "Bash", "tool_input": _BASH, "permission_suggestions": []}),
    Documented("PermissionDenied", {"tool_name": "Bash", "tool_input": _BASH, "tool_use_id": "t", "reason": "[no]"}),
    _claude_ran("Bash", _BASH, {"stdout": "ok", "stderr": "", "interrupted": False, "isImage": False}, "ok"),
    _claude_ran("Bash", _BASH, {"stdout": "ok", "stderr": "note", "interrupted": False, "isImage": False}, "ok\nnote"),
    _claude_ran("Write", {"file_path": "/home/ada/shop/a.txt", "content": "a"}, _WRITTEN, _json(_WRITTEN)),
    _claude_ran("Read", {"file_path": "/home/ada/shop/a.txt"}, _READ, _json(_READ)),
    _claude_ran("mcp__shop__orders", {"state": "open"}, _BLOCKS, _json(_BLOCKS)),
    _claude_failed("Bash", "Exit code 2\nmake: *** No rule to make target 'test'.  Stop.", is_interrupt=False),
    _claude_failed("PowerShell", "Exit code 1\nmake: nothing here", is_interrupt=False),
    _claude_failed("Bash", "Exit code 143\nCommand timed out after 2m 0s\ncollecting"),
    _claude_failed("Bash", "the shell cannot be started"),
    _claude_failed("mcp__shop__orders", "the shop is closed", mcp_server={"name": "shop", "source": "user"}),
    _claude_failed("Bash", "Request was aborted", is_interrupt=True),
    Documented("PostToolBatch", {"tool_calls": [{"tool_name": "Read", "tool_input": {}, "tool_use_id": "t"}]}),
    Documented("Notification", {"message": "Waiting", "title": "Claude", "notification_type": "idle_prompt"}),
    Documented("MessageDisplay", {"turn_id": "t", "message_id": "m", "index": 0, "final": True, "delta": "Hi\n"}),
    Documented("SubagentStart", {"agent_id": "def456", "agent_type": "Explore"}, None, _CONTEXT),
    Documented(
        "SubagentStop",
        {
            "stop_hook_active": False,
            "agent_id": "def456",
            "agent_type": "Explore",
            "agent_transcript_path": "/home/ada/.claude/projects/shop/7be0/subagents/agent-def456.jsonl",
            "last_assistant_message": "Found it.",
            "background_tasks": [],
            "session_crons": [],
        },
        HostLeft(),
        (*_CONTEXT, *_BLOCK),
    ),
    Documented("TaskCreated", {"task_id": "1", "task_subject": "a", "task_description": "b"}),
    Documented("TaskCompleted", {"task_id": "1", "task_subject": "a", "teammate_name": "c", "team_name": "d"}),
    Documented("TeammateIdle", {"teammate_name": "c", "team_name": "d"}),
    Documented("ConfigChange", {"source": "user_settings", "file_path": "/a"}),
    Documented("CwdChanged", {"old_cwd": "/a", "new_cwd": "/b"}),
    Documented("FileChanged", {"file_path": "/a", "event": "change"}),
    Documented("DirectoryAdded", {"directory": "/b", "source": "slash_command"}),
    Documented("WorktreeCreate", {"name": "a"}),
    Documented("WorktreeRemove", {"worktree_path": "/a"}),
    Documented("Elicitation", {"mcp_server_name": "shop", "message": "Which?", "mode": "form", "requested_schema": {}}),
    Documented("ElicitationResult", {"mcp_server_name": "shop", "action": "accept", "content": {}}),
    Documented("PreModelSwitch", _SWITCH),
    Documented("PostModelSwitch", _SWITCH),
    Documented("PreCompact", {"trigger": "manual", "custom_instructions": ""}),
    Documented("PostCompact", {"trigger": "auto", "compact_summary": "a"}),
    Documented(
        "Stop",
        {
            "stop_hook_active": True,
            "last_assistant_message": "All tests pass.",
            "background_tasks": [{"id": "1", "type": "shell", "status": "running", "description": "a", "command": "b"}],
            "session_crons": [{"id": "1", "schedule": "0 9 * * *", "recurring": True, "prompt": "look"}],
        },
        AnswerGiven("All tests pass.", again=True),
        (*_CONTEXT, *_BLOCK),
    ),
    Documented("StopFailure", {"error": "rate_limit", "error_details": "429", "last_assistant_message": "API Error"}),
    Documented("SessionEnd", {"reason": "prompt_input_exit"}, HostLeft()),
)

CURSOR_COMMON: Json = {
    "conversation_id": "9ac1",
    "generation_id": "17d2",
    "model": "large-thinking",
    "model_id": "large",
    "model_params": [{"id": "effort", "value": "high"}],
    "cursor_version": "3.7.21",
    "workspace_roots": ["/home/ada/shop"],
    "user_email": None,
    "transcript_path": None,
}
_SHELL: Json = {"tool_name": "Shell", "tool_use_id": "s1", "cwd": "/home/ada/shop", "duration": 12}
_SHELL["tool_input"] = {"command": "make test", "working_directory": "/home/ada/shop"}


def _cursor_ran(output: str, result: str, *, failed: bool = False) -> Documented:
    means = CallEnded("s1", "Shell", "make test", result, failed)
    return Documented("postToolUse", _SHELL | {"tool_output": output}, means, ("additional_context",))


def _cursor_failed(message: str, kind: str, *, is_interrupt: bool = False) -> Documented:
    recorded = not is_interrupt and kind != "permission_denied"
    means = CallEnded("s1", "Shell", "make test", message, failed=True) if recorded else None
    told = {"error_message": message, "failure_type": kind, "is_interrupt": is_interrupt}
    # It has no output fields.
    return Documented("postToolUseFailure", _SHELL | told, means)


_EDIT = {"old_string": "a", "new_string": "b"}
_TASK = {"subagent_type": "explore", "task": "Look around"}

CURSOR = (
    Documented("sessionStart", {"session_id": "9ac1", "is_background_agent": False, "composer_mode": "agent"}),
    Documented("workspaceOpen", {}),
    Documented("beforeSubmitPrompt", {"prompt": "Run the tests", "attachments": []}, Prompted("Run the tests")),
    Documented("preToolUse", _SHELL | {"agent_message": "Testing"}),
    Documented("beforeShellExecution", {"command": "make test", "cwd": "/home/ada/shop", "sandbox": False}),
    Documented("afterShellExecution", {"command": "make test", "output": "ok", "duration": 12, "sandbox": False}),
    Documented("beforeMCPExecution", {"tool_name": "orders", "tool_input": "{}", "command": "shop"}),
    Documented("afterMCPExecution", {"tool_name": "orders", "tool_input": "{}", "result_json": "{}", "duration": 1}),
    Documented("beforeReadFile", {"file_path": "/a", "content": "a", "attachments": []}),
    Documented("afterFileEdit", {"file_path": "/a", "edits": [_EDIT]}),
    Documented("beforeTabFileRead", {"file_path": "/a", "content": "a"}),
    Documented("afterTabFileEdit", {"file_path": "/a", "edits": [_EDIT | {"old_line": "a", "new_line": "b"}]}),
    _cursor_ran('{"exitCode":0,"stdout":"ok"}', "ok"),
    _cursor_ran('{"exitCode":2,"stdout":"no target","stderr":"make: stop"}', "no target\nmake: stop", failed=True),
    _cursor_ran("plain words", "plain words"),
    _cursor_failed("Command timed out after 30s", "timeout"),
    _cursor_failed("the shell cannot be started", "error"),
    _cursor_failed("not allowed", "permission_denied"),
    _cursor_failed("stopped", "error", is_interrupt=True),
    Documented("subagentStart", _TASK | {"subagent_id": "a1", "parent_conversation_id": "9ac1", "tool_call_id": "t"}),
    Documented("subagentStop", _TASK | {"status": "completed", "summary": "Looked", "loop_count": 0}),
    Documented("preCompact", {"trigger": "auto", "context_usage_percent": 85, "message_count": 30}),
    Documented("afterAgentThought", {"text": "Maybe", "duration_ms": 5}),
    Documented("afterAgentResponse", {"text": "All tests pass."}, SaidByAgent("All tests pass.")),
    Documented("stop", {"status": "completed", "loop_count": 1}, AnswerGiven("", again=True), ("followup_message",)),
    Documented("stop", {"status": "aborted", "loop_count": 0}, HostLeft(), ("followup_message",)),
    Documented("stop", {"status": "error", "loop_count": 0}, HostLeft(), ("followup_message",)),
    Documented("sessionEnd", {"session_id": "9ac1", "reason": "user_close", "duration_ms": 5}, HostLeft()),
)

DOCUMENTED: Mapping[str, tuple[Json, tuple[Documented, ...]]] = {
    "claude-code": (CLAUDE_COMMON, CLAUDE_CODE),
    "cursor": (CURSOR_COMMON, CURSOR),
}
