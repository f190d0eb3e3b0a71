"""Values as the text that is reported of them."""

import contextlib
import json
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from typing import Any


def as_text(value: object) -> str:
    """A text as it is, an exception as its type and message, everything else as JSON; what JSON cannot say, such as a
    circle, as Python shows it."""
    if isinstance(value, str):
        return value
    return _shown(value, _raised if isinstance(value, BaseException) else _json)


def message_of(error: BaseException) -> str:
    """What an exception says, without its type; of one that says nothing, as Python shows it."""
    return _shown(error, str) or _shown(error, repr)


def sendable(value: object) -> str:
    """The text of a value without halves of surrogate pairs, such as `os.fsdecode` makes: protobuf refuses them."""
    return as_text(value).encode(errors="replace").decode()


def _shown(value: object, way: Callable[[Any], str]) -> str:
    # A value's own methods may raise anything, and the agent goes on.
    for shown in (way, repr):
        with contextlib.suppress(Exception):
            return shown(value)
    return object.__repr__(value)


def _raised(error: object) -> str:
    return f"{type(error).__name__}: {error}"


def _json(value: object) -> str:
    return json.dumps(value, default=_fields, ensure_ascii=False)


def _fields(value: Any) -> Any:
    """What is said of an object in JSON: the fields of a pydantic model or of a dataclass, else what `str` says."""
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(mode="json")
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
