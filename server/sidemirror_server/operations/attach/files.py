"""The host's own file: which one it is, and how it is read, written and kept private."""

import stat
import subprocess
from collections.abc import Collection
from pathlib import Path

from sidemirror_server.operations.attach.edits import CannotEdit
from sidemirror_server.operations.attach.hosts import ATTACHED
from sidemirror_server.operations.attach.notes import write_private
from sidemirror_server.operations.attach.toml_edits import has_hooks
from sidemirror_server.settings import BadSettings

# What group and others may do.
_OTHERS = 0o077


def file_of(host: str, project: str, noted: Collection[str] = ()) -> Path:
    """The file that the host's hooks belong into, for one project's folder or, if that is empty, for all work. For
    Codex its config.toml if the user's hooks are there, because it warns of hooks in both. `noted`: files in which
    attach has put hooks; one of the host's goes before all rules. Raises BadSettings."""
    attached = ATTACHED[host]
    path = folder_of(project) / attached.project_file if project else Path.home() / attached.user_file
    toml = path.with_name("config.toml")
    for one in (path, toml):
        if str(one) in noted:
            return one
    if path.parent.name == ".codex" and toml.is_file():
        try:
            return toml if has_hooks(read_file(toml)) else path
        except CannotEdit as error:
            raise BadSettings(f"{toml}: {error}") from error
    return path


def folder_of(project: str) -> Path:
    """The folder that --project names; the current one, or the home if that is gone, if it is empty. Raises
    BadSettings."""
    if not project:
        try:
            return Path.cwd()
        except FileNotFoundError:
            return Path.home()
    root = Path(project).resolve()
    if not root.is_dir():
        raise BadSettings(f"--project: {root}: there is no such folder")
    return root


def hidden_by(host: str, path: Path, folder: Path) -> Path | None:
    """The file that a host reads in the place of `path` when it works in `folder`; None if it reads `path`."""
    project = folder / ATTACHED[host].project_file
    is_hidden = ATTACHED[host].reads_one and project.is_file() and project.resolve() != path.resolve()
    return project if is_hidden else None


def read_file(path: Path) -> str:
    """The file's text with its line ends as they are; empty if there is no file. Raises BadSettings, and CannotEdit for
    what is no text."""
    try:
        return text_of(path.read_bytes())
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise BadSettings(f"{path}: it cannot be read: {error}") from error


def text_of(content: bytes) -> str:
    """The text that a file holds. Raises CannotEdit."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise CannotEdit(f"line {line}: a byte there is no UTF-8") from error


def write_file(path: Path, text: str, mode: int | None) -> None:
    """Writes the file, behind a symbolic link too. `mode`: None for that of the file, and for 0600 if it is new. Raises
    BadSettings."""
    try:
        if mode is None:
            mode = mode_of(path)
        write_private(path, text.encode(), 0o600 if mode is None else mode)
    except OSError as error:
        raise BadSettings(f"{path}: it cannot be written: {error.strerror}") from error


def remove_file(path: Path, *, with_folder: bool) -> None:
    """Removes the file, but no link to it; and its folder if that is empty then. Raises BadSettings."""
    try:
        target = path.resolve()
        target.unlink(missing_ok=True)
        if with_folder and not any(target.parent.iterdir()):
            target.parent.rmdir()
    except OSError as error:
        raise BadSettings(f"{path}: it cannot be removed: {error.strerror}") from error


def mode_of(path: Path) -> int | None:
    """The file's mode; None if there is no file."""
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else None


def owners_alone(mode: int) -> int:
    """The mode without what group and others may do."""
    return mode & ~_OTHERS


def is_offered_to_git(path: Path) -> bool:
    """Whether `git add` would take the file: it is in a work tree that does not ignore it. False without git."""
    target = path.resolve()
    folder = next(one for one in target.parents if one.is_dir())
    try:
        asked = ("git", "-C", str(folder), "check-ignore", "--quiet", str(target))
        return subprocess.run(asked, capture_output=True, timeout=10, check=False).returncode == 1
    except (OSError, subprocess.TimeoutExpired):
        return False
