"""Prepares texts that enter the server: characters that cannot be stored are replaced, secrets are redacted.

`rpc` calls `enter` once on each text of a request, before models, stores, logs and telemetry get it (decision 036); for
the texts of a tool's call `trace/given_secrets.py` calls it.
`clip` makes an entered text fit a prompt. `enter_clipped` does both for a text of which little is kept.
"""

import re
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import msgspec

from sidemirror_server.vocabulary.redaction import SHORTEST_SECRET_CHARS, secret_spans
from sidemirror_server.vocabulary.secret_kinds import KINDS
from sidemirror_server.vocabulary.secret_names import is_secret_name, may_name_a_secret
from sidemirror_server.vocabulary.secret_patterns import SCHEMES

# What the marker of a secret begins with.
MARKER = "[redacted:"
# A value of which nothing stays but a header's scheme and a token's public prefix.
_PREFIXES = "|".join(re.escape(kind.prefix) for kind in KINDS)
_REDACTED = re.compile(rf"(?:(?i:{SCHEMES}) )?(?:eyJ|{_PREFIXES})?\[redacted:\w{{1,40}}\]")
# A redacted text can look like another secret; no text is known to need a third pass.
_MAX_PASSES = 4
# What `enter_clipped` reads beside what it keeps, in code points. Chosen here: longer than any secret but a key block,
# also one of eight lines (`redaction.py`), and than the private keys of all common algorithms.
_MARGIN_CHARS = 16_000
# What ends every secret of unlimited length, except a key block.
_ENDS_A_SECRET = re.compile(r"[\s\"'`<>()\\]")
# Of a name and its value that are two members, such as a variable of a container.
_NAME_MEMBERS, _VALUE_MEMBERS = ("name", "Name", "key", "Key"), ("value", "Value")
_KEY_BEGINS, _KEY_ENDS = "-----BEGIN ", "-----END "


def enter(text: str, given: Collection[str] = (), taken: list[str] | None = None) -> str:
    """`text` as it may be stored: NUL and unpaired surrogates become U+FFFD, a secret becomes `[redacted:<kind>]`.

    A recognisable public prefix stays before the marker (`sk-ant-[redacted:anthropic]`). A second call changes nothing.
    A text without any trigger is returned unchanged. `given`: what is a secret wherever it stands. `taken`: gets what
    was redacted.
    """
    text = _storable(text)
    return _part(text, 0, len(text), given, taken)


def enter_json(text: str, taken: list[str] | None = None) -> str:
    """`enter` for a JSON text, such as a call's arguments: members with the name of a secret are redacted too.

    A text that is not JSON is entered as plain text. The formatting changes only if a value was redacted.
    """
    return _without_members(enter(text, (), taken), partial(enter, taken=taken), taken)


def enter_clipped(text: str, limit: int, given: Collection[str] = (), taken: list[str] | None = None) -> str:
    """`clip(enter(text), limit)`, in a time that depends on the limit and not on the text.

    The middle of a long text is left out before its ends are searched. Each end is searched with a margin that is left
    out afterwards, so that no part of a secret stays that only the middle would have shown to be one.
    """
    searched = limit + 2 * _MARGIN_CHARS
    if len(text) <= 2 * searched:
        return clip(enter(text, given, taken), limit)
    text = _storable(text)
    before = len(text) - searched
    head_ends, _ = _around_key(text, searched - _MARGIN_CHARS)
    _, tail_begins = _around_key(text, before + _MARGIN_CHARS)
    end = _ENDS_A_SECRET.search(text, tail_begins - 1)
    tail_begins = max(tail_begins, end.start() if end else len(text))
    kept = limit - len(f" […{len(text)} characters left out…] ")
    head = _part(text[:searched], 0, head_ends, given, taken)[: kept - kept // 4]
    tail = _part(text[before:], tail_begins - before, searched, given, taken)[-(kept // 4) :]
    return f"{head} […{len(text) - len(head) - len(tail)} characters left out…] {tail}"


def enter_json_clipped(text: str, limit: int, taken: list[str] | None = None) -> str:
    """`clip(enter_json(text), limit)`, as `enter_clipped`; but a long text is decoded as a whole."""
    if len(text) <= 2 * (limit + 2 * _MARGIN_CHARS):
        return clip(enter_json(text, taken), limit)
    return enter_clipped(_without_members(_storable(text), lambda one: one, taken), limit, (), taken)


def redact_json(value: Any, entered: Callable[[str], str] = enter, taken: list[str] | None = None) -> Any:
    """A copy of decoded JSON (or of a Struct as a dict) with every string and every member's name as `entered` gives
    it, and every secret member redacted.

    A member with the name of a secret (password, token, api_key, authorization, …) is redacted whatever its value, and
    so is `value` beside a `name` or a `key` that is such a name. Null, booleans and empty values stay; a nested object
    is searched instead, also one that is the JSON of a text.
    """
    if isinstance(value, str):
        return _without_members(entered(value), entered, taken)
    if isinstance(value, dict):
        named = _name_of_value(value)
        return {
            entered(name) if isinstance(name, str) else name: _member(
                named if named and name in _VALUE_MEMBERS else name, member, entered, taken
            )
            for name, member in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact_json(item, entered, taken) for item in value]
    return value


def clip(text: str, limit: int) -> str:
    """At most `limit` code points: the first 75 % and the last 25 %, around a marker that counts the others."""
    if len(text) <= limit:
        return text
    marker = f" […{len(text)} characters left out…] "  # at least as long as the final marker
    kept = limit - len(marker)
    if kept < 8:
        return text[: max(limit, 0)]
    head = kept - kept // 4
    tail = kept - head
    return f"{text[:head]} […{len(text) - kept} characters left out…] {text[-tail:]}"


def _storable(text: str) -> str:
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else _paired(text)


def _part(text: str, start: int, end: int, given: Collection[str], taken: list[str] | None) -> str:
    """What stands between two places, without the secrets of the whole text."""
    if len(text) < SHORTEST_SECRET_CHARS:
        return text[start:end]
    for _ in range(_MAX_PASSES):
        spans = secret_spans(text, given)
        if not spans:
            break
        if taken is not None:
            taken += (text[begun:ended] for begun, ended, _ in spans)
        given = ()  # once only: a marker's own words are not looked for
        start, end = _moved(start, spans), _moved(end, spans)
        text = _redacted(text, spans)
    return text[start:end]


def _without_members(text: str, entered: Callable[[str], str], taken: list[str] | None) -> str:
    """A JSON text without its secret members; another text as it is."""
    if text[:1] not in "{[" or not may_name_a_secret(text):
        return text
    try:
        value = msgspec.json.decode(text)
        redacted = redact_json(value, entered, taken)
    except (msgspec.DecodeError, RecursionError):
        return text
    return text if redacted == value else msgspec.json.encode(redacted).decode()


def _member(name: Any, value: Any, entered: Callable[[str], str], taken: list[str] | None) -> Any:
    if isinstance(name, str) and is_secret_name(name) and isinstance(value, str | int | float):
        if isinstance(value, bool) or value == "" or (isinstance(value, str) and _REDACTED.fullmatch(value)):
            return value
        if taken is not None and MARKER not in str(value):
            taken.append(str(value))
        return "[redacted:value]"
    return redact_json(value, entered, taken)


def _name_of_value(value: dict[Any, Any]) -> str:
    """The name that `value` has by a member beside it; empty if there is none."""
    if not any(name in value for name in _VALUE_MEMBERS):
        return ""
    names = (value.get(name) for name in _NAME_MEMBERS)
    return next((name for name in names if isinstance(name, str)), "")


def _paired(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _around_key(text: str, at: int) -> tuple[int, int]:
    """Where the key block around a place begins and ends; the place twice if there is none."""
    begin = text.rfind(_KEY_BEGINS, 0, at)
    if begin < 0:
        return at, at
    end = text.find(_KEY_ENDS, begin)
    end = len(text) if end < 0 else end
    return (begin, end) if end > at else (at, at)


def _moved(at: int, spans: list[tuple[int, int, str]]) -> int:
    """Where a place is once these secrets are redacted; one within a secret comes before its marker."""
    by = 0
    for start, end, kind in spans:
        if start >= at:
            break
        if end > at:
            return start + by
        by += len(f"[redacted:{kind}]") - (end - start)
    return at + by


def _redacted(text: str, spans: list[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, kind in spans:
        parts += (text[at:start], f"[redacted:{kind}]")
        at = end
    return "".join((*parts, text[at:]))
