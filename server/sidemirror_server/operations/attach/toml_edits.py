"""Puts hooks into Codex' config.toml and takes them out again, without touching anything else in it. Pure.

What was put in is one text at the end. Where somebody has changed it since, the tables that hold our address are cut
out. Either way the result is read, and counts only if it says what the file said without our hooks.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from sidemirror_server.operations.attach.edits import CannotEdit

_HEADER = re.compile(r"[ \t]*\[")
_ENTRY = re.compile(r"[ \t]*\[\[\s*hooks\s*\.\s*[^.\]]+\]\]")
_HOOK = re.compile(r"[ \t]*\[\[\s*hooks\s*\.\s*[^.\]]+\.\s*hooks\s*\]\]")


def has_hooks(text: str) -> bool:
    """Whether the file has hooks, and not only what Codex notes of them. Raises CannotEdit."""
    hooks = read_toml(text).get("hooks")
    return isinstance(hooks, dict) and bool(set(hooks) - {"state"})


def put_in_toml(text: str, entries: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """As `edits.put_in`, for config.toml. Raises CannotEdit."""
    new = "" if text.endswith("\n") or not text else "\n"
    for event, entry in entries.items():
        new += f"\n[[hooks.{event}]]\n"
        for hook in entry["hooks"]:
            # What JSON writes for a text or a number, TOML reads as the same.
            fields = "".join(f"{name} = {json.dumps(value)}\n" for name, value in hook.items())
            new += f"\n[[hooks.{event}.hooks]]\n{fields}"
    if "\r\n" in text:
        new = new.replace("\n", "\r\n")
    try:
        read_toml(text + new)
    except CannotEdit as error:
        raise CannotEdit(_why_not(text, entries)) from error
    return text + new, (new,)


def take_out_of_toml(text: str, mark: str, inserted: tuple[str, ...]) -> str:
    """The text without our hooks, which hold `mark`. Raises CannotEdit."""
    if mark not in text:
        return text
    said = _without(read_toml(text), mark)
    exact = text
    for one in inserted:
        exact = exact.replace(one, "", 1)
    for left in (exact, _cut_out(text, mark)):
        try:
            if read_toml(left) == said:
                return left
        except CannotEdit:
            continue
    raise CannotEdit(f"the hooks have been changed: take out the tables whose command has {mark} by hand")


def read_toml(text: str) -> dict[str, Any]:
    """What the file says. Raises CannotEdit."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(str(error)) from error
    except RecursionError as error:
        raise CannotEdit("it is nested too deep") from error


def _why_not(text: str, entries: Mapping[str, Any]) -> str:
    """Why no tables can be added to a file that can be read, with its line."""
    # Of a file's own events none is called so: where it cannot be added either, `hooks` itself is one value.
    is_whole = not _takes(text, "sidemirror")
    closed = "hooks" if is_whole else next((f"hooks.{event}" for event in entries if not _takes(text, event)), "hooks")
    place = _line_of(text, closed)
    return (
        f"{place}{closed} is written as one value, to which TOML lets nobody add: write each entry of it as "
        f"[[{'hooks.EVENT' if closed == 'hooks' else closed}]], or move all hooks to hooks.json beside this file"
    )


def _takes(text: str, event: str) -> bool:
    """Whether an entry can be added to an event's."""
    try:
        read_toml(f"{text}\n[[hooks.{event}]]\n")
    except CannotEdit:
        return False
    return True


def _line_of(text: str, closed: str) -> str:
    """Where a value of this dotted name begins, as "line 3: "; empty if it is written in another way."""
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        plain = re.sub(r"[\s\"']", "", line)
        if plain.startswith("["):
            table = plain.split("]")[0].lstrip("[") + "."
        elif f"{table}{plain}".startswith(f"{closed}="):
            return f"line {number}: "
    return ""


def _without(said: dict[str, Any], mark: str) -> dict[str, Any]:
    """What the file says beside our hooks."""
    hooks = said.get("hooks")
    if not isinstance(hooks, dict):
        return said
    left = {}
    for event, entries in hooks.items():
        left[event] = entries
        if isinstance(entries, list):
            left[event] = [kept for kept in (_entry_without(entry, mark) for entry in entries) if kept is not None]
            if entries and not left[event]:
                del left[event]
    beside = {name: value for name, value in said.items() if name != "hooks"}
    return beside | {"hooks": left} if left else beside


def _entry_without(entry: Any, mark: str) -> Any:
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    if not isinstance(hooks, list):
        return entry
    left = [hook for hook in hooks if not (isinstance(hook, dict) and mark in str(hook.get("command")))]
    return entry | {"hooks": left} if left or not hooks else None


def _cut_out(text: str, mark: str) -> str:
    """The text without the tables of hooks that hold `mark`, and without the entries that have no other hook."""
    lines = text.splitlines(keepends=True)
    starts = [at for at, line in enumerate(lines) if _HEADER.match(line)]
    cut: set[int] = set()
    entry: tuple[int, int] | None = None
    is_left = was_cut = False
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        if _HOOK.match(lines[start]):
            is_ours = any(mark in line for line in lines[start:end])
            cut |= _lines_of(lines, start, end) if is_ours else set()
            was_cut, is_left = was_cut or is_ours, is_left or not is_ours
            continue
        if entry is not None and was_cut and not is_left:
            cut |= _lines_of(lines, *entry)
        entry = (start, end) if _ENTRY.match(lines[start]) else None
        is_left = was_cut = False
    if entry is not None and was_cut and not is_left:
        cut |= _lines_of(lines, *entry)
    return "".join(line for at, line in enumerate(lines) if at not in cut)


def _lines_of(lines: list[str], start: int, end: int) -> set[int]:
    """The lines of a table: with the blank one above it, without what stands below its last field."""
    while end > start + 1 and (not (last := lines[end - 1].strip()) or last.startswith("#")):
        end -= 1
    if start and not lines[start - 1].strip():
        start -= 1
    return set(range(start, end))
