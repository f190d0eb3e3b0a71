"""`uv run python -m bench.silence`: how much of what the rules say, store and show without a key is an empty template.

Recorded runs of the tuning part (`bench/split.py`) are folded as turns. At each failing call, and once where the
schedule alone would ask, the rules reflect; each run's lesson is made as when its turn ends; and for tasks of one half
of the groups blocks are made of the lessons of the other half. A text is an empty template if each of its sentences
would suit any other turn. Beside it stand the texts with ids of events, with a quotation that was cut, with an object
as Python writes it, and with a stock error.

`--floor` shows what a block holds at other floors of relevance. A shown lesson counts as relevant if a call of the
task's run fails with the lesson's signature. A task could be helped if the memory has a lesson about one of these.
"""

import argparse
import asyncio
import contextlib
import re
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from bench.recovery_runs import CORPORA, Run, runs
from bench.split import Part
from sidemirror_server.memory.finding import fits
from sidemirror_server.memory.finding.context import MemoryContext
from sidemirror_server.memory.finding.fits import ContextTask
from sidemirror_server.memory.finding.recall import Recall
from sidemirror_server.memory.kin.signature import error_signature
from sidemirror_server.memory.lessons.episode import ReflectionContext, evidence_of, signature_of, steps_of
from sidemirror_server.memory.lessons.keys import text_key
from sidemirror_server.memory.record import AppliesWhen, Lesson, MemoryKind, MemoryRecord, MemoryState, Quarantine
from sidemirror_server.models.adapters.rules.memory_reflection import memory_reflection_answer
from sidemirror_server.models.adapters.rules.mid_turn import mid_turn_answer
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_graph import SqliteMemoryGraph
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.storage.sqlite.trials import SqliteTrials
from sidemirror_server.thinking.turn import apply, evidence
from sidemirror_server.thinking.turn_state import TurnState
from sidemirror_server.trace.event import ToolCalled
from sidemirror_server.vocabulary.by_rule import quotes_user
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope
from tests.policy.made import policies_on
from tests.recorded import DATA

# At most so many reflections of one run, as a turn's budget has it, and so many tasks of a half are asked about.
_REFLECTIONS = 4
_ASKED = 150
_SCORES = (0.0, 0.25, 0.35, 0.45, 0.55, 0.65)
_WORDS = (2, 3)

# Sentences of the rules, of this version and of earlier ones, that name nothing of a failure, or the wrong thing.
_EMPTY = re.compile(
    r"(?:the task (?:was done(?: in part)?|failed|ran out of time|ended with an error)"
    r"|\d+ of \d+ tool calls worked.*|none of the \d+ tool calls so far has worked|the only tool call so far failed"
    r"|no tool has returned anything yet|what came after rests on .*|nothing has confirmed what was said in .*"
    r"|still open: the question .*|check that what .* returned answers the question, then answer it"
    r"|call the tool that brings the first fact the question asks for"
    r"|call .* once with the simplest arguments that could work: its error does not say why it fails"
    r"|list or look up what exists before calling .* again, and take .* from there|it worked then in this episode"
    r"|the first failure that counts is .*(?:says no more|does not say why)[^“]*)"
)
# Quotations have no brackets of this kind: they are replaced.
_ID = re.compile(r"\[[^\]\s]+\]")
_CUT = re.compile(r"…[”\"]|\.\.\.[”\"]")
_REPR = re.compile(r"“\{'|“\w+(?:Error|Exception)\('")
_STOCK = re.compile(r"“(?:error: )?an? (?:unknown |unexpected )?error (?:has )?occurred[^”]*”", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`0-9])")


def is_empty(text: str) -> bool:
    """Whether each sentence of a text would suit any other turn."""
    sentences = (sentence.strip().rstrip(".").lower() for sentence in _SENTENCE.split(text))
    return all(_EMPTY.fullmatch(sentence) for sentence in sentences if sentence)


class Figures:
    """Counts texts of one kind."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, text: str | None) -> None:
        """A text that was said; empty or None: nothing was."""
        if not text:
            self.counts["silent"] += 1
            return
        self.counts["said"] += 1
        self.counts["empty"] += is_empty(text)
        for name, sign in (("ids", _ID), ("cut", _CUT), ("reprs", _REPR), ("stock", _STOCK)):
            self.counts[name] += sign.search(text) is not None

    def row(self, corpus: str, what: str) -> str:
        """A line of the table."""
        cells = [self.counts[name] for name in ("said", "silent", "empty", "ids", "cut", "reprs", "stock")]
        return f"| {corpus} | {what} | {' | '.join(map(str, cells))} |"


def reflections_of(run: Run) -> Iterator[tuple[str, str | None, str | None]]:
    """What the rules say while the run goes on: what asked, the reflection and the suggested action."""
    state = TurnState()
    errors = told = 0
    periodic = False
    for place, event in enumerate(run.events, start=1):
        apply(state, place, event.at_us, event)
        if state.tool_error_count > errors and told < _REFLECTIONS:
            errors, told = state.tool_error_count, told + 1
            answer = mid_turn_answer(evidence(state))
            yield "failing call", answer.reflection, answer.suggested_action
        elif state.steps_done and not state.tool_error_count and not periodic:
            periodic = True
            answer = mid_turn_answer(evidence(state))
            yield "schedule alone", answer.reflection, answer.suggested_action


def nudges_of(run: Run) -> Iterator[str]:
    """What the detectors say while the run goes on."""
    state = TurnState()
    for place, event in enumerate(run.events, start=1):
        apply(state, place, event.at_us, event)
        for found in state.findings:
            yield found.message
        state.findings = ()


def lesson_of(run: Run) -> Lesson | None:
    """What the run teaches when it has ended, as `memory/lessons/keeping.py` keeps it; None if nothing."""
    context = ReflectionContext(steps_of(run.events), run.outcome or "partial", task_description=run.task)
    answer = memory_reflection_answer(evidence_of(context))
    if not answer.reflection:
        return None
    when = answer.applies_when
    waits = quotes_user(answer.reflection)
    record = MemoryRecord(
        memory_id=f"r {run.episode_id}",
        kind=MemoryKind.REFLECTION,
        content=answer.reflection,
        importance=answer.importance or 0.5,
        created_us=1,
        updated_us=1,
        text_key=text_key(answer.reflection),
        origin=Origin.TOOL,
        confidence=answer.confidence,
        task_text=run.task,
        applies_when=AppliesWhen(when.tools, when.error_categories) if when else AppliesWhen(),
        metadata={"group": run.group},
        error_signature=signature_of(context, answer.cited_event_ids),
        state=MemoryState.QUARANTINED if waits else MemoryState.ACTIVE,
        quarantine=Quarantine.STEERING if waits else None,
    )
    if not answer.strategy:
        return Lesson(record)
    strategy = msgspec.structs.replace(
        record,
        memory_id=f"s {run.episode_id}",
        kind=MemoryKind.STRATEGY,
        content=answer.strategy,
        text_key=text_key(answer.strategy),
        strategy_of=record.memory_id,
    )
    return Lesson(record, strategy)


def spoken(corpora: Iterable[str]) -> list[str]:
    """The table of what is said and stored."""
    lines = [
        "| runs | what | said | silent | empty | with ids | cut | as Python | stock |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for corpus in corpora:
        each: dict[str, Figures] = {}
        for run in runs(DATA, corpus, Part.TUNING):
            for message in nudges_of(run):
                each.setdefault("nudge", Figures()).add(message)
            for why, reflection, action in reflections_of(run):
                each.setdefault(f"reflection, {why}", Figures()).add(reflection)
                each.setdefault(f"suggested action, {why}", Figures()).add(action)
            lesson = lesson_of(run)
            each.setdefault("stored lesson", Figures()).add(lesson.reflection.content if lesson else None)
            strategy = lesson.strategy if lesson else None
            each.setdefault("stored strategy", Figures()).add(strategy.content if strategy else None)
        lines += [figures.row(corpus, what) for what, figures in sorted(each.items())]
    return lines


class Shown(NamedTuple):
    """The blocks at one floor: tasks asked about, those that got an item, those that had something to be shown, items,
    and relevant ones."""

    tasks: int
    helped: int
    served: int
    could: int
    items: int
    relevant: int
    figures: Figures


@contextlib.asynccontextmanager
async def memory(folder: Path) -> AsyncIterator[tuple[SqliteMemories, MemoryContext]]:
    database = await SqliteDatabase.open(folder, now_us=0)
    try:
        clock = SystemClock()
        memories, search = SqliteMemories(database), SqliteMemorySearch(database)
        recall = Recall(memories, search, None, clock)
        stores = (SqliteMemoryGraph(database), SqliteReceipts(database), SqliteTrials(database))
        yield memories, MemoryContext(recall, search, *stores, policies_on(database, clock), clock)
    finally:
        await database.close()


def _signatures(run: Run) -> set[str]:
    return {error_signature(step.asked.tool, step.result) for step in run.steps if step.failed} - {""}


async def shown(corpus: str, floors: Sequence[tuple[float, int]]) -> list[tuple[tuple[float, int], Shown]]:
    """What blocks for tasks of every second group hold, of lessons of the other groups, at each floor."""
    every = runs(DATA, corpus, Part.TUNING)
    groups = sorted({run.group for run in every})
    asked_groups = set(groups[::2])
    asked = [run for run in every if run.group in asked_groups]
    asked = asked[:: max(1, len(asked) // _ASKED)]
    found: dict[tuple[float, int], list[Shown]] = {floor: [] for floor in floors}
    with tempfile.TemporaryDirectory() as folder:
        async with memory(Path(folder)) as (memories, context):
            scope = Scope("bench", corpus)
            records: dict[str, MemoryRecord] = {}
            for run in every:
                lesson = lesson_of(run) if run.group not in asked_groups else None
                if lesson is not None:
                    kept = await memories.learn(scope, lesson, 1)
                    found_here = (kept.reflection, *((kept.strategy,) if kept.strategy else ()))
                    records |= {one.memory_id: one for one in found_here}
            known = {record.error_signature for record in records.values()}
            usual = (fits.FITS_SCORE, fits.FITS_WORDS)
            for floor in floors:
                vars(fits)["FITS_SCORE"], vars(fits)["FITS_WORDS"] = floor
                found[floor] = [await _one(context, scope, run, records, known) for run in asked]
            vars(fits)["FITS_SCORE"], vars(fits)["FITS_WORDS"] = usual
    return [(floor, _sum(some)) for floor, some in found.items()]


async def _one(
    context: MemoryContext, scope: Scope, run: Run, records: dict[str, MemoryRecord], known: set[str]
) -> Shown:
    tools = tuple(dict.fromkeys(event.what.name for event in run.events if isinstance(event.what, ToolCalled)))
    fitting = await context.fitting(scope, ContextTask(run.task, tools), 5)
    items, signatures, figures = fitting.lessons[:5], _signatures(run), Figures()
    for item in items:
        figures.add(item.item.text)
    relevant = sum(records[item.item.id].error_signature in signatures for item in items)
    return Shown(1, int(relevant > 0), int(bool(items)), int(bool(signatures & known)), len(items), relevant, figures)


def _sum(some: Sequence[Shown]) -> Shown:
    figures = Figures()
    for one in some:
        figures.counts += one.figures.counts
    return Shown._make((*(sum(values) for values in zip(*(one[:6] for one in some), strict=True)), figures))


def floors_told(corpora: Iterable[str], floors: Sequence[tuple[float, int]]) -> list[str]:
    """The table of what blocks hold."""
    lines = [
        "| runs | score, words | tasks | with items | could be helped | were | items | relevant | empty |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for corpus in corpora:
        for (score, words), one in asyncio.run(shown(corpus, floors)):
            share = f"{one.relevant / one.items:.0%}" if one.items else "-"
            lines.append(
                f"| {corpus} | {score:g}, {words} | {one.tasks} | {one.served} | {one.could} | {one.helped} "
                f"| {one.items} | {one.relevant} ({share}) | {one.figures.counts['empty']} |"
            )
    return lines


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench.silence")
    parser.add_argument("--floor", action="store_true", help="what a block holds at other floors of relevance")
    parser.add_argument("--corpora", nargs="+", choices=sorted(CORPORA), default=["intercode", "tau"])
    options = parser.parse_args(arguments)
    if not DATA.is_dir():
        sys.stdout.write("skipped: no recorded data in ../shared/data\n")
        return
    print("\n".join(spoken(options.corpora)))
    usual = (fits.FITS_SCORE, fits.FITS_WORDS)
    others = [(score, words) for score in _SCORES for words in _WORDS] if options.floor else []
    print("\n" + "\n".join(floors_told(options.corpora, [*others, usual])))


if __name__ == "__main__":
    main(sys.argv[1:])
