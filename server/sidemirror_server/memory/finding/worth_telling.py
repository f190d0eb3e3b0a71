"""Whether a lesson that the rules made is about what an agent meets, at a failing call and at a task's start. Pure.

Such a lesson names the tool that failed, which every task of an agent uses, so that the tool alone says nothing of
whether it fits. Lessons in other words, and those that a person has reviewed, are always told where they apply.
"""

from collections.abc import Iterable

from sidemirror_server.memory.record import MemoryRecord
from sidemirror_server.vocabulary.by_rule import RuleKind, RuleWords, rule_words
from sidemirror_server.vocabulary.missing_names import missing_name
from sidemirror_server.vocabulary.terms import terms_of

# Two texts say the same if they have this share of their words in common. Chosen here.
_SAME_RATIO = 0.8
_FEWEST_TERMS = 4


def says_nothing_at_failure(memory: MemoryRecord, errors: Iterable[str]) -> bool:
    """Whether a lesson about failing calls, with these errors, says nothing of them."""
    words = _unreviewed(memory)
    if words is None or words.kind is RuleKind.PASSED:
        return False
    missing = (missing_name(error) for error in errors)
    return words.kind is not RuleKind.NAMED or words.name not in {one.name.lower() for one in missing if one}


def says_nothing_at_start(memory: MemoryRecord, task: str, *, had_failure: bool) -> str:
    """Why a lesson says nothing at the start of a task; empty if it does. `had_failure`: the task begins with the
    failure that the lesson is about."""
    words = _unreviewed(memory)
    if words is None:
        return ""
    if words.kind is RuleKind.QUOTED:
        return "it quotes a user, and no person has reviewed it"
    if words.kind is RuleKind.RESTATED:
        return "it restates what calls of one turn came to, and no person has reviewed it"
    if had_failure or _is_same_task(memory, task):
        return ""
    return "a rule made it of another task, and no person has reviewed it"


def awaits_review(memory: MemoryRecord) -> bool:
    """Whether a lesson is told nowhere until a person reviews it, by what it says."""
    words = _unreviewed(memory)
    return words is not None and words.kind in (RuleKind.QUOTED, RuleKind.RESTATED)


def says_the_same(terms: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two texts say nearly the same, by their terms."""
    if min(len(terms), len(other)) < _FEWEST_TERMS:
        return terms == other
    return len(terms & other) >= _SAME_RATIO * len(terms | other)


def _unreviewed(memory: MemoryRecord) -> RuleWords | None:
    return None if memory.is_reviewed else rule_words(memory.content)


def _is_same_task(memory: MemoryRecord, task: str) -> bool:
    asked, known = (frozenset(terms_of(text).split()) for text in (task, memory.task_text))
    return bool(asked) and says_the_same(asked, known)
