"""Puts hooks into a host's file and takes them out again, without touching anything else in it. Pure.

Each insertion is one text directly behind an opening bracket; `toml_edits.py` does the same at the end of TOML.
`inserted` are these texts, by which a file becomes what it was byte by byte, also when other parts of it have changed
meanwhile. The events' lists stand in `hooks`, or at the top of a file that has no `hooks` and begins one of the lists
that are named `bare` (OpenHands).
"""

import json
import tomllib
from collections.abc import Collection, Mapping
from typing import Any

from sidemirror_server.operations.attach.jsonc import BadFile, JsonNode, line_of, parsed, value_of

_STEP = "  "


class CannotEdit(Exception):
    """The file is not one that hooks can be put into."""


def put_in(
    text: str,
    entries: Mapping[str, Any],
    names: Mapping[str, tuple[str, ...]],
    root: tuple[tuple[str, Any], ...],
    bare: Collection[str] = (),
) -> tuple[str, tuple[str, ...]]:
    """The text with an entry at the beginning of each event's list, and what was inserted, the last first. `names`:
    what else the file may call an event. An empty text becomes a file. Raises CannotEdit."""
    inserted: list[str] = []
    if not text.strip():
        made = dict(root) | {"hooks": {event: [entry] for event, entry in entries.items()}}
        new = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
        return text + new, (new,)
    _refuse_twice(text, _object(text), ["hooks", *dict(root)])
    _refuse_twice(text, _hooks(text, bare), [name for event in entries for name in (event, *names[event])])
    for name, value in root:
        if _object(text).member(name) is None:
            text = _put(text, _object(text).start, f"{json.dumps(name)}: {json.dumps(value)}", 1, inserted)
    for event, entry in entries.items():
        hooks = _hooks(text, bare)
        if hooks is None:
            whole = {one: [it] for one, it in entries.items()}
            text = _put(text, _object(text).start, f'"hooks": {_shown(whole, 1)}', 1, inserted)
            break
        used = next((name for name in (event, *names[event]) if hooks.member(name) is not None), event)
        listed = hooks.member(used)
        depth = 2 if _is_member(hooks) else 1
        if listed is None:
            text = _put(text, hooks.start, f"{json.dumps(used)}: {_shown([entry], depth)}", depth, inserted)
        elif listed.items is None:
            raise CannotEdit(f"{'hooks.' if _is_member(hooks) else ''}{used} is not a list")
        else:
            text = _put(text, listed.start, _shown(entry, depth + 1), depth + 1, inserted)
    return text, tuple(reversed(inserted))


def take_out(text: str, mark: str, inserted: tuple[str, ...], bare: Collection[str] = ()) -> str:
    """The text without our hooks, which hold `mark`. Where what was inserted stands there unchanged, the text is what
    it was before. Else each hook of ours is cut out, then what `inserted` shows to have been made for it and is empty
    now. Raises CannotEdit."""
    exact = text
    for one in inserted:
        exact = exact.replace(one, "") if exact.count(one) == 1 else text
    if inserted and mark not in exact and _is_object_or_nothing(exact):
        return exact
    if not text.strip():
        return text
    while (found := _ours(text, mark, bare)) is not None:
        left = _value_without(_object(text), found)
        text = _cut(text, found.start, found.end)
        if value_of(_object(text)) != left:
            raise CannotEdit("a comment stands beside our hooks: take them out by hand")
    is_whole, made = _made(inserted)
    while (found := _emptied(text, made, bare)) is not None:
        text = _cut(text, found.named_at, found.end)
    return "" if is_whole and _has_only(text, _root_of(inserted)) else text


def entries_with(text: str, mark: str, bare: Collection[str] = ()) -> dict[str, Any]:
    """The entries that hold `mark`, by event, of a file in JSON or TOML. Raises CannotEdit."""
    try:
        hooks = tomllib.loads(text).get("hooks", {})
    except (tomllib.TOMLDecodeError, RecursionError):
        _refuse_twice(text, _object(text), ["hooks"])
        node = _hooks(text, bare)
        hooks = {} if node is None else value_of(node)
    if not isinstance(hooks, dict):
        raise CannotEdit("hooks is not an object")
    lists = {event: listed for event, listed in hooks.items() if isinstance(listed, list)}
    found = {
        event: [entry for entry in listed if mark in json.dumps(entry, default=str)] for event, listed in lists.items()
    }
    return {event: entries[0] for event, entries in found.items() if entries}


def names_beside(text: str, bare: Collection[str]) -> list[str]:
    """The events whose lists stand beside `hooks`, where a host that knows both forms ignores them. Raises
    CannotEdit."""
    whole = _object(text)
    return [name for name, _ in whole.members or () if name in bare] if whole.member("hooks") is not None else []


def _cut(text: str, start: int, end: int) -> str:
    """The text without a member or item at these places, and without the comma that separated it."""
    after = end + len(text[end:]) - len(text[end:].lstrip())
    before = len(text[:start].rstrip())
    if text[after : after + 1] == ",":
        return text[:before] + text[after + 1 :]
    if text[before - 1 : before] == ",":
        before -= 1
    return text[:before] + text[end:]


def _ours(text: str, mark: str, bare: Collection[str]) -> JsonNode | None:
    """The first hook that holds `mark`: alone where an entry has hooks of others too, else the whole entry."""
    hooks = _hooks(text, bare)
    lists = [node for _, node in (hooks.members if hooks else None) or ()]
    for entry in (entry for listed in lists for entry in listed.items or ()):
        inner = entry.member("hooks")
        within = (inner.items if inner else None) or (entry,)
        ours = [node for node in within if mark in json.dumps(value_of(node))]
        if ours:
            return ours[0] if len(ours) < len(within) else entry
    return None


def _value_without(node: JsonNode, gone: JsonNode) -> Any:
    """What a node stands for without an item of one of its lists."""
    if node.members is not None:
        return {key: _value_without(child, gone) for key, child in node.members}
    if node.items is not None:
        return [_value_without(child, gone) for child in node.items if child != gone]
    return node.scalar


def _emptied(text: str, made: frozenset[str], bare: Collection[str]) -> JsonNode | None:
    """An event's list, or the object of them, that was made for our hooks and in which nothing is left."""
    hooks = _hooks(text, bare)
    members = [*((hooks.members if hooks else None) or ())]
    if hooks is not None and _is_member(hooks):
        members.append(("hooks", hooks))
    return next(
        (node for name, node in members if name in made and not text[node.start + 1 : node.end - 1].strip()), None
    )


def _made(inserted: tuple[str, ...]) -> tuple[bool, frozenset[str]]:
    """Whether the whole file was inserted, and which lists of `hooks`, or `hooks` itself."""
    is_whole, names = False, set[str]()
    for one in inserted:
        piece = one.strip().rstrip(",")
        node = _object(piece if piece.startswith("{") else f"{{{piece}}}")
        hooks = node.member("hooks")
        if not piece.startswith("{"):
            names |= {name for name, _ in node.members or ()}
        if hooks is not None and hooks.members is not None:
            names |= {name for name, _ in hooks.members}
            names.add("hooks")
            is_whole = is_whole or piece.startswith("{")
    return is_whole, frozenset(names)


def _root_of(inserted: tuple[str, ...]) -> dict[str, Any]:
    """What stands beside the hooks in a whole file that was inserted."""
    return {name: value for name, value in value_of(_object(inserted[0])).items() if name != "hooks"}


def _has_only(text: str, said: dict[str, Any]) -> bool:
    """Whether the text says nothing but a part of this, without comments."""
    try:
        return bool(json.loads(text).items() <= said.items())
    except (ValueError, AttributeError, TypeError):
        return False


def _is_object_or_nothing(text: str) -> bool:
    try:
        return not text.strip() or parsed(text).members is not None
    except BadFile:
        return False


def _object(text: str) -> JsonNode:
    try:
        node = parsed(text)
    except BadFile as error:
        raise CannotEdit(str(error)) from error
    if node.members is None:
        raise CannotEdit("the file is not an object")
    return node


def _hooks(text: str, bare: Collection[str]) -> JsonNode | None:
    """The object with the events' lists, which may be the whole file; None if there is none."""
    whole = _object(text)
    hooks = whole.member("hooks")
    if hooks is None:
        return whole if any(name in bare for name, _ in whole.members or ()) else None
    if hooks.members is None:
        raise CannotEdit("hooks is not an object")
    return hooks


def _refuse_twice(text: str, node: JsonNode | None, names: Collection[str]) -> None:
    """Raises CannotEdit if a member of one of these names is there twice: hosts read the last one, and we would add to
    the first."""
    lines: dict[str, str] = {}
    for name, member in (node.members if node else None) or ():
        line = line_of(text, member.named_at)
        if name in names and name in lines:
            raise CannotEdit(
                f"{name} is there twice, in {lines[name]} and in {line}, and only the last counts: make it one"
            )
        lines[name] = line


def _is_member(node: JsonNode) -> bool:
    """Whether it has a name, and is not the whole file."""
    return node.named_at >= 0


def _put(text: str, opening: int, content: str, depth: int, inserted: list[str]) -> str:
    """The text with `content` directly behind a bracket; a comma follows if something else does."""
    at = opening + 1
    node = _at(_object(text), opening)
    is_empty = not (node.members or node.items)
    new = f"\n{_STEP * depth}{content}" + ("" if is_empty else ",")
    if is_empty and "\n" not in text[at : node.end]:
        new += "\n" + _STEP * (depth - 1)
    if "\r\n" in text:
        new = new.replace("\n", "\r\n")
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
