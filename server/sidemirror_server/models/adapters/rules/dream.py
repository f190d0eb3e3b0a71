"""A lesson from several memories, by rule: it names a kind of failure that came back, and what to do about it.

Memories without a common kind of error give no lesson here, because a rule cannot compare their prose.
"""

from sidemirror_server.models.adapters.rules.advice import advice, named
from sidemirror_server.models.adapters.rules.wording import tool_name
from sidemirror_server.models.answers import AppliesWhenAnswer, CategoryWord, DreamAnswer
from sidemirror_server.models.evidence import Evidence, EvidenceStep

# Seed reflection-engine-v2, "Importance Tuning": valuable insights are 0.6 to 0.8. A failure that came back is one.
_IMPORTANCE = 0.7
# Chosen here: a rule counts failures and does not know whether their causes are the same.
_CONFIDENCE = 0.6
_MOST_CITED = 32
_NOTHING = DreamAnswer(lesson="")


def dream_answer(evidence: Evidence) -> DreamAnswer:
    """The lesson of memories with the same kind of error of one tool. Empty for other memories, and where nothing is to
    be done about that kind."""
    category = _common(evidence.steps)
    if category is None:
        return _NOTHING
    tool = _tool(evidence.steps)
    name = tool_name(evidence.steps[0])
    strategy = advice(category, name, "") if tool else ""
    if not strategy:
        return _NOTHING
    return DreamAnswer(
        lesson=f"In {len(evidence.steps)} cases {name} failed in the same way ({category}).",
        strategy=strategy,
        importance=_IMPORTANCE,
        confidence=_CONFIDENCE,
        tags=(category[:64], tool.lower()[:64]),
        applies_when=AppliesWhenAnswer(tools=(tool,), error_categories=(category,)),
        supporting_memory_ids=tuple(step.event_id for step in evidence.steps)[:_MOST_CITED],
    )


def _common(steps: tuple[EvidenceStep, ...]) -> CategoryWord | None:
    categories = {step.category for step in steps}
    category = categories.pop() if len(categories) == 1 else None
    return named(category)


def _tool(steps: tuple[EvidenceStep, ...]) -> str:
    names = {step.name for step in steps}
    name = names.pop() if len(names) == 1 else ""
    return name if name and name.isprintable() and " " not in name else ""
