"""Values as the text that is reported of them."""

import contextlib
import json
from dataclasses import asdict, is_dataclass
from typing import Any


def as_text(value: object) -> str:
    """A text as it is, an exception as its type and message, everything else as JSON; what JSON cannot say, such as a
    circle, as Python shows it."""
    if isinstance(value, str):
        return value
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    # A value's own methods may raise anything, and the agent goes on.
    for shown in (_json, repr):
        with contextlib.suppress(Exception):
            return shown(value)
    return object.__repr__(value)


def sendable(value: object) -> str:
    """The text of a value without halves of surrogate pairs, such as `os.fsdecode` makes: protobuf refuses them."""
    return as_text(value).encode(errors="replace").decode()


def _json(value: object) -> str:
    return json.dumps(value, default=_fields, ensure_ascii=False)


def _fields(value: Any) -> Any:
    """What is said of an object in JSON: the fields of a pydantic model or of a dataclass, else what `str` says."""
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(mode="json")
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
