"""Reads fields of a hook's JSON, whatever stands in them. Pure; used by `hosts/`."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from sidemirror_server.vocabulary.text import enter

Payload: TypeAlias = Mapping[str, Any]

# Of a text that is kept, in characters at each end. Chosen here: in UTF-8 both together stay below the contract's
# 256 KiB, and what a tool says about a failure stands at an end.
_END_CHARS = 32_000
# What is looked at beyond a cut, so that a secret there is recognised. Chosen here: longer than a private key.
_BEYOND_CHARS = 16_000
_CUT = "\n[…]\n"


def payload_in(body: bytes, most_bytes: int) -> dict[str, Any]:
    """The fields of a hook's JSON. Of one that is longer than `most_bytes`, as an image makes it, the longest are texts
    that are cut as `written` does, so that those which are not cut are no longer together. Raises what decoding
    raises."""
    if len(body) <= most_bytes:
        return msgspec.json.decode(body, type=dict[str, Any])
    fields = {name: bytes(raw) for name, raw in msgspec.json.decode(body, type=dict[str, msgspec.Raw]).items()}
    payload: dict[str, Any] = {}
    left_bytes = most_bytes
    for name, raw in sorted(fields.items(), key=lambda field: len(field[1])):
        left_bytes -= len(raw)
        if left_bytes >= 0:
            payload[name] = msgspec.json.decode(raw)
        else:
            payload[name] = written(msgspec.json.decode(raw, type=str) if raw.startswith(b'"') else raw.decode())
    return payload


def text_in(payload: Payload, *names: str) -> str:
    """The first of these fields that is a text with anything in it; empty if there is none."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def written(value: Any) -> str:
    """A field as text: a text as it is, nothing as nothing, everything else as JSON. Long texts keep both ends, and
    have no secrets: half of one would not be recognised later."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if len(text) <= 2 * _END_CHARS:
        return text
    seen = _END_CHARS + _BEYOND_CHARS
    first, last = enter(text[:seen]), enter(text[-seen:])
    # What is beyond a cut goes whole, however much shorter the redaction has made the rest.
    head, tail = (
        first[: min(_END_CHARS, len(first) - _BEYOND_CHARS)],
        last[max(_BEYOND_CHARS, len(last) - _END_CHARS) :],
    )
    return head + _CUT + tail


def object_in(payload: Payload, name: str) -> Payload:
    """The field as an object; an empty one if it is none."""
    value = payload.get(name)
    return value if isinstance(value, dict) else {}
