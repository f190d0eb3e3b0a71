"""What several memories teach together, by rule: that the same kind of failure came back, and what to do about it.

Memories that name no common kind of error teach nothing together here: a rule does not see what prose has in common.
"""

from sidemirror_server.models.adapters.rules.advice import advice, named
from sidemirror_server.models.adapters.rules.mid_turn import quoted
from sidemirror_server.models.answers import AppliesWhenAnswer, CategoryWord, DreamAnswer
from sidemirror_server.models.evidence import Evidence, EvidenceStep

# Seed reflection-engine-v2, "Importance Tuning": valuable insights are 0.6 to 0.8. What came back is one.
_IMPORTANCE = 0.7
# A rule counts; it does not know whether the causes are the same. Chosen here.
_CONFIDENCE = 0.6
_MOST_CITED = 32
_NOTHING = DreamAnswer(lesson="")


def dream_answer(evidence: Evidence) -> DreamAnswer:
    """The lesson of memories that name the same kind of error, the newest of them quoted; else an empty one."""
    category = _common(evidence.steps)
    if category is None:
        return _NOTHING
    tool = _tool(evidence.steps)
    what = tool or "the same step"
    return DreamAnswer(
        lesson=f"In {len(evidence.steps)} cases {what} failed in the same way ({category}). "
        f"One of them: {quoted(evidence.steps[0].text)}.",
        strategy=advice(category, what, ""),
        importance=_IMPORTANCE,
        confidence=_CONFIDENCE,
        tags=tuple(tag[:64] for tag in (category, tool.lower()) if tag),
        applies_when=AppliesWhenAnswer(tools=(tool,) if tool else (), error_categories=(category,)),
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
