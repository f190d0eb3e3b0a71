"""What `attach` remembers of each file that it has changed: below the user's configuration, mode 0600."""

import contextlib
import os
import re
import secrets
from pathlib import Path

import msgspec

# How the names of files begin that hold a header for curl.
HEADER_NAME = "hooks-header"
_HEADER = re.compile(rf"{HEADER_NAME}[-a-z0-9]*")


class Attachment(msgspec.Struct, frozen=True):
    """One attached file. `inserted`: as `edits.put_in` has it; `made`: the file was not there, `made_folder`: nor was
    its folder. `mode`: what it was before others were shut out, None if they were not."""

    host: str
    path: str
    inserted: tuple[str, ...]
    made: bool
    made_folder: bool = False
    mode: int | None = None


def read_notes(folder: Path) -> tuple[Attachment, ...]:
    """All notes; none if there is no file, or one that cannot be read as notes."""
    try:
        return msgspec.json.decode((folder / "attached.json").read_bytes(), type=tuple[Attachment, ...])
    except (OSError, msgspec.DecodeError):
        return ()


def write_notes(folder: Path, notes: tuple[Attachment, ...]) -> None:
    """Replaces all notes. Raises OSError."""
    write_private(folder / "attached.json", msgspec.json.encode(notes))


def remove_unused_headers(folder: Path, notes: tuple[Attachment, ...]) -> None:
    """Removes the files with a header that no attached file names. Raises OSError."""
    used = {name for note in notes for text in note.inserted for name in _HEADER.findall(text)}
    for file in folder.glob(f"{HEADER_NAME}*"):
        if file.name not in used:
            file.unlink(missing_ok=True)


def write_private(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Puts a file in its place in one step, also behind a symbolic link. Raises OSError."""
    path = path.resolve()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
            file.write(content)
        new.chmod(mode)
        new.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            new.unlink()
