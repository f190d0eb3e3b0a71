"""Puts hooks into a host's file and takes them out again, without touching anything else in it. Pure.

Each insertion is one text: in JSON directly behind an opening bracket, in TOML at the end. `inserted` are these texts,
by which a file becomes what it was byte by byte, also when other parts of it have changed meanwhile.
"""

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from sidemirror_server.operations.attach.jsonc import BadFile, JsonNode, parsed, value_of

_STEP = "  "


class CannotEdit(Exception):
    """The file is not one that hooks can be put into."""


def put_in(
    text: str, entries: Mapping[str, Any], names: Mapping[str, tuple[str, ...]], root: tuple[tuple[str, Any], ...]
) -> tuple[str, tuple[str, ...]]:
    """The text with an entry at the beginning of each event's list, and what was inserted, the last first. `names`:
    what else the file may call an event. An empty text becomes a file. Raises CannotEdit."""
    inserted: list[str] = []
    if not text.strip():
        made = dict(root) | {"hooks": {event: [entry] for event, entry in entries.items()}}
        new = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
        return text + new, (new,)
    for name, value in root:
        if _object(text).member(name) is None:
            text = _put(text, _object(text).start, f"{json.dumps(name)}: {json.dumps(value)}", 1, inserted)
    for event, entry in entries.items():
        hooks = _hooks(text)
        if hooks is None:
            whole = {one: [it] for one, it in entries.items()}
            text = _put(text, _object(text).start, f'"hooks": {_shown(whole, 1)}', 1, inserted)
            break
        used = next((name for name in (event, *names[event]) if hooks.member(name) is not None), event)
        listed = hooks.member(used)
        if listed is None:
            text = _put(text, hooks.start, f"{json.dumps(used)}: {_shown([entry], 2)}", 2, inserted)
        elif listed.items is None:
            raise CannotEdit(f"hooks.{used} is not a list")
        else:
            text = _put(text, listed.start, _shown(entry, 3), 3, inserted)
    return text, tuple(reversed(inserted))


def has_hooks_in_toml(text: str) -> bool:
    """Whether Codex' config.toml has hooks, and not only what Codex notes of them. Raises CannotEdit."""
    try:
        hooks = tomllib.loads(text).get("hooks")
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(str(error)) from error
    return isinstance(hooks, dict) and bool(set(hooks) - {"state"})


def put_in_toml(text: str, entries: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """As `put_in`, for Codex' config.toml. Raises CannotEdit."""
    new = "" if text.endswith("\n") or not text else "\n"
    for event, entry in entries.items():
        new += f"\n[[hooks.{event}]]\n"
        for hook in entry["hooks"]:
            # What JSON writes for a text or a number, TOML reads as the same.
            fields = "".join(f"{name} = {json.dumps(value)}\n" for name, value in hook.items())
            new += f"\n[[hooks.{event}.hooks]]\n{fields}"
    try:
        tomllib.loads(text + new)
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(f"its hooks have a form that cannot be added to: {error}") from error
    return text + new, (new,)


def taken_out(text: str, inserted: tuple[str, ...]) -> str:
    """The text without what was inserted. Raises CannotEdit when it has been changed since."""
    for one in inserted:
        if text.count(one) != 1:
            raise CannotEdit("the hooks have been changed since they were put in")
        text = text.replace(one, "")
    return text


def cut_out(text: str, mark: str) -> str:
    """The text without the entries of event lists that hold `mark`, or without our hook of an entry that has others
    too; for files that were formatted anew. Raises CannotEdit."""
    while (entry := _marked(text, mark)) is not None:
        end = entry.end
        rest = len(text[end:]) - len(text[end:].lstrip())
        if text[end + rest : end + rest + 1] == ",":
            end += rest + 1
        start = len(text[: entry.start].rstrip())
        if text[start - 1 : start] == "," and end == entry.end:
            start -= 1
        left = _value_without(_object(text), entry)
        text = text[:start] + text[end:]
        if value_of(_object(text)) != left:
            raise CannotEdit("a comment stands beside our hooks: take them out by hand")
    return text


def entries_with(text: str, mark: str) -> dict[str, Any]:
    """The entries that hold `mark`, by event, of a file in JSON or TOML. Raises CannotEdit."""
    try:
        hooks = tomllib.loads(text).get("hooks", {})
    except tomllib.TOMLDecodeError:
        hooks = value_of(_object(text)).get("hooks", {})
    if not isinstance(hooks, dict):
        raise CannotEdit("hooks is not an object")
    lists = {event: listed for event, listed in hooks.items() if isinstance(listed, list)}
    found = {event: [entry for entry in listed if mark in json.dumps(entry)] for event, listed in lists.items()}
    return {event: entries[0] for event, entries in found.items() if entries}


def _marked(text: str, mark: str) -> JsonNode | None:
    hooks = _hooks(text) if text.strip() else None
    lists = [node for _, node in (hooks.members if hooks else None) or ()]
    entries = [entry for listed in lists for entry in listed.items or ()]
    found = next((entry for entry in entries if mark in text[entry.start : entry.end]), None)
    beside = (found.member("hooks") if found else None) or found
    if beside is None or len(beside.items or ()) < 2:
        return found
    # Hosts put a hook of the user's into an entry that is there.
    return next((hook for hook in beside.items or () if mark in text[hook.start : hook.end]), None)


def _value_without(node: JsonNode, gone: JsonNode) -> Any:
    """What a node stands for without an item of one of its lists."""
    if node.members is not None:
        return {key: _value_without(child, gone) for key, child in node.members}
    if node.items is not None:
        return [_value_without(child, gone) for child in node.items if child != gone]
    return node.scalar


def _object(text: str) -> JsonNode:
    try:
        node = parsed(text)
    except BadFile as error:
        raise CannotEdit(str(error)) from error
    if node.members is None:
        raise CannotEdit("the file is not an object")
    return node


def _hooks(text: str) -> JsonNode | None:
    """The object with the events' lists."""
    hooks = _object(text).member("hooks")
    if hooks is not None and hooks.members is None:
        raise CannotEdit("hooks is not an object")
    return hooks


def _put(text: str, opening: int, content: str, depth: int, inserted: list[str]) -> str:
    """The text with `content` directly behind a bracket; a comma follows if something else does."""
    at = opening + 1
    node = _at(_object(text), opening)
    is_empty = not (node.members or node.items)
    new = f"\n{_STEP * depth}{content}" + ("" if is_empty else ",")
    if is_empty and "\n" not in text[at : node.end]:
        new += "\n" + _STEP * (depth - 1)
    inserted.append(new)
    return text[:at] + new + text[at:]


def _at(node: JsonNode, start: int) -> JsonNode:
    """The value that begins at `start`, within this one."""
    if node.start == start:
        return node
    inner = [child for _, child in node.members or ()] or list(node.items or ())
    return next(_at(child, start) for child in inner if child.start <= start < child.end)


def _shown(value: Any, depth: int) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n" + _STEP * depth)
