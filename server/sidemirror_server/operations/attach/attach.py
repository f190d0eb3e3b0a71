"""`sidemirror attach` and `sidemirror detach`: puts our hooks into a host's own file, and takes them out again.

Both show the difference, and write it with --yes. No other file of the host is touched, and nothing is started.
"""

import argparse
import difflib
import re
import stat
import sys
from pathlib import Path

from sidemirror_server.entrance import http_token_file
from sidemirror_server.http.hooks.serving import PATH
from sidemirror_server.http.token import make_token, read_token
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.attach.edits import (
    CannotEdit,
    cut_out,
    has_hooks_in_toml,
    put_in,
    put_in_toml,
    taken_out,
)
from sidemirror_server.operations.attach.hosts import ATTACHED, AttachedHost, WayIn, entries_of
from sidemirror_server.operations.attach.notes import Attachment, read_notes, write_notes, write_private
from sidemirror_server.rpc.boundary.secret_files import CannotUse, read_secret
from sidemirror_server.settings import BadSettings, Settings, load

_RECORDED = """\
{title} will tell the sidecar at {url}: your prompts, the tool calls with their results, and the agent's answers.
It keeps them in {data}, with secrets redacted, apart for each repository, and sends them nowhere else{models}.
The agent is told fixed sentences, and lessons that you have reviewed. No permission is given or taken, and no input is
changed. `sidemirror advice off`, typed as a prompt, silences it; `sidemirror detach {name}` takes it out."""
_TOKEN = re.compile(r"(\bBearer )[^\s\"']+", re.IGNORECASE)


def attach(options: argparse.Namespace, http_address: str) -> int:
    """Attaches the host; returns the exit code. `http_address`: of the door, where no setting has one. Raises
    BadSettings."""
    host, path, folder = ATTACHED[options.host], _file(options), notes_folder()
    settings = load()
    reach = _reach(options, settings, folder, http_address)
    before = _read(path)
    try:
        clean, _ = _without(options.host, path, before, folder)
        entries = entries_of(options.host, reach)
        if path.suffix == ".toml":
            after, inserted = put_in_toml(clean, entries)
        else:
            after, inserted = put_in(clean, entries, host.events, host.root)
    except (CannotEdit, ValueError) as error:
        print(f"sidemirror: {path}: {error}; nothing was changed", file=sys.stderr)
        return exit_codes.FAILED
    if after == before:
        print(f"{host.title} is attached already, in {path}.")
    else:
        _tell(options, host, settings, reach, path, before, after)
        if not options.yes:
            return 0
        note = Attachment(options.host, str(path), inserted, made=not clean)
        _write(path, after)
        write_notes(folder, (*_others(folder, options.host, path), note))
    write_private(reach.header_file, f"authorization: Bearer {reach.token}\n".encode())
    print(host.then)
    return 0


def detach(options: argparse.Namespace) -> int:
    """Takes the hooks out; returns the exit code."""
    host, path, folder = ATTACHED[options.host], _file(options), notes_folder()
    before = _read(path)
    try:
        after, is_ours = _without(options.host, path, before, folder)
    except CannotEdit as error:
        print(f"sidemirror: {path}: {error}; nothing was changed", file=sys.stderr)
        return exit_codes.FAILED
    if after == before:
        print(f"{host.title} is not attached in {path}.")
        return 0
    print(_difference(path, before, after))
    if not options.yes:
        print("Nothing was changed: --yes takes this out.")
        return 0
    if is_ours and not after:
        path.unlink()
    else:
        _write(path, after)
    write_notes(folder, _others(folder, options.host, path))
    print(f"{host.title} is detached. What was recorded stays; `sidemirror erase` removes it.")
    return 0


def _file(options: argparse.Namespace) -> Path:
    host = ATTACHED[options.host]
    if options.project:
        project = Path(options.project).resolve()
        if not project.is_dir():
            raise BadSettings(f"--project: {project}: there is no such folder")
        return _used(project / host.project_file)
    return _used(Path.home() / host.user_file)


def _used(path: Path) -> Path:
    """The file itself, or for Codex its config.toml if the user's hooks are there: it warns of hooks in both."""
    toml = path.with_name("config.toml")
    if path.parent.name == ".codex" and toml.is_file():
        try:
            return toml if has_hooks_in_toml(_read(toml)) else path
        except CannotEdit as error:
            raise BadSettings(f"{toml}: {error}") from error
    return path


def notes_folder() -> Path:
    """Where `attach` keeps what it needs."""
    return Path.home() / ".config" / "sidemirror"


def _reach(options: argparse.Namespace, settings: Settings, folder: Path, http_address: str) -> WayIn:
    """How hooks reach the sidecar of these settings. Makes the door's token if it is missing. Raises BadSettings."""
    try:
        if options.token_file:
            token = read_secret(Path(options.token_file)).decode("ascii", "replace").strip()
        elif settings.access_file:
            raise BadSettings("access_file: its tokens are digests; --token-file names a file with one of them")
        else:
            path = http_token_file(settings)
            make_token(path)
            read_token(path)
            token = read_secret(path).decode("ascii").strip()
    except CannotUse as error:
        raise BadSettings(str(error)) from error
    address = settings.http_address or http_address
    return WayIn(f"http://{address}", token, folder / "hooks-header", options.answer_timeout)


def _without(host: str, path: Path, text: str, folder: Path) -> tuple[str, bool]:
    """The file's text without our hooks, and whether attach had made the file. Raises CannotEdit."""
    note = next((one for one in read_notes(folder) if (one.host, one.path) == (host, str(path))), None)
    if note is not None:
        try:
            return taken_out(text, note.inserted), note.made
        except CannotEdit:
            pass  # somebody formatted the file anew
    mark = f"{PATH}{host}?event="
    if path.suffix == ".toml":
        if mark in text:
            raise CannotEdit(f"the hooks have been changed: take out the tables whose command has {mark} by hand")
        return text, False
    return cut_out(text, mark) if text.strip() else text, False


def _others(folder: Path, host: str, path: Path) -> tuple[Attachment, ...]:
    return tuple(one for one in read_notes(folder) if (one.host, one.path) != (host, str(path)))


def _read(path: Path) -> str:
    """The file's text with its line ends as they are; empty if there is no file. Raises BadSettings."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(f"{path}: it cannot be read: {error}") from error


def _write(path: Path, text: str) -> None:
    """Writes the file; a new one is its owner's alone, and another keeps its mode. Raises BadSettings."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
        write_private(path, text.encode(), mode)
    except OSError as error:
        raise BadSettings(f"{path}: it cannot be written: {error.strerror}") from error


def _tell(
    options: argparse.Namespace,
    host: AttachedHost,
    settings: Settings,
    reach: WayIn,
    path: Path,
    before: str,
    after: str,
) -> None:
    models = "" if settings.model.provider == "rules" else f" but to its model ({settings.model.provider})"
    facts = {"title": host.title, "name": options.host, "url": reach.url, "models": models}
    print(_RECORDED.format(data=settings.data_dir.resolve(), **facts))
    print()
    print(_difference(path, before, after))
    if not options.yes:
        print("Nothing was changed: --yes writes this.")
    print(f"It needs a sidecar there: `sidemirror serve --http`, with the data folder {settings.data_dir.resolve()}.")


def _difference(path: Path, before: str, after: str) -> str:
    """What changes, without tokens: also those that other calls of the file carry, or that ours carried before."""
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    shown = difflib.unified_diff(old, new, fromfile=str(path), tofile=str(path), n=1)
    return _TOKEN.sub(r"\1[token]", "".join(line if line.endswith("\n") else f"{line}\n" for line in shown))
