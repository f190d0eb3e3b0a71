"""Prepares texts that enter the server: characters that cannot be stored are replaced, secrets are redacted.

`rpc` calls `enter` once on each text of a request, before models, stores, logs and telemetry get it (decision 036).
`clip` makes an entered text fit a prompt.
"""

from typing import Any

import msgspec

from sidemirror_server.vocabulary.redaction import SHORTEST_SECRET_CHARS, secret_spans
from sidemirror_server.vocabulary.secret_names import is_secret_name, may_name_a_secret

# A redacted text can look like another secret; no text is known to need a third pass.
_MAX_PASSES = 4


def enter(text: str) -> str:
    """`text` as it may be stored: NUL and unpaired surrogates become U+FFFD, a secret becomes `[redacted:<kind>]`.

    A recognisable public prefix stays before the marker (`sk-ant-[redacted:anthropic]`). A second call changes nothing.
    A text without any trigger is returned unchanged.
    """
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if not text.isascii():
        text = _paired(text)
    if len(text) < SHORTEST_SECRET_CHARS:
        return text
    for _ in range(_MAX_PASSES):
        spans = secret_spans(text)
        if not spans:
            break
        text = _redacted(text, spans)
    return text


def enter_json(text: str) -> str:
    """`enter` for a JSON text, such as a call's arguments: members with the name of a secret are redacted too.

    A text that is not JSON is entered as plain text. The formatting changes only if a value was redacted.
    """
    entered = enter(text)
    if entered[:1] not in "{[" or not may_name_a_secret(entered):
        return entered
    try:
        value = msgspec.json.decode(entered)
        redacted = redact_json(value)
    except (msgspec.DecodeError, RecursionError):
        return entered
    return entered if redacted == value else msgspec.json.encode(redacted).decode()


def redact_json(value: Any) -> Any:
    """A copy of decoded JSON (or of a Struct as a dict) with every string and every member's name entered, and every
    secret member redacted.

    A member with the name of a secret (password, token, api_key, authorization, …) is redacted whatever its value.
    Null, booleans and empty values stay; a nested object is searched instead.
    """
    if isinstance(value, str):
        return enter(value)
    if isinstance(value, dict):
        return {enter(name) if isinstance(name, str) else name: _member(name, member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [redact_json(item) for item in value]
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


def _member(name: Any, value: Any) -> Any:
    if isinstance(name, str) and is_secret_name(name) and isinstance(value, str | int | float):
        if isinstance(value, bool) or value == "" or (isinstance(value, str) and "[redacted:" in value):
            return value
        return "[redacted:value]"
    return redact_json(value)


def _paired(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _redacted(text: str, spans: list[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, kind in spans:
        parts += (text[at:start], f"[redacted:{kind}]")
        at = end
    return "".join((*parts, text[at:]))
