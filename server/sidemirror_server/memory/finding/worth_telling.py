"""Whether a lesson that the rules made is about what an agent meets, at a failing call and at a task's start. Pure.

Such a lesson names the tool that failed, which every task of an agent uses, so that the tool alone says nothing of
whether it fits. A lesson that came of one failure is told at another of its kind only where it has words of that one,
also if a person has reviewed it.
"""

from collections.abc import Iterable

from sidemirror_server.memory.kin.signature import tool_of
from sidemirror_server.memory.record import MemoryRecord, tasks_of
from sidemirror_server.vocabulary.by_rule import RuleKind, RuleWords, own_words, rule_words
from sidemirror_server.vocabulary.missing_names import missing_name
from sidemirror_server.vocabulary.telling import STOCK
from sidemirror_server.vocabulary.terms import telling_terms, terms_of

# So many distinctive words of an error make a lesson one about it, as those of a task do (`fits.py`). Chosen here.
_FEWEST_WORDS = 2
# Two texts say the same if they have this share of their words in common. Chosen here.
_SAME_RATIO = 0.8
_FEWEST_TERMS = 4


def says_nothing_at_failure(memory: MemoryRecord, errors: Iterable[str]) -> bool:
    """Whether a lesson about failing calls, with these errors, says nothing of them."""
    words = _unreviewed(memory)
    if words is None:
        return False
    missing = (missing_name(error) for error in errors)
    return words.kind is not RuleKind.NAMED or words.name not in {one.name.lower() for one in missing if one}


def is_about(memory: MemoryRecord, errors: Iterable[str]) -> bool:
    """Whether a lesson for this kind of error of this tool is about one of these errors. A tool such as a shell has
    many failures of a kind: a lesson that came of one failure is about others only where it has words of theirs. One
    that came of none has the conditions that its author gave."""
    if not memory.error_signature:
        return True
    tool, said = tool_of(memory.error_signature), telling_terms(own_words(memory.content))
    return any(_has_words(said - telling_terms(tool), error) for error in errors)


def _has_words(said: frozenset[str], error: str) -> bool:
    """Whether these terms name what an error says is missing, or have enough of its words."""
    return _has_name(said, error) or len(said & telling_terms(error) - STOCK) >= _FEWEST_WORDS


def names_missing(memory: MemoryRecord, errors: Iterable[str]) -> bool:
    """Whether a lesson names what one of these errors says is missing."""
    said = telling_terms(own_words(memory.content))
    return any(_has_name(said, error) for error in errors)


def _has_name(said: frozenset[str], error: str) -> bool:
    missing = missing_name(error)
    named = telling_terms(missing.name) if missing else frozenset()
    return bool(named) and named <= said


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
    """Whether a lesson came of a task that says nearly the same: the first one that taught it, or a later one."""
    asked = frozenset(terms_of(task).split())
    known = (frozenset(terms_of(one).split()) for one in tasks_of(memory))
    return bool(asked) and any(says_the_same(asked, terms) for terms in known)
