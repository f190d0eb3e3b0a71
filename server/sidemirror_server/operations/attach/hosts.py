"""How each host is told of our hooks: in which file, for which events, in which form. Pure."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from sidemirror_server.http.hooks.serving import PATH, TIMEOUT_HEADER
from sidemirror_server.operations.attach.jsonc import Beyond

# Seconds that a hook may hold up the agent: where it hears nothing, and where it hears what is known (decision 097).
TOOL_S = 0.3
WORDS_S = 1.0
# By which Gemini CLI's settings may turn our hooks off.
HOOK_NAME = "sidemirror"
# How answers begin. A command passes on nothing else: what listens at the address by mistake must not speak to an
# agent.
ANSWERS = (
    '{"hookSpecificOutput":{',
    '{"decision":"',
    '{"additional_context":"',
    '{"additionalContext":"',
    '{"followup_message":"',
)
# What cannot stand between the quotes of a shell's text.
_UNQUOTABLE = frozenset("\"'$`\\\n")


class WayIn(Struct, frozen=True):
    """How hooks reach the sidecar. `url`: the door's. `token`: what the calls carry; `header_file`: a file with the
    header that carries it, for curl. `answer_s`: seconds that the hook of a final answer may take."""

    url: str
    token: str
    header_file: Path
    answer_s: float


class AttachedHost(Struct, frozen=True):
    """A host, and what it needs. `user_file` is below the home, `project_file` below the project's folder. `events` in
    the host's own names, with what else the file may call them; `answered` is the one of a final answer, and at `hears`
    the agent takes words. `entry` makes what stands in an event's list, of the URL that is called. `root`: members that
    a file needs beside the hooks. `bare`: events whose lists may stand in the file itself, in place of `hooks`. `then`:
    what is left to the user. `reads_one`: of a project's file and the user's, only the project's is read. `reads_no`:
    what it refuses in JSON that we take; empty as well where that is not known."""

    title: str
    user_file: str
    project_file: str
    events: dict[str, tuple[str, ...]]
    answered: str
    hears: frozenset[str]
    entry: Callable[[str, WayIn, float], Any]
    then: str
    root: tuple[tuple[str, Any], ...] = ()
    bare: frozenset[str] = frozenset()
    reads_one: bool = False
    reads_no: frozenset[Beyond] = frozenset()


def command(url: str, reach: WayIn, timeout_s: float) -> str:
    """What a shell runs at each event: curl, with nothing of the user's own settings, silent whatever happens. Raises
    ValueError for a path that cannot stand in it."""
    path = str(reach.header_file)
    if _UNQUOTABLE & set(path):
        raise ValueError(f"{path}: the path must be without quotes, $ and backslashes")
    forms = "|".join('"' + form.replace('"', '\\"') + '"*' for form in ANSWERS)
    limit = f'--max-time {timeout_s:g} -H "{TIMEOUT_HEADER.decode()}: {timeout_s * 1000:.0f}"'
    call = f'curl -q -s -f --noproxy "*" {limit} -H "@{path}" -H "content-type: application/json" --data-binary @-'
    choice = f'case $out in {forms}) printf "%s\\n" "$out";; esac'
    return f"""sh -c 'out=$({call} "{url}" 2>/dev/null) && {choice} || true'"""


def entries_of(name: str, reach: WayIn) -> dict[str, Any]:
    """What stands for us in the list of each event of a host. Raises ValueError as `command` does."""
    host = ATTACHED[name]
    found = {}
    for event in host.events:
        timeout_s = WORDS_S if event in host.hears else TOOL_S
        if event == host.answered:
            timeout_s = reach.answer_s
        # The query makes each text unique, so that it is found again.
        found[event] = host.entry(f"{reach.url}{PATH}{name}?event={event}", reach, timeout_s)
    return found


def _seconds(timeout_s: float) -> int:
    """The host's own time limit, in whole seconds: above the command's."""
    return math.ceil(timeout_s) + 1


def _http(url: str, reach: WayIn, timeout_s: float) -> Any:
    headers = {"Authorization": f"Bearer {reach.token}", TIMEOUT_HEADER.decode(): f"{timeout_s * 1000:.0f}"}
    hook = {"type": "http", "url": url, "headers": headers, "timeout": _seconds(timeout_s)}
    return {"hooks": [hook]}


def _command(url: str, reach: WayIn, timeout_s: float) -> Any:
    return {"hooks": [{"type": "command", "command": command(url, reach, timeout_s), "timeout": _seconds(timeout_s)}]}


def _command_in_ms(url: str, reach: WayIn, timeout_s: float) -> Any:
    run = command(url, reach, timeout_s)
    return {"hooks": [{"name": HOOK_NAME, "type": "command", "command": run, "timeout": 1000 * _seconds(timeout_s)}]}


def _bare_command(url: str, reach: WayIn, timeout_s: float) -> Any:
    return {"command": command(url, reach, timeout_s), "timeout": _seconds(timeout_s)}


def _named(*events: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(events, ())


ATTACHED = {
    "claude-code": AttachedHost(
        "Claude Code",
        ".claude/settings.json",
        ".claude/settings.local.json",
        _named("UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop", "SessionEnd"),
        "Stop",
        frozenset(("UserPromptSubmit", "PostToolUseFailure")),
        _http,
        "Sessions that are open take it up when they are started again. The token stands in the file: do not share it.",
    ),
    "codex": AttachedHost(
        "Codex",
        ".codex/hooks.json",
        ".codex/hooks.json",
        _named("UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop"),
        "Stop",
        frozenset(("UserPromptSubmit", "PostToolUse")),
        _command,
        "Codex runs no hook that you have not trusted: start `codex`, which asks about new ones, or type /hooks "
        "in it. It names none: those of sidemirror have `/hooks/codex?event=` in their command.",
        reads_no=frozenset((Beyond.COMMENT, Beyond.COMMA)),
    ),
    "gemini-cli": AttachedHost(
        "Gemini CLI",
        ".gemini/settings.json",
        ".gemini/settings.json",
        _named("BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"),
        "AfterAgent",
        frozenset(("BeforeAgent", "AfterTool")),
        _command_in_ms,
        "Hooks of a project run in trusted folders only.",
        # It takes comments out before it reads (0.61).
        reads_no=frozenset((Beyond.COMMA,)),
    ),
    "cursor": AttachedHost(
        "Cursor",
        ".cursor/hooks.json",
        ".cursor/hooks.json",
        _named(
            *("beforeSubmitPrompt", "postToolUse", "postToolUseFailure"),
            *("afterAgentResponse", "stop", "sessionEnd"),
        ),
        "stop",
        frozenset(("postToolUse",)),
        _bare_command,
        "Cursor's settings have a tab Hooks that lists them. It hears at a call that works, not at a failure.",
        root=(("version", 1),),
    ),
    "openhands": AttachedHost(
        "OpenHands",
        ".openhands/hooks.json",
        ".openhands/hooks.json",
        {
            "UserPromptSubmit": ("user_prompt_submit",),
            "PostToolUse": ("post_tool_use",),
            "Stop": ("stop",),
            "SessionEnd": ("session_end",),
        },
        "Stop",
        frozenset(("UserPromptSubmit",)),
        _command,
        "Lessons are told with a prompt: OpenHands takes no words at a tool's end.",
        bare=frozenset(
            (
                *("PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "SessionEnd", "Stop"),
                *("pre_tool_use", "post_tool_use", "user_prompt_submit", "session_start", "session_end", "stop"),
            )
        ),
        reads_one=True,
        reads_no=frozenset((Beyond.COMMENT, Beyond.COMMA)),
    ),
}
