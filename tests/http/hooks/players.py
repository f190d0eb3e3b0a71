"""Agents of every host, as their hooks tell of them. The payloads have the fields that Codex 0.169 and Gemini CLI 0.61
sent when they were run, that OpenHands' types have (openhands-sdk 1.58), and that Claude Code and Cursor document."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from tests.http.callers import Answer, bearing, request
from tests.http.sidecars import token_of

Json = dict[str, Any]


class Door(Protocol):
    """Where a sidecar's door is, and the folder that holds its data."""

    @property
    def folder(self) -> Path: ...

    @property
    def http_port(self) -> int: ...


def post(server: Door, host: str, body: bytes, headers: Mapping[str, str] | None = None) -> Answer:
    """One hook's request, with the door's own token unless the headers have another."""
    own = {} if headers and "authorization" in headers else bearing(token_of(server.folder / "data"))
    given = {**own, "sidemirror-timeout-ms": "20000", **(headers or {})}
    return request(server.http_port, f"/hooks/{host}", body, given)


class Player(ABC):
    """One agent in a session. Each verb sends what the host would, and returns the answer's JSON, {} for an empty
    one."""

    host = ""
    # Whether words reach the agent at the end of a call that has failed, and of any call.
    hears_at_failures = True
    hears_at_tools = True

    def __init__(self, server: Door, session: str, folder: Path, agent: str = "", *, token: str = "") -> None:
        """`token`: of the access file; empty: the door's own."""
        self._headers = bearing(token) if token else {}
        self._server = server
        self.session = session
        self.folder = folder
        self.agent = agent
        self._numbers = count(1)
        self.number = 0

    def asks(self, prompt: str) -> Json:
        """The user sends a prompt; the host begins a turn."""
        self.number = next(self._numbers)
        return self.sends(self.asked(prompt))

    def runs(self, command: str, output: str = "", code: int = 0) -> Json:
        """A shell command ends."""
        return self.sends(self.ran(command, output, code))

    def answers(self, text: str, *, again: bool = False) -> Json:
        """The agent wants to end its turn."""
        said: Json = {}
        for payload in self.answered(text, again=again):
            said = self.sends(payload)
        return said

    def sends(self, payload: Json) -> Json:
        answer = post(self._server, self.host, json.dumps(payload).encode(), self._headers)
        assert answer.status == 200
        return dict(answer.json) if answer.body else {}

    @abstractmethod
    def common(self, event: str) -> Json:
        """What every event of this name has."""

    @abstractmethod
    def asked(self, prompt: str) -> Json: ...

    @abstractmethod
    def ran(self, command: str, output: str, code: int) -> Json: ...

    @abstractmethod
    def answered(self, text: str, *, again: bool) -> list[Json]: ...

    @abstractmethod
    def heard(self, answer: Json) -> str:
        """The text that an answer brings to the agent; empty if none. An answer of another form fails."""

    @abstractmethod
    def sent_back(self, answer: Json) -> str:
        """The prompt with which an answer sends the agent back; empty if it does not."""


class _LikeClaude(Player):
    def common(self, event: str) -> Json:
        return {
            "session_id": self.session,
            "transcript_path": None,
            "cwd": str(self.folder),
            "permission_mode": "default",
            "hook_event_name": event,
        }

    def heard(self, answer: Json) -> str:
        if not answer:
            return ""
        assert list(answer) == ["hookSpecificOutput"]
        assert set(answer["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
        return str(answer["hookSpecificOutput"]["additionalContext"])

    def sent_back(self, answer: Json) -> str:
        if not answer:
            return ""
        assert (set(answer), answer["decision"]) == ({"decision", "reason"}, "block")
        return str(answer["reason"])


class ClaudeCode(_LikeClaude):
    host = "claude-code"

    def common(self, event: str) -> Json:
        more = {"agent_id": self.agent, "agent_type": "general-purpose"} if self.agent else {}
        own = {"prompt_id": f"{self.session}-p{self.number}", "transcript_path": "/home/ada/.claude/s.jsonl"}
        return super().common(event) | own | more

    def asked(self, prompt: str) -> Json:
        return self.common("UserPromptSubmit") | {"prompt": prompt}

    def ran(self, command: str, output: str, code: int) -> Json:
        tool = {"tool_name": "Bash", "tool_use_id": f"toolu_{self.session}{self.agent}{next(self._numbers)}"}
        tool["tool_input"] = {"command": command, "description": "looks something up"}  # type: ignore[assignment]  # JSON
        if code:
            return self.common("PostToolUseFailure") | tool | {"error": f"Exit code {code}\n{output}"}
        response = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        return self.common("PostToolUse") | tool | {"tool_response": response}

    def answered(self, text: str, *, again: bool) -> list[Json]:
        return [self.common("Stop") | {"stop_hook_active": again, "last_assistant_message": text}]


class Codex(_LikeClaude):
    host = "codex"

    def common(self, event: str) -> Json:
        folder = self.folder / ".codex-sessions"
        folder.mkdir(exist_ok=True)
        path = folder / f"rollout-2026-11-23T01-35-13-{self.session}.jsonl"
        more = {"model": "scripted", "turn_id": f"{self.session}-t{self.number}", "transcript_path": str(path)}
        return super().common(event) | more

    def asked(self, prompt: str) -> Json:
        return self.common("UserPromptSubmit") | {"prompt": prompt}

    def ran(self, command: str, output: str, code: int) -> Json:
        call_id = f"call_{self.session}{next(self._numbers)}"
        payload = self.common("PostToolUse")
        status = "failed" if code else "completed"
        item = {"type": "CommandExecution", "id": call_id, "status": status, "exit_code": code}
        line = {"type": "event_msg", "payload": {"type": "item_completed", "item": item}}
        with Path(payload["transcript_path"]).open("a") as file:
            file.write(json.dumps(line) + "\n")
        tool = {"tool_name": "Bash", "tool_use_id": call_id, "tool_input": {"command": command}}
        return payload | tool | {"tool_response": output}

    def answered(self, text: str, *, again: bool) -> list[Json]:
        return [self.common("Stop") | {"stop_hook_active": again, "last_assistant_message": text}]


class GeminiCli(Player):
    host = "gemini-cli"

    def common(self, event: str) -> Json:
        return {
            "session_id": self.session,
            "transcript_path": "",
            "cwd": str(self.folder),
            "hook_event_name": event,
            "timestamp": f"2026-11-23T01:35:39.{next(self._numbers):03}Z",
        }

    def asked(self, prompt: str) -> Json:
        return self.common("BeforeAgent") | {"prompt": prompt}

    def ran(self, command: str, output: str, code: int) -> Json:
        exited = f"\nExit Code: {code}" if code else ""
        text = f"<untrusted_context>\nOutput: {output}{exited}\nProcess Group PGID: 17\n</untrusted_context>"
        tool = {"tool_name": "run_shell_command", "tool_input": {"command": command, "description": "looks"}}
        return self.common("AfterTool") | tool | {"tool_response": {"llmContent": text, "returnDisplay": output}}

    def answered(self, text: str, *, again: bool) -> list[Json]:
        told = {"prompt": "as asked", "prompt_response": text, "stop_hook_active": again}
        return [self.common("AfterAgent") | told]

    def heard(self, answer: Json) -> str:
        return _LikeClaude.heard(self, answer)  # type: ignore[arg-type]  # the same form

    def sent_back(self, answer: Json) -> str:
        if not answer:
            return ""
        assert (set(answer), answer["decision"]) == ({"decision", "reason"}, "deny")
        return str(answer["reason"])


class Cursor(Player):
    host = "cursor"
    hears_at_failures = False

    def common(self, event: str) -> Json:
        return {
            "conversation_id": self.session,
            "generation_id": f"{self.session}-g{self.number}",
            "model": "scripted",
            "hook_event_name": event,
            "cursor_version": "3.7.21",
            "workspace_roots": [str(self.folder)],
            "user_email": None,
        }

    def asked(self, prompt: str) -> Json:
        return self.common("beforeSubmitPrompt") | {"prompt": prompt, "attachments": []}

    def ran(self, command: str, output: str, code: int) -> Json:
        tool = {"tool_name": "Shell", "tool_input": {"command": command}, "cwd": str(self.folder), "duration": 12}
        tool["tool_use_id"] = f"{self.session}-c{next(self._numbers)}"
        if code:
            failed = {"error_message": output, "failure_type": "error", "is_interrupt": False}
            return self.common("postToolUseFailure") | tool | failed
        told = json.dumps({"exitCode": 0, "stdout": output})
        return self.common("postToolUse") | tool | {"tool_output": told}

    def answered(self, text: str, *, again: bool) -> list[Json]:
        stop = self.common("stop") | {"status": "completed", "loop_count": int(again)}
        return [self.common("afterAgentResponse") | {"text": text}, stop]

    def heard(self, answer: Json) -> str:
        assert set(answer) <= {"additional_context"}
        return str(answer.get("additional_context", ""))

    def sent_back(self, answer: Json) -> str:
        assert set(answer) <= {"followup_message"}
        return str(answer.get("followup_message", ""))


class OpenHands(Player):
    host = "openhands"
    hears_at_failures = False
    hears_at_tools = False

    def common(self, event: str) -> Json:
        return {
            "event_type": event,
            "tool_name": None,
            "tool_input": None,
            "tool_response": None,
            "message": None,
            "session_id": self.session,
            "working_dir": str(self.folder),
            "metadata": {},
        }

    def asked(self, prompt: str) -> Json:
        return self.common("UserPromptSubmit") | {"message": prompt}

    def ran(self, command: str, output: str, code: int) -> Json:
        response = {"content": [{"type": "text", "text": output}], "is_error": False, "command": command}
        tool = {"tool_name": "terminal", "tool_input": {"command": command, "is_input": False, "timeout": None}}
        return self.common("PostToolUse") | tool | {"tool_response": response | {"exit_code": code, "timeout": False}}

    def answered(self, text: str, *, again: bool) -> list[Json]:
        finish = {"tool_name": "finish", "tool_input": {"message": text}, "tool_response": {"content": []}}
        stop = self.common("Stop") | {"metadata": {"reason": "agent_finished"}}
        return [self.common("PostToolUse") | finish, stop]

    def heard(self, answer: Json) -> str:
        assert set(answer) <= {"additionalContext"}
        return str(answer.get("additionalContext", ""))

    def sent_back(self, answer: Json) -> str:
        if not answer:
            return ""
        assert (set(answer), answer["decision"]) == ({"decision", "reason"}, "deny")
        return str(answer["reason"])


PLAYERS: tuple[type[Player], ...] = (ClaudeCode, Codex, GeminiCli, Cursor, OpenHands)
