"""`sidemirror doctor --attach`: whether the hooks that were attached reach a sidecar.

Each attached host's own file is read, and what stands there for each event is called as the host would call it, with an
event that records nothing. Codex is asked whether it trusts our hooks, and the file of Claude Code may say that it runs
none; no other host has such a question.
"""

import json
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.http.hooks.sentences import CHECK, CHECKED, NOT_RECORDED
from sidemirror_server.http.hooks.serving import TIMEOUT_HEADER
from sidemirror_server.http.hooks.table import HOSTS
from sidemirror_server.operations.attach.attach import notes_folder
from sidemirror_server.operations.attach.calling import post
from sidemirror_server.operations.attach.edits import CannotEdit, entries_with
from sidemirror_server.operations.attach.hosts import ATTACHED
from sidemirror_server.operations.attach.notes import Attachment, read_notes
from sidemirror_server.operations.attach.trust import skipped_by_claude_code, trust_of_codex
from sidemirror_server.operations.finding import Examination, Finding

_URL = re.compile(r'"(http://[^"\s]+/hooks/[^"\s]+)"')
_HEADER_FILE = re.compile(r'-H "@([^"]+)"')


def check_attached(*, as_json: bool) -> int:
    """Prints the findings; returns 0 when every hook reaches a sidecar, else 1."""
    notes = read_notes(notes_folder())
    findings = tuple(finding for note in notes for finding in _check(note))
    if not notes:
        told = "no host is attached from this home"
        findings = (Finding("attach", ok=True, found=told, advice="`sidemirror attach HOST` attaches one"),)
    examination = Examination(all(finding.ok for finding in findings), (), findings)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(examination, enc_hook=str), indent=2).decode())
    else:
        from sidemirror_server.operations.doctor_report import show

        show(examination)
    return 0 if examination.ok else 1


def _check(note: Attachment) -> Iterator[Finding]:
    if note.host not in ATTACHED:
        told = "another version of sidemirror has attached it"
        yield Finding(f"{note.host}, {note.path}", ok=False, found=told, advice="update sidemirror")
        return
    host, path = ATTACHED[note.host], Path(note.path)
    again = f"`sidemirror attach {note.host}{_where(note)} --yes` writes them anew"
    try:
        text = path.read_text()
        found = entries_with(text, f"/hooks/{note.host}?event=")
    except (OSError, UnicodeDecodeError, CannotEdit) as error:
        forgets = "" if path.exists() else f"; `sidemirror detach {note.host}{_where(note)} --yes` forgets the file"
        told = f"the hooks cannot be read: {error}"
        yield Finding(f"{host.title}, {path}", ok=False, found=told, advice=again + forgets)
        return
    if len(found) != len(host.events):
        told = f"{len(found)} of {len(host.events)} hooks are there"
        yield Finding(f"{host.title}, {path}", ok=False, found=told, advice=again)
    for event, entry in found.items():
        yield _called(note, event, _hook_in(entry, f"/hooks/{note.host}?event="))
    if note.host == "claude-code" and (why := skipped_by_claude_code(text)):
        advice = "Claude Code's settings decide that; other files of its settings may too"
        yield Finding(f"{host.title}, {path}", ok=False, found=why, advice=advice)
    if note.host == "codex" and found:
        yield trust_of_codex(
            path, f"/hooks/{note.host}?event=", _here() if _folder(note) == Path.home() else _folder(note)
        )


def _where(note: Attachment) -> str:
    """The option with which a project's file is named; empty for the user's own."""
    folder = _folder(note)
    return "" if folder == Path.home() else f" --project {folder}"


def _folder(note: Attachment) -> Path:
    """The home, or the folder of the project."""
    return Path(note.path).parent.parent


def _hook_in(entry: Any, mark: str) -> Mapping[str, Any]:
    """What calls us in an event's entry: the entry itself, or one of its hooks; empty if it is neither."""
    listed = entry.get("hooks") if isinstance(entry, dict) else None
    inner = [one for one in listed if mark in json.dumps(one, default=str)] if isinstance(listed, list) else []
    hook = next(iter(inner), entry)
    return hook if isinstance(hook, dict) else {}


def _here() -> Path:
    """The current folder, or the home if that is gone."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path.home()


def _called(note: Attachment, event: str, hook: Mapping[str, Any]) -> Finding:
    """Calls what stands in the file, with a prompt that is answered and not recorded. It is asked in the project that
    is attached, else in the current folder."""
    name, folder = note.host, _here() if _folder(note) == Path.home() else _folder(note)
    subject = f"{ATTACHED[name].title}, {event}"
    is_asked = event == next(iter(ATTACHED[name].events))
    fields: dict[str, Any] = {HOSTS[name].event_field: event, "session_id": "doctor", "conversation_id": "doctor"}
    fields |= dict.fromkeys(("cwd", "working_dir"), str(folder)) | {"workspace_roots": [str(folder)]}
    body = json.dumps(fields | {"prompt": CHECK, "message": CHECK} if is_asked else {HOSTS[name].event_field: event})
    began_s = time.monotonic()
    command, url, headers = hook.get("command"), hook.get("url"), hook.get("headers")
    if isinstance(command, str):
        said, why = _by_command(name, command, body, is_asked=is_asked)
    elif isinstance(url, str) and isinstance(headers, dict):
        answer = post(url, {str(key): str(value) for key, value in headers.items()}, body)
        said, why = answer.said, answer.why
    else:
        said, why = "", "what stands there is no hook of ours"
    took_ms = 1000 * (time.monotonic() - began_s)
    advice = "is `sidemirror serve --http` running, with this data folder? `sidemirror attach` renews the token"
    if NOT_RECORDED in said:
        why = f"the token is not good for the project of {folder}, so that nothing is recorded"
        advice = "`sidemirror attach --token-file` takes a token of the access file with a grant for it"
    elif not why and is_asked and CHECKED not in said:
        why = "nothing came back in time"
    if why:
        return Finding(subject, ok=False, found=why, advice=advice)
    of = f"; the project of {folder} is {project_of(str(folder))}" if is_asked else ""
    return Finding(subject, ok=True, found=f"answered within {took_ms:.0f} ms{of}")


def _by_command(name: str, command: str, body: str, *, is_asked: bool) -> tuple[str, str]:
    """What a host's command says, and why it cannot: a command is silent whatever happens, so that the address in it is
    called first."""
    url, header_file = _URL.search(command), _HEADER_FILE.search(command)
    if not url or not header_file:
        return "", "the command is not ours any more"
    headers = _header_in(Path(header_file[1])) | {TIMEOUT_HEADER.decode(): "5000"}
    if why := post(url[1], headers, body).why:
        return "", why
    try:
        said = _run(command, body)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", f"the command cannot be run: {type(error).__name__}"
    if name != "cursor":
        return said, ""
    # Cursor takes no words at a prompt, so that the sidecar is asked in the form of a host that does.
    as_claude = url[1].replace("/hooks/cursor?", "/hooks/claude-code?")
    return post(as_claude, headers, _as_claude(body)).said if is_asked else "", ""


def _as_claude(body: str) -> str:
    """A prompt's event in the form of Claude Code."""
    return json.dumps(json.loads(body) | {"hook_event_name": "UserPromptSubmit"})


def _run(command: str, body: str) -> str:
    """What a command prints."""
    ran = subprocess.run(("sh", "-c", command), input=body.encode(), capture_output=True, timeout=60, check=False)
    return ran.stdout.decode("utf-8", "replace")


def _header_in(path: Path) -> dict[str, str]:
    """The header of a file for curl; none if it cannot be read, which is then refused."""
    try:
        name, _, value = path.read_text().strip().partition(": ")
    except (OSError, UnicodeDecodeError):
        return {}
    return {name: value}
