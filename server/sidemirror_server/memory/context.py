"""The lessons that fit a task, as a block with a receipt.

Where a lesson applies is matched before what it is like: one for the tool that is used or the error that came up comes
first, one for other tools or errors only is left out, and so is one whose `not when` describes the task.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from sidemirror_server.memory.evidence import Arm, is_held_back
from sidemirror_server.memory.ranking import Ranked
from sidemirror_server.memory.recall import Question, Recall
from sidemirror_server.memory.record import MemoryKind, MemoryRecord
from sidemirror_server.memory.search import Filter, MemorySearch
from sidemirror_server.memory.terms import telling_terms, terms_of
from sidemirror_server.memory.trials import Trial, Trials
from sidemirror_server.trace.receipts import Receipt, ReceiptKind, Receipts, receipt_items
from sidemirror_server.vocabulary.block import BlockItem, ContextBlock, Lesson, Omitted, render
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.scope import Scope

HEADING = "LESSONS FROM EARLIER WORK"
DEFAULT_ITEMS = 5
# Candidates for each item of a block. Chosen here: several may apply elsewhere, or say what another says.
_CANDIDATES = 4
# Two lessons of which one has nearly all the words of the other say the same. Chosen here.
_SAME_RATIO = 0.8
_FEWEST_TERMS = 4
# A task has so much of what `not when` says, in words that tell something. Chosen here: two of three.
_NOT_WHEN_RATIO = 0.66
# A lesson that applies to no tool or error named fits when it has so much of the best one's score, and shares so many
# telling words with the task, or is this similar by meaning. Chosen here: a lesson that does not fit costs more than
# one that is not shown.
_FITS_SCORE = 0.25
_FITS_WORDS = 2
_FITS_SIMILARITY = 0.5


_HELD_BACK = "it is held back this time, to learn what happens without it"


class Task(msgspec.Struct, frozen=True):
    """What a block is for."""

    task: str
    tools: tuple[str, ...] = ()
    error_categories: tuple[str, ...] = ()
    turn_id: str = ""
    session_id: str = ""


class Fitting(msgspec.Struct, frozen=True):
    """Lessons that fit a task, the best first, and what else was found and does not. `strategy_of`: the ids of the
    strategies among them, each with its reflection's."""

    lessons: tuple[Lesson, ...] = ()
    omitted: tuple[Omitted, ...] = ()
    strategy_of: dict[str, str] = {}


class _Candidate(msgspec.Struct, frozen=True):
    memory: MemoryRecord
    score: float
    similarity: float
    applies: bool


class MemoryContext:
    """Makes blocks of the memories that fit."""

    def __init__(self, recall: Recall, search: MemorySearch, receipts: Receipts, trials: Trials, clock: Clock) -> None:
        self._recall = recall
        self._search = search
        self._receipts = receipts
        self._trials = trials
        self._clock = clock

    async def build(
        self,
        scope: Scope,
        task: Task,
        receipt_id: str,
        max_items: int,
        max_tokens: int,
        holdout_fraction: float = 0.0,
    ) -> ContextBlock:
        """The block, whose receipt is durable; an empty one, without a receipt, when nothing fits. Of what would be in
        it, each lesson is held back for `holdout_fraction` of the receipts: to be compared, a draw comes after all else
        is decided, and nothing takes the place of what it holds back. Raises what the store raises."""
        found = await self.fitting(scope, task, max_items)
        block = render(HEADING, found.lessons, max_items, max_tokens, receipt_id)
        drawn = _drawn(block, found.strategy_of, receipt_id, holdout_fraction)
        held = tuple(trial.memory_id for trial in drawn if trial.arm is Arm.HELD_BACK)
        shown = _without(block, found.lessons, held, receipt_id) if held else block
        shown = msgspec.structs.replace(shown, omitted=(*found.omitted, *shown.omitted))
        if not block.items:
            return shown
        now_us = self._clock.now_us()
        receipt = Receipt(
            *(receipt_id, ReceiptKind.MEMORY, now_us, receipt_items(shown.items)),
            held_back=held,
            turn_id=task.turn_id,
            session_id=task.session_id,
        )
        await self._receipts.issue(scope, receipt)
        if drawn:
            await self._trials.assign(scope, receipt_id, drawn, now_us)
        return shown

    async def fitting(self, scope: Scope, task: Task, max_items: int, meaning_s: float | None = None) -> Fitting:
        """What could be shown, for a block that may have other parts too. `meaning_s`: how long to wait for the vector
        of the task, instead of the usual time. Raises what the store raises."""
        candidates = await self._candidates(scope, task, max_items * _CANDIDATES, meaning_s)
        kept, omitted = _chosen(candidates, task)
        of = {one.memory.memory_id: one.memory.strategy_of for one in kept if one.memory.strategy_of}
        return Fitting(tuple(Lesson(_item(one), _label(one.memory)) for one in kept), omitted, of)

    async def _candidates(self, scope: Scope, task: Task, limit: int, meaning_s: float | None) -> list[_Candidate]:
        """What applies, then what is alike; the best first in both."""
        if await self._recall.has_none(scope):
            return []  # a search costs its process, and there is nothing to find
        wanted = Filter()
        applying = await self._search.labelled(scope, task.tools, task.error_categories, wanted, limit)
        found: Sequence[Ranked] = ()
        if task.task.strip():
            found = await self._recall.ranked(scope, Question(task.task, limit, wanted, meaning_s=meaning_s))
        alike = {one.facts.memory_id: one for one in found[:limit]}
        ids = list(dict.fromkeys([*(facts.memory_id for facts in applying), *alike]))
        records = await self._recall.records(scope, ids)
        candidates = [
            _candidate(records[memory_id], alike.get(memory_id), task) for memory_id in ids if memory_id in records
        ]
        # One that applies is worth showing for that alone; among those, as among the others, the likest comes first.
        return sorted(candidates, key=lambda one: (not one.applies, -one.score, -one.memory.importance))


def _drawn(block: ContextBlock, strategy_of: Mapping[str, str], receipt_id: str, fraction: float) -> tuple[Trial, ...]:
    """What is done with each item of a block. What one episode taught is drawn together: a reflection that says what
    its strategy says would hide what either does."""
    if not fraction:
        return ()
    return tuple(
        Trial(
            *(item.id, item.version),
            Arm.HELD_BACK if is_held_back(receipt_id, strategy_of.get(item.id, item.id), fraction) else Arm.SHOWN,
            fraction,
        )
        for item in block.items
    )


def _without(block: ContextBlock, lessons: Sequence[Lesson], held: Collection[str], receipt_id: str) -> ContextBlock:
    """The block without some of its items; it has its receipt even when nothing is left."""
    left = {item.id for item in block.items} - set(held)
    rest = render(HEADING, [one for one in lessons if one.item.id in left], len(left), block.token_count, receipt_id)
    omitted = (*block.omitted, *(Omitted(memory_id, _HELD_BACK) for memory_id in held))
    return msgspec.structs.replace(rest, receipt_id=receipt_id, omitted=omitted)


def _chosen(candidates: Sequence[_Candidate], task: Task) -> tuple[list[_Candidate], tuple[Omitted, ...]]:
    kept: list[_Candidate] = []
    omitted: list[Omitted] = []
    said: list[frozenset[str]] = []
    asked = telling_terms(task.task)
    for one in candidates:
        terms = frozenset(terms_of(one.memory.content).split())
        reason = _why_left_out(one, task, asked)
        if not reason and any(_says_the_same(terms, other) for other in said):
            reason = "another item says nearly the same"
        if reason:
            omitted.append(Omitted(one.memory.memory_id, reason))
            continue
        kept.append(one)
        said.append(terms)
    return kept, tuple(omitted)


def _candidate(memory: MemoryRecord, found: Ranked | None, task: Task) -> _Candidate:
    when = memory.applies_when
    own = {memory.error_category, *when.error_categories} - {""}
    applies = bool(set(when.tools) & set(task.tools) or own & set(task.error_categories))
    similarity = max((part.value for part in found.parts if part.name == "vector"), default=0.0) if found else 0.0
    return _Candidate(memory, found.score if found else 0.0, similarity, applies)


def _why_left_out(one: _Candidate, task: Task, asked: frozenset[str]) -> str:
    when = one.memory.applies_when
    if task.tools and when.tools and not set(task.tools) & set(when.tools):
        return "it applies to other tools"
    if task.error_categories and when.error_categories and not set(task.error_categories) & set(when.error_categories):
        return "it applies to other errors"
    told = telling_terms(when.not_when)
    if told and len(told & asked) >= _NOT_WHEN_RATIO * len(told):
        return "it does not apply to a task like this"
    if one.applies or _fits(one, asked):
        return ""
    return "it has too little of the task"


def _fits(one: _Candidate, asked: frozenset[str]) -> bool:
    if one.similarity >= _FITS_SIMILARITY:
        return True
    shared = asked & telling_terms(f"{one.memory.content}\n{one.memory.task_text}")
    return one.score >= _FITS_SCORE and len(shared) >= min(_FITS_WORDS, len(asked)) > 0


def _says_the_same(terms: frozenset[str], other: frozenset[str]) -> bool:
    if min(len(terms), len(other)) < _FEWEST_TERMS:
        return terms == other
    return len(terms & other) >= _SAME_RATIO * len(terms | other)


def _item(one: _Candidate) -> BlockItem:
    memory = one.memory
    return BlockItem(memory.memory_id, memory.version, memory.kind.value, memory.content, one.score, memory.origin)


def _label(memory: MemoryRecord) -> str:
    return "Strategy" if memory.kind is MemoryKind.STRATEGY else "Reflection"
