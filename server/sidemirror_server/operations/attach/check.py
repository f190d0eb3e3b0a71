"""`sidemirror doctor --attach`: whether the hooks that were attached reach a sidecar.

Each attached host's own file is read, and what stands there for each event is called as the host would call it, with an
event that records nothing. The file may also say that the host runs none (`turned_off.py`), another file may stand in
its place, and Codex is asked whether it trusts our hooks.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec

from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.http.hooks.sentences import CHECK, CHECKED, LATE, NOT_KEPT, NOT_RECORDED
from sidemirror_server.http.hooks.serving import TIMEOUT_HEADER
from sidemirror_server.http.hooks.table import HOSTS
from sidemirror_server.operations.attach.attach import notes_folder
from sidemirror_server.operations.attach.calling import ANOTHER_ADDRESS, NO_SIDECAR, Answer, post
from sidemirror_server.operations.attach.edits import CannotEdit, entries_with, names_beside
from sidemirror_server.operations.attach.files import folder_of, hidden_by, text_of
from sidemirror_server.operations.attach.hosts import ATTACHED
from sidemirror_server.operations.attach.notes import Attachment, read_notes
from sidemirror_server.operations.attach.trust import trust_of_codex
from sidemirror_server.operations.attach.turned_off import off_in_codex, turned_off, unreadable
from sidemirror_server.operations.finding import Examination, Finding

_URL = re.compile(r'"(http://[^"\s]+/hooks/[^"\s]+)"')
_HEADER_FILE = re.compile(r'-H "@([^"]+)"')
_ALLOWED_MS = re.compile(rf'-H "{TIMEOUT_HEADER.decode()}: (\d{{1,6}})"')
_CODEX_SETTINGS = "config.toml"
_MS = re.compile(r"(\d{1,6})")
# Hooks that work tell nothing all the same where a draw decides so.
_HELD_BACK = """Was nothing told all the same? One of ten is held back by a draw, and of most failures nothing is known
at first. `sidemirror turns list --scope {scope}` names the turns;
`sidemirror turns why ID --scope {scope}` says why."""


def check_attached(project: str, *, as_json: bool) -> int:
    """Prints the findings for work in a project's folder, or in the current one if that is empty; returns 0 when every
    hook reaches a sidecar, and there are some, else 1. Raises BadSettings for a folder that is not there."""
    folder = folder_of(project)
    every = read_notes(notes_folder())
    # What is attached in other projects is asked there, unless one is named.
    notes = [note for note in every if not project or _folder(note, folder) == folder]
    findings = tuple(finding for note in notes for finding in _check(note, _folder(note, folder)))
    if not notes:
        told = f"no host is attached from this home{' or in this project' if every else ''}"
        advice = f"`sidemirror attach HOST --yes` attaches one of {', '.join(ATTACHED)}"
        findings = (Finding("attach", ok=False, found=told, advice=advice),)
    examination = Examination(all(finding.ok for finding in findings), (), findings)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(examination, enc_hook=str), indent=2).decode())
    else:
        from sidemirror_server.operations.doctor_report import show

        show(examination)
        if examination.ok:
            print(_HELD_BACK.format(scope=quote(str(folder))))
    return 0 if examination.ok else 1


def _check(note: Attachment, folder: Path) -> Iterator[Finding]:
    """What is found of one attached file, for work in `folder`."""
    if note.host not in ATTACHED:
        told = "another version of sidemirror has attached it"
        yield Finding(f"{note.host}, {note.path}", ok=False, found=told, advice="update sidemirror")
        return
    host, path, mark = ATTACHED[note.host], Path(note.path), f"/hooks/{note.host}?event="
    subject = f"{host.title}, {path}"
    again = f"`sidemirror attach {note.host}{_where(note)} --yes` writes them anew"
    try:
        text = text_of(path.read_bytes())
        found = entries_with(text, mark, host.bare)
    except (OSError, CannotEdit) as error:
        forgets = "" if path.exists() else f"; `sidemirror detach {note.host}{_where(note)} --yes` forgets the file"
        yield Finding(subject, ok=False, found=f"the hooks cannot be read: {error}", advice=again + forgets)
        return
    if len(found) != len(host.events):
        told = f"{len(found)} of {len(host.events)} hooks are there"
        yield Finding(subject, ok=False, found=told, advice=again)
    # A file may have other names for events than we have.
    own = {name: event for event, others in host.events.items() for name in (event, *others)}
    for event, entry in found.items():
        yield _called(note, own.get(event, event), _hook_in(entry, mark), folder)
    unread = "" if path.suffix == ".toml" else unreadable(note.host, text)
    if unread:
        yield Finding(subject, ok=False, found=unread, advice=f"without it {host.title} reads the file")
    yield from _not_run(note, path, text, folder, again)
    if note.host == "codex" and found and not unread:
        yield trust_of_codex(path, mark, folder)


def _not_run(note: Attachment, path: Path, text: str, folder: Path, again: str) -> Iterator[Finding]:
    """What in the host's files keeps it from running hooks: ours, or the user's own."""
    host = ATTACHED[note.host]
    subject = f"{host.title}, {path}"
    if why := turned_off(note.host, text):
        told = f"{host.title}'s settings decide that; other files of its settings may too"
        yield Finding(subject, ok=False, found=why, advice=told)
    if note.host == "codex":
        yield from _codex_settings(path)
    if host.bare and (beside := names_beside(text, host.bare)):
        told = f"{host.title} ignores {', '.join(beside)} beside hooks"
        advice = f"put them into hooks; where only ours stand there, {again} beside them"
        yield Finding(subject, ok=False, found=told, advice=advice)
    other = hidden_by(note.host, path, folder)
    if other is not None and not _holds(other, f"/hooks/{note.host}?event="):
        told = f"{host.title} reads {other} alone in this folder, and no hook of ours is there"
        advice = f"`sidemirror attach {note.host} --project {folder} --yes` attaches that file too"
        yield Finding(subject, ok=False, found=told, advice=advice)


def _codex_settings(path: Path) -> Iterator[Finding]:
    """Whether Codex' settings, beside its hooks or in the home, turn hooks off."""
    for file in dict.fromkeys((path.with_name(_CODEX_SETTINGS), Path.home() / ".codex" / _CODEX_SETTINGS)):
        try:
            why = off_in_codex(file.read_text())
        except (OSError, UnicodeDecodeError):
            continue
        if why:
            yield Finding(f"Codex, {file}", ok=False, found=why, advice="without that line Codex runs them")


def _holds(path: Path, mark: str) -> bool:
    """Whether a file that can be read holds a text."""
    try:
        return mark in path.read_text(errors="replace")
    except OSError:
        return False


def _where(note: Attachment) -> str:
    """The option with which a project's file is named; empty for the user's own."""
    folder = Path(note.path).parent.parent
    return "" if folder == Path.home() else f" --project {folder}"


def _folder(note: Attachment, folder: Path) -> Path:
    """Where the host works that is asked: in the project that is attached, or in `folder` if all work is."""
    attached = Path(note.path).parent.parent
    return folder if attached == Path.home() else attached


def _hook_in(entry: Any, mark: str) -> Mapping[str, Any]:
    """What calls us in an event's entry: the entry itself, or one of its hooks; empty if it is neither."""
    listed = entry.get("hooks") if isinstance(entry, dict) else None
    inner = [one for one in listed if mark in json.dumps(one, default=str)] if isinstance(listed, list) else []
    hook = next(iter(inner), entry)
    return hook if isinstance(hook, dict) else {}


def _called(note: Attachment, event: str, hook: Mapping[str, Any], folder: Path) -> Finding:
    """Calls what stands in the file, with a prompt that is answered and not recorded. It is asked in the project of
    `folder`."""
    name = note.host
    subject = f"{ATTACHED[name].title}, {event}"
    is_asked = event == next(iter(ATTACHED[name].events))
    fields: dict[str, Any] = {HOSTS[name].event_field: event, "session_id": "doctor", "conversation_id": "doctor"}
    fields |= dict.fromkeys(("cwd", "working_dir"), str(folder)) | {"workspace_roots": [str(folder)]}
    body = json.dumps(fields | {"prompt": CHECK, "message": CHECK} if is_asked else {HOSTS[name].event_field: event})
    command, url, headers = hook.get("command"), hook.get("url"), hook.get("headers")
    if isinstance(command, str):
        answer = _by_command(name, command, body, is_asked=is_asked)
        allowed = _ALLOWED_MS.search(command)
    elif isinstance(url, str) and isinstance(headers, dict):
        answer = post(url, {str(key): str(value) for key, value in headers.items()}, body)
        allowed = _MS.fullmatch(str(headers.get(TIMEOUT_HEADER.decode())))
    else:
        answer, allowed = Answer("", "what stands there is no hook of ours", is_there=False), None
    said, why, took_ms = answer.said, answer.why, round(1000 * answer.took_s)
    advice = "is `sidemirror serve --http` running, with this data folder? `sidemirror attach` renews the token"
    if why == NO_SIDECAR:
        advice = f"another server has the address of the hooks; {ANOTHER_ADDRESS}"
    elif NOT_RECORDED in said:
        why = f"the token is not good for the project of {folder}, so that nothing is recorded"
        advice = "`sidemirror attach --token-file` takes a token of the access file with a grant for it"
    elif NOT_KEPT in said:
        why = "the sidecar's store takes nothing now: what the hooks report waits in memory"
        advice = "`sidemirror doctor` says what is wrong with the store"
    elif not why and allowed and took_ms > int(allowed[1]):
        why = f"answered after {took_ms} ms, and the hook has {allowed[1]}: the agent hears nothing so late"
        advice = "the machine or the sidecar is busy: ask again; `sidemirror attach` writes the times of this version"
    elif not why and is_asked and CHECKED not in said:
        why = "nothing came back in time"
    if why:
        return Finding(subject, ok=False, found=why, advice=advice)
    of = f"; the project of {folder} is {project_of(str(folder))}" if is_asked else ""
    late = LATE.search(said)
    return Finding(subject, ok=True, found=f"answered within {took_ms} ms{of}", advice=late[0] if late else "")


def _by_command(name: str, command: str, body: str, *, is_asked: bool) -> Answer:
    """What a host's command says: it is silent whatever happens, so that the address in it is called first, which says
    why and how fast."""
    url, header_file = _URL.search(command), _HEADER_FILE.search(command)
    if not url or not header_file:
        return Answer("", "the command is not ours any more", is_there=False)
    headers = _header_in(Path(header_file[1])) | {TIMEOUT_HEADER.decode(): "5000"}
    answer = post(url[1], headers, body)
    if answer.why:
        return answer
    try:
        said = _run(command, body)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Answer("", f"the command cannot be run: {type(error).__name__}", is_there=True)
    if name == "cursor":
        # It takes no words at a prompt, so that the sidecar is asked in the form of a host that does.
        as_claude = url[1].replace("/hooks/cursor?", "/hooks/claude-code?")
        said = post(as_claude, headers, _as_claude(body)).said if is_asked else ""
    return msgspec.structs.replace(answer, said=said)


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
