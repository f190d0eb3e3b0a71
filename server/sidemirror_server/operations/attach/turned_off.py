"""Whether a host's settings turn our hooks off, or it cannot read the file that holds them. Pure.

Of a host only the file that holds the hooks is looked at, and of Codex its settings; other files may turn them off too.
Other hosts than these have no such setting there.
"""

import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from sidemirror_server.http.hooks.serving import PATH
from sidemirror_server.operations.attach.hosts import ATTACHED, HOOK_NAME
from sidemirror_server.operations.attach.jsonc import Beyond, beyond_json, parsed, value_of

_SAID = {Beyond.COMMENT: "no comments", Beyond.COMMA: "no comma before a closing bracket"}


def turned_off(host: str, text: str) -> str:
    """Why the host runs no hooks of ours; empty if its file does not say so. `text`: of the file that holds them, which
    has been read as one."""
    rule = _RULES.get(host)
    return rule(value_of(parsed(text))) if rule else ""


def unreadable(host: str, text: str) -> str:
    """Why the host cannot read a file that we can; empty if it can, or its rule is not known. `text`: of JSON."""
    found = beyond_json(text)
    refused = next((kind for kind in found if kind in ATTACHED[host].reads_no), None)
    if refused is None:
        return ""
    title, line = ATTACHED[host].title, found[refused]
    return f"{title} reads {_SAID[refused]}, and {line} has one: it takes no hooks from the file"


def off_in_codex(text: str) -> str:
    """The same of Codex' settings, `config.toml`. What cannot be read is left to Codex, which refuses it."""
    try:
        features = tomllib.loads(text).get("features")
    except tomllib.TOMLDecodeError:
        return ""
    off = isinstance(features, dict) and features.get("hooks") is False
    return "features.hooks is false: Codex runs no hooks" if off else ""


def _in_claude_code(settings: Mapping[str, Any]) -> str:
    if settings.get("disableAllHooks") is True:
        return "disableAllHooks is true: Claude Code runs no hooks"
    allowed = settings.get("allowedHttpHookUrls")
    if not isinstance(allowed, list):
        return ""
    urls = [hook["url"] for hook in _hooks_in(settings) if f"{PATH}claude-code?event=" in str(hook.get("url"))]
    if all(any(fnmatchcase(url, str(one)) for one in allowed) for url in urls):
        return ""
    return "allowedHttpHookUrls leaves out the address of the hooks: Claude Code does not call it"


def _in_gemini_cli(settings: Mapping[str, Any]) -> str:
    """As Gemini CLI 0.61 reads them; earlier versions had the list in `hooks`, which it does not look at."""
    config = settings.get("hooksConfig")
    if not isinstance(config, dict):
        return ""
    if config.get("enabled") is False:
        return "hooksConfig.enabled is false: Gemini CLI runs no hooks"
    disabled = config.get("disabled")
    if isinstance(disabled, list) and HOOK_NAME in disabled:
        return f"hooksConfig.disabled names {HOOK_NAME}: Gemini CLI does not run the hooks of that name"
    return ""


def _hooks_in(settings: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The hooks of all events, whatever else stands there."""
    hooks = settings.get("hooks")
    for entries in hooks.values() if isinstance(hooks, dict) else ():
        for entry in entries if isinstance(entries, list) else ():
            inner = entry.get("hooks") if isinstance(entry, dict) else None
            yield from (one for one in inner if isinstance(one, dict)) if isinstance(inner, list) else ()


_RULES = {"claude-code": _in_claude_code, "gemini-cli": _in_gemini_cli}
