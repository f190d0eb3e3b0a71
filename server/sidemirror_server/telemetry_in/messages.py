"""The texts in messages of a conversation, in the forms that instrumentations write them. Pure.

Messages are JSON (`[{"role": …, "parts": […]}]`, or with `content`), or one attribute for each part of each message
(`llm.input_messages.3.message.role`). What is neither has no text.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

_USER = ("user", "human")
# `0.message.content` of OpenInference, `0.content` of OpenLLMetry, and texts in parts of a message.
_FLAT = re.compile(r"(\d{1,6})\.(?:message\.)?(role|content|contents\.\d{1,4}\.message_content\.text)")


def decoded(value: Any) -> Any:
    """The JSON that a text holds, or the value itself if it is no text; None if it is no JSON."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value.encode("utf-8", "surrogatepass"))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def last_question(value: Any) -> str:
    """What the user last wrote; empty if nothing. `value`: messages, or a prompt with messages in it."""
    found = decoded(value)
    while isinstance(found, dict):
        prompt = found.get("prompt")
        if isinstance(prompt, str):
            return prompt
        found = decoded(found.get("messages", prompt))
    for message in reversed(found) if isinstance(found, list) else ():
        if isinstance(message, dict) and message.get("role") in _USER and (text := text_of(message)):
            return text
    return ""


def answer_in(value: Any) -> str:
    """The text of the last message that has one; empty if none has. `value`: messages that a model wrote."""
    found = decoded(value)
    for message in reversed(found) if isinstance(found, list) else ():
        if isinstance(message, dict) and (text := text_of(message)):
            return text
    return ""


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, of all its parts; empty if it has none."""
    for key in ("parts", "content"):
        value = message.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and (text := "".join(_texts(value))):
            return text
    return ""


def gathered(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The messages whose parts are attributes with this prefix, in the order of their numbers."""
    messages: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        if name.startswith(prefix) and (found := _FLAT.fullmatch(name, len(prefix))) and isinstance(value, str):
            message = messages.setdefault(int(found[1]), {})
            # A message's own text goes before its parts, which repeat it.
            message.setdefault("content" if found[2].startswith("contents") else found[2], value)
            if found[2] == "content":
                message["content"] = value
    return [messages[number] for number in sorted(messages)]


def _texts(parts: Iterable[Any]) -> Iterable[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and part.get("type", "text") == "text":
            text = part.get("content", part.get("text"))
            if isinstance(text, str):
                yield text
