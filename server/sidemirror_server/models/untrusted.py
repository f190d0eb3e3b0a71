"""Checks answers from models: an answer is data from outside, and must pass these checks before it is used.

Adapters turn a provider's answer into a `ModelReply`; `accepted` checks it against the question. This module words the
details of failures, because a provider's or a model's words may repeat the prompt.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Literal, NoReturn

import msgspec

from sidemirror_server.models.language_model import AnswerT, Ask
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from sidemirror_server.vocabulary.text import redact_json

# An answer of 2,048 tokens is 10 KB, and the longest one of any purpose stays under 100 KB. The rest is room for
# thinking and for padding by proxies. Reading stops at this size, before a larger body fills the memory (decision 022).
MAX_BODY_BYTES = 1024 * 1024

# An answer that contains this many first characters of the system text or of the prompt is refused as a repetition.
# Chosen here: about one of our sentences. Evidence, which an answer may quote, comes later in every prompt.
_ECHO_CHARS = 64

_PLACE = re.compile(r" - at `(\$[\w.\[\]]*)`$")


class ModelReply(msgspec.Struct, frozen=True):
    """A model's answer, in a form that is the same for all providers.

    `ending`: `done`, `cut` (by a limit of tokens) or `refused`. Anything else is the provider's word for it; "" if
    there is none.
    """

    text: str
    ending: Literal["done", "cut", "refused"] | str
    usage: Usage


class NotJson(Exception):
    """The text is not JSON, or has a number that JSON does not allow."""


def json_of(text: bytes | str) -> Any:
    """Decoded JSON; unpaired surrogates stay, so that `enter` can replace them. Raises NotJson."""
    try:
        return json.loads(
            text.decode("utf-8", "replace") if isinstance(text, bytes) else text,
            parse_constant=_refuse,
            parse_float=_finite,
        )
    except (ValueError, RecursionError) as error:
        raise NotJson from error


def accepted(heard: ModelReply, ask: Ask[AnswerT], *, lenient: bool = False) -> AnswerT:
    """The answer, redacted and checked against the ask's type. Raises ModelFailed, with the call's usage.

    `lenient`: ignores prose and thinking around the JSON object, for models that no schema binds.
    """
    usage = heard.usage
    if heard.ending == "refused":
        raise ModelFailed(ResultStatus.REFUSED, "the model refused to answer", usage=usage)
    if heard.ending == "cut":
        raise ModelFailed(ResultStatus.TRUNCATED, "the answer was cut off at its limit of tokens", usage=usage)
    if heard.ending != "done":
        why = f"the answer ended with {word(heard.ending)}" if heard.ending else "the answer has no stop reason"
        raise ModelFailed(ResultStatus.FAILED_MODEL, why, retryable=not heard.ending, usage=usage)
    if not heard.text.strip():
        raise ModelFailed(ResultStatus.FAILED_MODEL, "the answer is empty", retryable=True, usage=usage)
    try:
        value = redact_json(_object_in(heard.text) if lenient else json_of(heard.text))
        answer = msgspec.convert(value, ask.answer_type)
    except NotJson as error:
        raise ModelFailed(ResultStatus.FAILED_PARSE, "the answer is not JSON", retryable=True, usage=usage) from error
    except msgspec.ValidationError as error:
        place = _PLACE.search(str(error))
        why = f"the answer does not fit its schema at {place[1] if place else '$'}"
        raise ModelFailed(ResultStatus.FAILED_PARSE, why, retryable=True, usage=usage) from error
    if _repeats(value, ask):
        why = "the answer repeats what the model was told"
        raise ModelFailed(ResultStatus.FAILED_PARSE, why, retryable=True, usage=usage)
    return answer


def word(text: object) -> str:
    """`text` if it is a provider's name, such as an error type or a stop reason; else a placeholder. A name has only
    small letters, dots and underscores, so that it cannot reveal a key or a prompt."""
    return text if isinstance(text, str) and re.fullmatch(r"[a-z][a-z_.]{0,47}", text) else "(unreadable)"


def _object_in(text: str) -> Any:
    """The JSON object in `text`, without the text around it. Raises NotJson."""
    text = text.rpartition("</think>")[2]
    try:
        return json_of(text)
    except NotJson:
        start, end = text.find("{"), text.rfind("}")
        if start < 0 or end < start:
            raise
        return json_of(text[start : end + 1])


def _repeats(value: Any, ask: Ask[Any]) -> bool:
    heads = [told[:_ECHO_CHARS] for told in (ask.system, ask.prompt) if len(told) >= _ECHO_CHARS]
    return any(head in text for text in _texts(value) for head in heads)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        _refuse(digits)
    return number


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
