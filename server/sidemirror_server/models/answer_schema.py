"""The schema of an answer, in the strict dialect of JSON Schema that all providers share.

Providers check shapes, not ranges. Anthropic and OpenAI refuse a schema with a length or a bound, and a local server
makes a slow grammar of it. The description states the ranges instead, and `untrusted.py` checks them. Sources:
Anthropic's and OpenAI's structured output pages (decision 022).
"""

from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

# JSON Schema keyword → its wording in a description.
_IN_WORDS: Mapping[str, str] = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "matching {}",
    "format": "in the format {}",
}
_LEFT_OUT = frozenset({"title", "default", *_IN_WORDS})


def strict_schema(answer_type: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema of an answer: every field required, no other field allowed. The result is shared: never change it."""
    return _schema(answer_type)


def schema_in_words(answer_type: type[msgspec.Struct]) -> str:
    """The text to add to a prompt if the provider takes no schema."""
    schema = msgspec.json.encode(_schema(answer_type)).decode()
    return f"Answer with one JSON object and nothing else. It keeps to this JSON Schema:\n{schema}"


@lru_cache(maxsize=64)
def _schema(answer_type: Hashable) -> dict[str, Any]:
    assert isinstance(answer_type, type)
    schema = msgspec.json.schema(answer_type)
    definitions = {name: _strict(definition) for name, definition in schema.get("$defs", {}).items()}
    root: dict[str, Any] = definitions.pop(answer_type.__name__)
    return {**root, "$defs": definitions} if definitions else root


def _strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    strict = {name: value for name, value in schema.items() if name not in _LEFT_OUT}
    for name in ("anyOf", "prefixItems"):
        if name in strict:
            strict[name] = [_strict(option) for option in strict[name]]
    if isinstance(strict.get("items"), Mapping):
        strict["items"] = _strict(strict["items"])
    if "properties" in strict:
        strict["properties"] = {name: _strict(field) for name, field in strict["properties"].items()}
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    bounds = [words.format(schema[name]) for name, words in _IN_WORDS.items() if name in schema]
    if bounds:
        said = str(schema.get("description", "")).strip()
        strict["description"] = f"{said} ({', '.join(bounds)})".strip()
    return strict
