"""What agents would have been told in the recorded runs of a part of the data, and a seeded draw from it.

Runs of the reserved part are told what the tuning part (`bench/split.py`) taught, of the same corpus; runs of the
tuning part are told what the other half of its task groups taught. Nudges and reflections are what the
detectors and the rules say while a run goes on. Injected items are those of the blocks at a turn's start and at the
first failing call of each signature: what repaired it before (learned, else of the starter pack), and lessons.
"""

import asyncio
import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bench.judging.entry import Entry, entry
from bench.recovery_advice import learned, rows_by_signature
from bench.recovery_runs import CORPORA, Run, runs
from bench.silence import lesson_of, memory
from bench.split import Part
from sidemirror_server.memory.finding.context import DEFAULT_ITEMS, FailedCall, MemoryContext
from sidemirror_server.memory.finding.fits import ContextTask
from sidemirror_server.memory.recoveries.moves import Recovery, Tally, refutes, reported_in, unchanged_never_worked
from sidemirror_server.memory.recoveries.observation import Observation
from sidemirror_server.memory.recoveries.sentences import said, said_of_repeats
from sidemirror_server.memory.recoveries.signed import failure_signature
from sidemirror_server.memory.recoveries.starter import dialect_of, starter_for
from sidemirror_server.models.adapters.rules.mid_turn import mid_turn_answer
from sidemirror_server.thinking.detectors import Pattern
from sidemirror_server.thinking.turn import apply, evidence
from sidemirror_server.thinking.turn_state import TurnState
from sidemirror_server.trace.event import ToolCalled
from sidemirror_server.trace.receipts import RECOVERY_ITEM
from sidemirror_server.vocabulary.arbiter import AS_DESIGNED, FAILURE_ITEMS, Offers, arbitrated
from sidemirror_server.vocabulary.block import BlockItem, BlockLesson
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope
from tests.recorded import DATA

DRAWN: Final = 200
_OF_STARTS: Final = 0.3
"""Which share of the injected items is of a turn's start; the others are of failing calls."""
_MOST_OF_SIGNATURE: Final = 12
"""Of one signature, so that 200 items are about twenty at least."""
_REFLECTIONS: Final = 4
"""Reflections of one run at most, as a turn's budget has it."""
_SEED: Final = 20261123


class Known(NamedTuple):
    """What the tuning part of a corpus has taught."""

    recoveries: Mapping[str, Recovery]
    repeats: Mapping[str, Tally]
    rows: Mapping[str, Sequence[Observation]]


def known_of(taught: Sequence[Run]) -> Known:
    rows = rows_by_signature(taught)
    repeats = {signature: unchanged_never_worked(reported_in(of)) for signature, of in rows.items()}
    return Known(learned(taught), {key: tally for key, tally in repeats.items() if tally is not None}, rows)


def spoken(run: Run, known: Known) -> Iterator[Entry]:
    """The nudges and reflections of a run."""
    state = TurnState()
    errors = told = 0
    periodic = False
    failed = {step.event_id: failure_signature(step.asked, step.result) for step in run.steps if step.failed}
    last = ""
    for place, event in enumerate(run.events):
        apply(state, place + 1, event.at_us, event)
        now = "" if isinstance(event.what, ToolCalled) else failed.get(getattr(event.what, "call_id", ""), "")
        last = now or last
        for finding in state.findings:
            repeats = known.repeats.get(now) if finding.pattern is Pattern.REPEATED_CALL else None
            text = finding.message if repeats is None else f"{finding.message} {said_of_repeats(repeats)}"
            yield entry(run, place, "nudge", text, last)
        state.findings = ()
        by_failure = state.tool_error_count > errors and told < _REFLECTIONS
        by_schedule = bool(state.steps_done) and not state.tool_error_count and not periodic
        if not (by_failure or by_schedule):
            continue
        errors, told, periodic = state.tool_error_count, told + by_failure, periodic or by_schedule
        answer = mid_turn_answer(evidence(state))
        if answer.reflection:
            text = " ".join(filter(None, (answer.reflection, answer.suggested_action)))
            yield entry(run, place, "reflection", text, last if by_failure else "")


async def injected(run: Run, known: Known, context: MemoryContext, scope: Scope) -> list[Entry]:
    """The items of a run's blocks."""
    tools = tuple(dict.fromkeys(event.what.name for event in run.events if isinstance(event.what, ToolCalled)))
    fitting = await context.fitting(scope, ContextTask(run.task, tools), DEFAULT_ITEMS)
    start = arbitrated(Offers(memory=fitting.lessons), DEFAULT_ITEMS, AS_DESIGNED.start_tokens, "r")
    found = [entry(run, -1, "lesson", one.text, number=number) for number, one in enumerate(start.items, 1)]
    places = {getattr(event.what, "call_id", ""): place for place, event in enumerate(run.events)}
    worked: dict[str, bool] = {row.failure_id: row.worked for row in run.observations}
    met = set[str]()
    looked_up = list[str]()
    for step in run.steps:
        signature = failure_signature(step.asked, step.result) if step.failed else ""
        if step.asked.reads and not step.failed:
            looked_up.append(step.asked.label)
        if not signature or signature in met:
            continue
        met.add(signature)
        sentence = _sentence(signature, known, step.asked.label, step.asked.tool, step.result, looked_up)
        item = BlockItem(signature, 1, RECOVERY_ITEM, sentence, 1.0, Origin.AGENT)
        lessons = await context.answering(scope, [FailedCall(step.asked.tool, step.result)], run.task)
        offers = Offers((BlockLesson(item),) if sentence else (), lessons)
        block = arbitrated(offers, FAILURE_ITEMS, AS_DESIGNED.failure_tokens, "r")
        repaired = worked.get(step.event_id, False)
        for number, one in enumerate(block.items, 1):
            kind = "recovery" if one.kind == RECOVERY_ITEM else "lesson"
            found.append(entry(run, places[step.event_id], kind, one.text, signature, number, repaired=repaired))
    return found


def _sentence(signature: str, known: Known, label: str, tool: str, error: str, looked_up: Sequence[str]) -> str:
    """What repaired it before: as it was learned, else of the starter pack; empty if there is nothing."""
    recovery = known.recoveries.get(signature)
    if recovery is not None:
        sentence = said(recovery, looked_up)
        return sentence.text if sentence else ""
    starter = starter_for(signature, label, dialect_of(tool, error))
    if (
        starter is None
        or starter.look_up in looked_up
        or refutes(signature, starter.move, reported_in(known.rows.get(signature, ())))
    ):
        return ""
    return starter.sentence


class Population(NamedTuple):
    """Everything that would have been said. `repairable`: first failing calls of a signature whose next attempt
    worked; `helped`: those of them with an item."""

    nudges: list[Entry]
    items: list[Entry]
    repairable: int
    helped: int


async def population(part: Part, most_runs: int) -> Population:
    """`most_runs`: of how many runs of a corpus the items are looked for, drawn with a fixed seed; 0: of all."""
    nudges, items = list[Entry](), list[Entry]()
    repairable = 0
    for corpus in CORPORA:
        scope = Scope("bench", corpus)
        for taught, asked in taught_and_asked(corpus, part):
            known = known_of(taught)
            with tempfile.TemporaryDirectory() as folder:
                async with memory(Path(folder)) as (memories, context):
                    for run in taught:
                        lesson = lesson_of(run)
                        if lesson is not None:
                            await memories.learn(scope, lesson, 1)
                    nudges += [one for run in asked for one in spoken(run, known)]
                    for run in _some(asked, most_runs):
                        items += await injected(run, known, context, scope)
                        repairable += _repairable(run)
    helped = len({one.id.rpartition("/")[0] for one in items if one.repaired})
    return Population(nudges, items, repairable, helped)


def taught_and_asked(corpus: str, part: Part) -> Iterator[tuple[list[Run], list[Run]]]:
    """What is learned from, and what is told of it."""
    tuning = runs(DATA, corpus, Part.TUNING)
    if part is not Part.TUNING:
        yield tuning, runs(DATA, corpus, part)
        return
    first = set(sorted({run.group for run in tuning})[::2])
    one, other = [run for run in tuning if run.group in first], [run for run in tuning if run.group not in first]
    yield one, other
    yield other, one


def _some(asked: Sequence[Run], most: int) -> Sequence[Run]:
    return random.Random(_SEED).sample(asked, most) if 0 < most < len(asked) else asked


def _repairable(run: Run) -> int:
    """The first failing calls of each signature whose next attempt worked."""
    worked: dict[str, bool] = {row.failure_id: row.worked for row in run.observations}
    first: dict[str, bool] = {}
    for step in run.steps:
        signature = failure_signature(step.asked, step.result) if step.failed else ""
        if signature:
            first.setdefault(signature, worked.get(step.event_id, False))
    return sum(first.values())


def drawn(entries: Iterable[Entry], count: int, *, of_signature: int = DRAWN) -> list[Entry]:
    """So many entries, at most one of a run and `of_signature` of a signature."""
    rng = random.Random(_SEED)
    every = sorted(entries)
    rng.shuffle(every)
    seen: Counter[str] = Counter()
    found = list[Entry]()
    for one in every:
        run = one.id.split("/", 1)[0]
        if len(found) == count or seen[f"run {run}"] or (one.signature and seen[one.signature] >= of_signature):
            continue
        seen[f"run {run}"] += 1
        seen[one.signature] += 1
        found.append(one)
    return found


def drawn_items(items: Sequence[Entry], count: int = DRAWN) -> list[Entry]:
    """Items of starts and of failing calls."""
    starts = drawn((one for one in items if not one.signature), round(count * _OF_STARTS))
    failures = drawn((one for one in items if one.signature), count - len(starts), of_signature=_MOST_OF_SIGNATURE)
    return [*starts, *failures]


def everything(part: Part, most_runs: int) -> Population:
    return asyncio.run(population(part, most_runs))
