"""Schemas are in the dialect that all providers take."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sidemirror_server.models.answer_schema import schema_in_words, strict_schema
from sidemirror_server.models.answers import MidTurnAnswer


class Part(msgspec.Struct, frozen=True):
    name: str
    weight: Annotated[float, Meta(ge=0, le=1)] = 0.5


class Whole(msgspec.Struct, frozen=True):
    """All of it."""

    parts: Annotated[tuple[Part, ...], Meta(max_length=3, description="The parts.")] = ()
    first: Part | None = None


def test_the_answer_of_a_mid_turn_reflection() -> None:
    schema = strict_schema(MidTurnAnswer)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["reflection", "suggested_action", "confidence", "cited_event_ids"]
    assert schema["properties"]["reflection"] == {
        "description": "One to four sentences: what works, what does not and why, and what is still missing. Empty if "
        "there is nothing that the agent does not know. (at most 4000 characters)",
        "type": "string",
    }
    assert schema["properties"]["confidence"]["anyOf"] == [
        {
            "description": "How sure this assessment is: 0 is a guess, 1 is certain. (at least 0.0, at most 1.0)",
            "type": "number",
        },
        {"type": "null"},
    ]


def test_parts_are_strict_too() -> None:
    assert strict_schema(Whole) == {
        "description": "All of it.",
        "type": "object",
        "properties": {
            "parts": {
                "type": "array",
                "items": {"$ref": "#/$defs/Part"},
                "description": "The parts. (at most 3 items)",
            },
            "first": {"anyOf": [{"$ref": "#/$defs/Part"}, {"type": "null"}]},
        },
        "required": ["parts", "first"],
        "additionalProperties": False,
        "$defs": {
            "Part": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "weight": {"type": "number", "description": "(at least 0, at most 1)"},
                },
                "required": ["name", "weight"],
                "additionalProperties": False,
            }
        },
    }


def test_in_words_it_is_the_same_schema() -> None:
    words = schema_in_words(MidTurnAnswer)
    assert msgspec.json.decode(words[words.index("{") :]) == strict_schema(MidTurnAnswer)
