"""The types of models' answers, one per purpose. Types are also the schemas; models see the classes' docstrings.

This module is beside the port, because both the rooms that ask and the adapters that answer need it.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class MidTurnAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reflection in the middle of a turn."""

    reflection: Annotated[
        str,
        Meta(
            max_length=4_000,
            description="One to four sentences: what works, what does not and why, and what is still missing. Empty if "
            "there is nothing that the agent does not know.",
        ),
    ]
    suggested_action: (
        Annotated[
            str, Meta(max_length=1_000, description="The one next action to take, in one sentence; null if none.")
        ]
        | None
    ) = None
    confidence: (
        Annotated[float, Meta(ge=0.0, le=1.0, description="How sure this assessment is: 0 is a guess, 1 is certain.")]
        | None
    ) = None
    cited_event_ids: Annotated[
        tuple[str, ...],
        Meta(
            max_length=32,
            description="The ids of the recorded events that the reflection is about, most telling first.",
        ),
    ] = ()


IssueWord = Literal[
    "wrong_fact",
    "missing_critical_information",
    "potential_harm",
    "missing_detail",
    "unsupported_claim",
    "not_actionable",
    "unclear",
    "style",
    "length",
]


class IssueAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One problem of a response."""

    kind: IssueWord
    severity: Literal["minor", "major", "critical"]
    quote: Annotated[
        str,
        Meta(
            max_length=1_000,
            description="The exact words, copied from the response; for missing information from the task or evidence.",
        ),
    ]
    reason: Annotated[str, Meta(min_length=1, max_length=1_000, description="What is wrong, in one sentence.")]
    fix: (
        Annotated[str, Meta(max_length=1_000, description="How to mend it, in one sentence; null if not known.")] | None
    ) = None


class DimensionAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """How well a response does in one dimension."""

    name: Literal["accuracy", "completeness", "actionability", "clarity"]
    score: Annotated[float, Meta(ge=0.0, le=1.0, description="0 is useless, 1 is flawless.")]
    reason: Annotated[str, Meta(max_length=500, description="Why, in one short sentence.")] = ""


class CritiqueAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A critique of a response. It cannot ask for a revision: that is computed."""

    dimensions: Annotated[tuple[DimensionAnswer, ...], Meta(max_length=8, description="Each of the four, once.")] = ()
    issues: Annotated[
        tuple[IssueAnswer, ...], Meta(max_length=16, description="At most five problems that matter; none is common.")
    ] = ()
    suggestions: Annotated[
        tuple[Annotated[str, Meta(max_length=1_000)], ...], Meta(max_length=8, description="Improvements worth making.")
    ] = ()
    confidence: (
        Annotated[
            float,
            Meta(ge=0.0, le=1.0, description="How likely the response is right and complete: 0 surely not, 1 surely."),
        ]
        | None
    ) = None


class RevisionAnswer(msgspec.Struct, frozen=True):
    """A revised response."""

    response: Annotated[str, Meta(min_length=1, max_length=64_000, description="The whole revised answer and no more.")]


class ComparisonAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which of two responses serves the user better."""

    better: Literal["first", "second", "tie"]
    reason: Annotated[str, Meta(max_length=1_000, description="What decides, in one sentence.")] = ""


class CriterionAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """How well a trace does by one criterion."""

    name: Literal["correctness", "helpfulness", "safety"]
    score: Annotated[float, Meta(ge=0.0, le=1.0, description="0 is not at all, 1 is fully.")]
    reason: Annotated[str, Meta(max_length=500, description="Why, in one short sentence.")] = ""


class EvaluationAnswer(msgspec.Struct, frozen=True):
    """An evaluation of a trace."""

    criteria: Annotated[tuple[CriterionAnswer, ...], Meta(max_length=8, description="Each of the three, once.")]


class DebateAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One critic's part in a round of a debate."""

    argument: Annotated[str, Meta(min_length=1, max_length=4_000, description="One to four sentences.")]
    issues: Annotated[
        tuple[IssueAnswer, ...], Meta(max_length=8, description="The problems that the argument rests on; may be none.")
    ] = ()


CategoryWord = Literal[
    "timeout",
    "validation",
    "permission",
    "not_found",
    "rate_limit",
    "network",
    "tool",
    "model",
    "resource",
    "logic",
    "unknown",
]


class AppliesWhenAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a lesson is worth showing."""

    tools: Annotated[
        tuple[Annotated[str, Meta(max_length=256)], ...],
        Meta(max_length=8, description="Names of the tools that it is about, as the events have them; may be none."),
    ] = ()
    error_categories: Annotated[
        tuple[CategoryWord, ...], Meta(max_length=4, description="Kinds of errors that it is about; may be none.")
    ] = ()
    not_when: (
        Annotated[str, Meta(max_length=500, description="When it does not apply, in one sentence; null if always.")]
        | None
    ) = None


_Strategy = Annotated[
    str, Meta(max_length=2_000, description="A specific actionable strategy or rule, 1-2 sentences; null if none.")
]
_Importance = Annotated[float, Meta(ge=0.0, le=1.0, description="How much the lesson matters: 1.0 is critical.")]
_Tags = Annotated[
    tuple[Annotated[str, Meta(max_length=64)], ...],
    Meta(max_length=16, description='Relevant tags in lower case, such as "sql" or "timeout".'),
]


class MemoryReflectionAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an episode taught."""

    reflection: Annotated[
        str,
        Meta(
            max_length=4_000,
            description="What happened and why, clearly, in 2-3 sentences. Empty if nothing is worth remembering.",
        ),
    ]
    strategy: _Strategy | None = None
    importance: _Importance | None = None
    confidence: (
        Annotated[float, Meta(ge=0.0, le=1.0, description="How sure this analysis is: 0 is a guess, 1 is certain.")]
        | None
    ) = None
    tags: _Tags = ()
    applies_when: AppliesWhenAnswer | None = None
    cited_event_ids: Annotated[
        tuple[str, ...],
        Meta(max_length=32, description="The ids of the events that the lesson rests on, most telling first."),
    ] = ()


class DreamAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What several memories teach together, if anything."""

    lesson: Annotated[
        str, Meta(max_length=4_000, description="What they have in common and why, in 2-3 sentences; empty if nothing.")
    ]
    strategy: _Strategy | None = None
    importance: _Importance | None = None
    confidence: (
        Annotated[float, Meta(ge=0.0, le=1.0, description="How sure it is: 0 is a guess, 1 is certain.")] | None
    ) = None
    tags: _Tags = ()
    applies_when: AppliesWhenAnswer | None = None
    supporting_memory_ids: Annotated[
        tuple[Annotated[str, Meta(max_length=128)], ...],
        Meta(max_length=32, description="The ids of the memories that the lesson rests on, most telling first."),
    ] = ()


class GoalAnswer(msgspec.Struct, frozen=True):
    """What a finished goal taught."""

    insight: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=2_000,
            description="One to three short sentences: what mattered for the outcome, and what to do next time.",
        ),
    ]
