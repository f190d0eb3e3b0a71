"""Which memories fit a task, by what, and why the others are left out. Pure; used by `context.py`."""

from collections.abc import Collection, Sequence
from enum import IntEnum

import msgspec

from sidemirror_server.memory.finding.ranking import Ranked
from sidemirror_server.memory.finding.worth_telling import says_nothing_at_start, says_the_same
from sidemirror_server.memory.kin.signature import tool_of
from sidemirror_server.memory.record import MemoryRecord, quarantine_word, tasks_of
from sidemirror_server.policy.record import Advice
from sidemirror_server.trace.receipts import Fit, FitBy
from sidemirror_server.vocabulary.block import Omitted
from sidemirror_server.vocabulary.by_rule import own_words
from sidemirror_server.vocabulary.telling import says_no_lesson
from sidemirror_server.vocabulary.terms import telling_terms, terms_of

# `not_when` excludes a task that contains this share of its distinctive words. Chosen here: two of three.
_NOT_WHEN_RATIO = 0.66
# A lesson that names no tool or error fits if it has this score and shares this many distinctive words with the task,
# or has this vector similarity. Chosen here: showing a lesson that does not fit costs more than leaving one out.
FITS_SCORE = 0.25
FITS_WORDS = 2
_FITS_SIMILARITY = 0.5
# How many lessons of a block may fit by the name of a tool or a kind of error alone. Chosen here: most lessons name the
# tool that every turn uses, and few of them are about what the turn meets (bench/README.md, Silence).
_BY_NAME_ALONE = 2
# Contract: ReceiptItem.matched_words has at most 20.
_MOST_WORDS = 20
# Why lessons that would fit are left out.
SILENCED = "a policy silences it"
OF_SHELL = "no person has reviewed it, and the host has a shell"


class ContextTask(msgspec.Struct, frozen=True):
    """The task of a block. `signatures`: those of its failures (`kin/signature.py`); they exclude no lesson.
    `has_shell`: the agent's host can run commands, and is shown only what a person reviewed."""

    task: str
    tools: tuple[str, ...] = ()
    error_categories: tuple[str, ...] = ()
    turn_id: str = ""
    session_id: str = ""
    signatures: tuple[str, ...] = ()
    has_shell: bool = False


class Applies(IntEnum):
    """How closely the conditions of a lesson match, whatever its text says."""

    NOT_NAMED = 0
    # The lesson names a tool or a kind of error of the task.
    IN_PART = 1
    # The lesson is for this kind of error of this tool; `worth_telling.py:is_about` says whether for this error.
    TO_THE_CALL = 2
    # The lesson is about this very failure.
    TO_THE_FAILURE = 3


_BY = {Applies.IN_PART: FitBy.NAME, Applies.TO_THE_CALL: FitBy.CALL, Applies.TO_THE_FAILURE: FitBy.FAILURE}


class Candidate(msgspec.Struct, frozen=True):
    """A memory that may fit. `newer`: the id of the memory that supersedes this one, or empty."""

    memory: MemoryRecord
    score: float
    similarity: float
    applies: Applies
    newer: str = ""


def candidate_of(
    memory: MemoryRecord,
    found: Ranked | None,
    task: ContextTask,
    calls: Collection[tuple[str, str]] = (),
    newer: str = "",
) -> Candidate:
    """A memory as a candidate for a task. `calls`: the tool and the error category of each failed call."""
    when = memory.applies_when
    own = {memory.error_category, *when.error_categories} - {""}
    tools = {*when.tools, tool_of(memory.error_signature)} if memory.error_signature else set(when.tools)
    if memory.error_signature and memory.error_signature in task.signatures:
        applies = Applies.TO_THE_FAILURE
    elif any(tool in tools and category in own for tool, category in calls):
        applies = Applies.TO_THE_CALL
    else:
        applies = Applies(int(bool(set(when.tools) & set(task.tools) or own & set(task.error_categories))))
    similarity = found.similarity or 0.0 if found else 0.0
    return Candidate(memory, found.score if found else 0.0, similarity, applies, newer)


def chosen(
    candidates: Sequence[Candidate], task: ContextTask, advice: Advice
) -> tuple[list[Candidate], tuple[Omitted, ...]]:
    """The candidates that fit, in their order, and why each of the others is left out."""
    kept: list[Candidate] = []
    omitted: list[Omitted] = []
    said: list[frozenset[str]] = []
    asked = telling_terms(task.task)
    by_name = 0
    for one in candidates:
        terms = frozenset(terms_of(one.memory.content).split())
        reason = _why_left_out(one, task, asked)
        if not reason and one.newer:
            reason = f"{one.newer} holds in its place"
        if not reason and any(says_the_same(terms, other) for other in said):
            reason = "another item says nearly the same"
        is_by_name = one.applies is Applies.IN_PART and not _fits(one, asked)
        if not reason and asked and is_by_name and by_name >= _BY_NAME_ALONE:
            reason = "others fit by the name of a tool or a kind of error as well"
        if not reason and not advice.shows(one.memory.memory_id, one.memory.strategy_of, *one.memory.derived_from):
            reason = SILENCED
        if not reason and task.has_shell and not one.memory.is_reviewed:
            reason = OF_SHELL
        if reason:
            omitted.append(Omitted(one.memory.memory_id, reason))
            continue
        by_name += is_by_name
        kept.append(one)
        said.append(terms)
    return kept, tuple(omitted)


def fit_of(one: Candidate, task: ContextTask) -> Fit:
    """By what a candidate fits the task, for the receipt."""
    asked = telling_terms(task.task)
    by = _BY.get(one.applies) or (FitBy.WORDS if _fits_by_words(one, asked) else FitBy.MEANING)
    return Fit(one.score, by, tuple(sorted(_shared(one, asked)))[:_MOST_WORDS])


def held_in_quarantine(memory: MemoryRecord) -> str:
    """Why a memory in quarantine is left out."""
    return f"it is in quarantine ({quarantine_word(memory)})"


def is_excluded(memory: MemoryRecord, asked: frozenset[str]) -> bool:
    """Whether the conditions of a memory say that it is not for a task with these terms."""
    told = telling_terms(memory.applies_when.not_when)
    return bool(told) and len(told & asked) >= _NOT_WHEN_RATIO * len(told)


def _why_left_out(one: Candidate, task: ContextTask, asked: frozenset[str]) -> str:
    when = one.memory.applies_when
    if task.tools and when.tools and not set(task.tools) & set(when.tools):
        return "it applies to other tools"
    if task.error_categories and when.error_categories and not set(task.error_categories) & set(when.error_categories):
        return "it applies to other errors"
    if is_excluded(one.memory, asked):
        return "it does not apply to a task like this"
    if says_no_lesson(one.memory.content):
        return "it says nothing but how a task ended"
    if reason := says_nothing_at_start(one.memory, task.task, had_failure=one.applies is Applies.TO_THE_FAILURE):
        return reason
    if one.applies or _fits(one, asked):
        return ""
    return "it has too little of the task"


def _fits(one: Candidate, asked: frozenset[str]) -> bool:
    return one.similarity >= _FITS_SIMILARITY or _fits_by_words(one, asked)


def _fits_by_words(one: Candidate, asked: frozenset[str]) -> bool:
    return one.score >= FITS_SCORE and len(_shared(one, asked)) >= min(FITS_WORDS, len(asked)) > 0


def _shared(one: Candidate, asked: frozenset[str]) -> frozenset[str]:
    """The telling words that the task and the memory have in common."""
    return asked & telling_terms("\n".join((own_words(one.memory.content), *tasks_of(one.memory))))
