"""What an error says where it is an object, as those of HTTP, of MCP and of most tools are. Pure."""

import ast
import re
from collections.abc import Mapping
from typing import Any

import msgspec

# Where an object says what went wrong, the most telling field first, in small letters and without `_`. OpenAPI's and
# FastAPI's `detail`, OAuth's `error_description`, GraphQL's `errors`, MCP's `content` and `text`, RFC 9457's `title`.
_FIELDS = (
    *("message", "errormessage", "errordescription", "error", "errors", "detail", "details", "reason", "msg"),
    *("description", "content", "text", "title"),
)
# In code points and levels. Chosen here: what is longer or deeper is data.
_READ_CHARS = 4_000
_LEVELS = 6
# An exception as Python writes it, or a text in quotation marks behind a word. A lookup that fails names its key so.
_QUOTED = re.compile(r"^(?!(?:\w+\.)*KeyError\b)[A-Za-z_][\w.]{0,80}(?:\(|:\s?)(['\"])(.+)\1,?\)?$")


def message_in(error_text: str) -> str:
    """What an error says that is an object, holds one behind other words, or is in quotation marks as a whole; empty
    for every other text."""
    said = error_text.strip()[:_READ_CHARS]
    begins = min((at for at in (said.find("{"), said.find("[")) if at >= 0), default=-1)
    if begins >= 0 and said[-1] in "}]":
        value = parsed(said[begins:])
        # Behind words a list of texts is what they are about.
        is_data = begins > 0 and isinstance(value, list) and all(isinstance(one, str) for one in value)
        if not is_data and (found := message_of(value)):
            return found
    quoted = _QUOTED.match(said)
    return quoted[2] if quoted and " " in quoted[2].strip() else ""


def message_of(value: Any, levels: int = _LEVELS) -> str:
    """The message in an object; empty if it has none."""
    if isinstance(value, str):
        return value.strip()
    if levels == 0:
        return ""
    if isinstance(value, list):
        return next((found for one in value if (found := message_of(one, levels - 1))), "")
    if not isinstance(value, Mapping):
        return ""
    fields = {str(name).lower().replace("_", ""): of for name, of in value.items()}
    return next((found for name in _FIELDS if (found := message_of(fields.get(name), levels - 1))), "")


def parsed(text: str) -> Any:
    """A value of JSON, or one as Python writes it; None if the text is neither."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
