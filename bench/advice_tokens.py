"""`uv run python -m bench.advice_tokens`: how many tokens the blocks of a turn have, where something fits.

On the tuning part (`bench/split.py`) lessons and recoveries are learned from one half of the groups, and told in runs
of the other half: a block at the turn's start, and one at the first failing call of each kind for which a recovery may
be told. All is arbitrated as the product does it (decision 065), and tokens are counted as `vocabulary/block.py` does.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.recovery_advice import learned
from bench.recovery_runs import CORPORA, Run, runs
from bench.silence import lesson_of, memory
from bench.split import Part
from sidemirror_server.memory.finding.context import DEFAULT_ITEMS, FailedCall, MemoryContext
from sidemirror_server.memory.finding.fits import ContextTask
from sidemirror_server.memory.recoveries.moves import Recovery
from sidemirror_server.memory.recoveries.sentences import said
from sidemirror_server.memory.recoveries.signed import failure_signature
from sidemirror_server.trace.event import ToolCalled
from sidemirror_server.trace.receipts import RECOVERY_ITEM
from sidemirror_server.vocabulary.arbiter import AS_DESIGNED, FAILURE_ITEMS, Offers, arbitrated
from sidemirror_server.vocabulary.block import BlockItem, BlockLesson
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope
from tests.recorded import DATA

# As many tasks as `bench.silence` asks about.
_ASKED = 150


class Told(NamedTuple):
    """The tokens of a run's blocks: at its start, and at its failing calls; 0 where nothing fits."""

    start: int
    failures: tuple[int, ...]


async def told(corpus: str) -> list[Told]:
    """What runs of every second group are told, of what the other groups taught."""
    every = runs(DATA, corpus, Part.TUNING)
    asked_groups = set(sorted({run.group for run in every})[::2])
    asked = [run for run in every if run.group in asked_groups]
    taught = [run for run in every if run.group not in asked_groups]
    recoveries, scope = learned(taught), Scope("bench", corpus)
    with tempfile.TemporaryDirectory() as folder:
        async with memory(Path(folder)) as (memories, context):
            for run in taught:
                lesson = lesson_of(run)
                if lesson is not None:
                    await memories.learn(scope, lesson, 1)
            return [await _one(context, scope, run, recoveries) for run in asked[:: max(1, len(asked) // _ASKED)]]


async def _one(context: MemoryContext, scope: Scope, run: Run, recoveries: Mapping[str, Recovery]) -> Told:
    tools = tuple(dict.fromkeys(event.what.name for event in run.events if isinstance(event.what, ToolCalled)))
    fitting = await context.fitting(scope, ContextTask(run.task, tools), DEFAULT_ITEMS)
    start = arbitrated(Offers(memory=fitting.lessons), DEFAULT_ITEMS, AS_DESIGNED.start_tokens, "r")
    met: dict[str, int] = {}
    for step in run.steps:
        signature = failure_signature(step.asked, step.result) if step.failed else ""
        sentence = said(recoveries[signature]) if signature in recoveries else None
        if sentence is None or signature in met:
            continue
        item = BlockItem(signature, 1, RECOVERY_ITEM, sentence.text, 1.0, Origin.AGENT)
        lessons = await context.answering(scope, [FailedCall(step.asked.tool, step.result)], run.task)
        offers = Offers((BlockLesson(item),), lessons)
        met[signature] = arbitrated(offers, FAILURE_ITEMS, AS_DESIGNED.failure_tokens, "r").token_count
    return Told(start.token_count, tuple(met.values()))


def table(corpora: Iterable[str]) -> list[str]:
    """Blocks with their median and largest number of tokens, and the median of a turn with a block, all its blocks
    together."""
    lines = ["| runs | turns | at a start: blocks, median, most | at failing calls: the same | of a turn |"]
    lines.append("|---|---|---|---|---|")
    for corpus in corpora:
        every = asyncio.run(told(corpus))
        starts = [one.start for one in every if one.start]
        failures = [tokens for one in every for tokens in one.failures]
        turns = [sum((one.start, *one.failures)) for one in every if one.start or one.failures]
        lines.append(f"| {corpus} | {len(every)} | {_figures(starts)} | {_figures(failures)} | {_median(turns)} |")
    return lines


def _figures(tokens: Sequence[int]) -> str:
    return f"{len(tokens)}, {_median(tokens)}, {max(tokens, default=0)}"


def _median(tokens: Sequence[int]) -> str:
    return f"{statistics.median(tokens):g}" if tokens else "-"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench.advice_tokens")
    parser.add_argument("--corpora", nargs="+", choices=sorted(CORPORA), default=["intercode", "tau"])
    options = parser.parse_args(arguments)
    if not DATA.is_dir():
        sys.stdout.write("skipped: no recorded data in ../shared/data\n")
        return
    print("\n".join(table(options.corpora)))


if __name__ == "__main__":
    main(sys.argv[1:])
