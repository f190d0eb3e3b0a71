"""Whether Codex trusts our hooks. Its trust is read and never written.

Codex runs only those that its user has trusted, and skips others without a word: it is asked itself, by `hooks/list` of
its app server (Codex 0.169).
"""

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sidemirror_server.operations.finding import Finding

_Listed = tuple[Sequence[Mapping[str, Any]], Sequence[str]]
_SUBJECT = "Codex, trust"
# Seconds for Codex to start and answer. Chosen here: many times what it takes.
_PATIENCE_S = 20.0
_LIST = 1
# What Codex runs: what its user has trusted as it stands there, and what an administrator has set.
_RUNS = ("trusted", "managed")
# Codex gives hooks no names, and asks about new ones at its start (0.169).
_OURS = "Codex names none; those of sidemirror have `/hooks/codex?event=` in their command"
_ADVICE = f"start `codex`, type /hooks, and trust those of sidemirror. {_OURS}"
_TURN_ON = f"start `codex`, type /hooks, and turn on those of sidemirror. {_OURS}"
_TRUSTS_FOLDER = "a project's hooks are taken once codex trusts its folder"
_OFF = "turned off"


def trust_of_codex(path: Path, mark: str, folder: Path) -> Finding:
    """Whether Codex runs the hooks of `path` that hold `mark`, when it works in `folder`. What it does not tell is no
    failure."""
    program = shutil.which("codex")
    if program is None:
        told = "codex is not on the PATH, so that it was not asked whether it trusts the hooks"
        return Finding(_SUBJECT, ok=True, found=told, advice=_ADVICE)
    answer = _listed(program, folder)
    if answer is None:
        told = "this codex does not say whether it trusts the hooks"
        return Finding(_SUBJECT, ok=True, found=told, advice=_ADVICE)
    listed, warnings = answer
    ours = [one for one in listed if mark in str(one.get("command")) and _is(one.get("sourcePath"), path)]
    if not ours:
        told = f"codex does not take hooks from {path} here"
        why = next((one for one in warnings if str(path) in one), "")
        advice = "that is what codex says of the file" if why else _TRUSTS_FOLDER
        return Finding(_SUBJECT, ok=False, found=f"{told}: {why}" if why else told, advice=advice)
    skipped = {str(one.get("eventName")): _why(one) for one in ours if _why(one)}
    if not skipped:
        return Finding(_SUBJECT, ok=True, found=f"codex runs all {len(ours)} hooks")
    told = ", ".join(f"{event} ({why})" for event, why in skipped.items())
    advice = _TURN_ON if set(skipped.values()) == {_OFF} else _ADVICE
    return Finding(_SUBJECT, ok=False, found=f"codex skips {len(skipped)} of {len(ours)} hooks: {told}", advice=advice)


def _why(hook: Mapping[str, Any]) -> str:
    """Why Codex skips a hook; empty if it runs it."""
    if hook.get("trustStatus") not in _RUNS:
        return str(hook.get("trustStatus"))
    return "" if hook.get("enabled") else _OFF


def _is(source: Any, path: Path) -> bool:
    with suppress(OSError, ValueError, TypeError):
        return Path(source).resolve() == path.resolve()
    return False


def _listed(program: str, folder: Path) -> _Listed | None:
    """The hooks that Codex knows in a folder, and what it warns of; None if it does not say."""
    asked = (
        {"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "sidemirror", "version": "1"}}},
        {"method": "initialized"},
        {"id": _LIST, "method": "hooks/list", "params": {"cwds": [str(folder)]}},
    )
    try:
        process = subprocess.Popen(
            (program, "app-server"),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    ending = threading.Timer(_PATIENCE_S, process.kill)
    ending.start()
    try:
        return _told(process, b"".join(json.dumps(one).encode() + b"\n" for one in asked))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # It has ended, or its answer is of another version.
        return None
    finally:
        ending.cancel()
        process.kill()
        process.communicate()


def _told(process: "subprocess.Popen[bytes]", asked: bytes) -> _Listed | None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(asked)
    process.stdin.flush()
    answers: Iterator[Any] = (json.loads(line) for line in process.stdout)
    answer: Any = next((one for one in answers if one.get("id") == _LIST), {})
    if "result" not in answer:
        return None
    folders = answer["result"]["data"]
    warnings = [one.get("warnings") for one in folders]
    return (
        [hook for one in folders for hook in one["hooks"]],
        [str(warning) for listed in warnings if isinstance(listed, list) for warning in listed],
    )
