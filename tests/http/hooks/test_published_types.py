"""What is played of Claude Code is what it publishes: payloads and answers have the types of its Agent SDK (npm)."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.http.hooks.hosts.happening import CallEnded, Prompted
from sidemirror_server.http.hooks.sentences import revision_prompt
from sidemirror_server.http.hooks.table import HOSTS
from tests.http.hooks.documented import CLAUDE_CODE, CLAUDE_COMMON
from tests.http.hooks.hosts import HOSTS_FOLDER, installed
from tests.http.hooks.players import ClaudeCode

pytestmark = pytest.mark.slow("a compiler of npm runs")

TYPES = HOSTS_FOLDER / "types"
HEAD = """\
import type { HookInput, SyncHookJSONOutput } from "@anthropic-ai/claude-agent-sdk";
import type { BashOutput, FileReadOutput, FileWriteOutput } from "@anthropic-ai/claude-agent-sdk/sdk-tools";
type Of<Event> = Extract<HookInput, { hook_event_name: Event }>;
type Named = HookInput["hook_event_name"];
"""
OUTPUTS = {"Bash": "BashOutput", "Read": "FileReadOutput", "Write": "FileWriteOutput"}


def typed(payloads: list[dict[str, Any]]) -> list[str]:
    """TypeScript that is compiled only if each payload has exactly the fields of its event's type."""
    lines = []
    for payload in payloads:
        lines.append(f"({json.dumps(payload)}) satisfies Of<{json.dumps(payload['hook_event_name'])}>;")
        output = OUTPUTS.get(payload.get("tool_name", ""))
        if output and "tool_response" in payload:
            lines.append(f"({json.dumps(payload['tool_response'])}) satisfies {output};")
    return lines


def compiled(lines: list[str], folder: Path) -> str:
    """What the compiler says of a module; empty if it has no error."""
    program = installed(TYPES / "node_modules" / ".bin" / "tsc", "the types of Claude Code")
    (folder / "node_modules").symlink_to(TYPES / "node_modules")
    (folder / "played.ts").write_text(HEAD + "\n".join(lines))
    flags = ("--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022")
    ran = subprocess.run((program, *flags, "played.ts"), cwd=folder, capture_output=True, text=True, check=False)
    return ran.stdout


def test_every_published_event_is_documented_here_and_has_its_type(tmp_path: Path) -> None:
    player: Any = ClaudeCode(None, "s", tmp_path)  # type: ignore[arg-type]  # nothing is sent
    helper: Any = ClaudeCode(None, "s", tmp_path, agent="a1")  # type: ignore[arg-type]  # as above
    played = [
        player.asked("Task"),
        player.ran("true", "fine", 0),
        helper.ran("false", "no", 1),
        *player.answered("Done.", again=False),
    ]
    documented = [CLAUDE_COMMON | {"hook_event_name": one.event} | one.payload for one in CLAUDE_CODE]
    names = " | ".join(json.dumps(one.event) for one in CLAUDE_CODE)
    whole = [f"null as unknown as Named satisfies {names};", f"null as unknown as ({names}) satisfies Named;"]
    assert compiled([*whole, *typed(played + documented)], tmp_path) == ""


def test_every_answer_has_its_type(tmp_path: Path) -> None:
    host = HOSTS["claude-code"]
    events = {one.event for one in CLAUDE_CODE if isinstance(one.means, Prompted | CallEnded)}
    said = [host.sent_back(revision_prompt(1)), *(host.told(event, "words") for event in sorted(events))]
    assert len(said) == 4
    lines = [f"({json.dumps(one)}) satisfies SyncHookJSONOutput;" for one in said]
    assert compiled(lines, tmp_path) == ""


@pytest.mark.parametrize(
    "line",
    [
        *typed([CLAUDE_COMMON | {"hook_event_name": "UserPromptSubmit", "text": "another name of the prompt"}]),
        '({"hookSpecificOutput": {"hookEventName": "PostToolUse", "context": "a"}}) satisfies SyncHookJSONOutput;',
        '({"decision": "deny", "reason": "a"}) satisfies SyncHookJSONOutput;',
    ],
)
def test_another_form_is_noticed(line: str, tmp_path: Path) -> None:
    assert "error TS" in compiled([line], tmp_path)
