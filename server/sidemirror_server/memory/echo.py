"""What we showed ourselves, recognised when it comes back in a trace, so that it is not learned again.

Agents repeat what they were told: a memory that learned from its own blocks would soon hold little else (research page
memory-systems, section 4, pain 3).
"""

import asyncio
import re
from collections.abc import Collection, Iterator
from typing import TypeVar

import msgspec

from sidemirror_server.memory.episode import ReflectionContext, Step, TaskError
from sidemirror_server.trace.receipts import Receipts
from sidemirror_server.vocabulary.block import one_line, text_hash
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope

# What stands in a trace where a lesson stood that we showed.
SHOWN = "(a lesson that was shown)"
# Lines of one trace that are looked up. Chosen here: more than any agent says in a turn; what tools say beyond them
# stays as it is.
_MOST_LINES = 5_000
_SHORTEST = 12
# An item's line begins with a bullet, perhaps ours, and perhaps a label in brackets; JSON writes line ends as `\n`.
_LINE_END = re.compile(r"\r\n|\r|\n|\\r\\n|\\n|\u2028|\u2029")
_BULLET = re.compile(r"^\s*(?:[•‣⁃∙◦●▪■·*\-]|\d{1,3}[.)])\s*")
_LABEL = re.compile(r"^\s*\[[^\]]{1,220}\]\s*")
_ENDS = " \t\"'`,{}"


_Told = TypeVar("_Told", ReflectionContext, Step, TaskError)


class Heard(msgspec.Struct, frozen=True):
    """A trace without what we showed, and the hashes of what that was, in it or by the receipts that came with it."""

    context: ReflectionContext
    shown: frozenset[bytes]

    def repeats(self, text: str) -> bool:
        """Whether a text that was made of the trace is one of those."""
        return text_hash(one_line(text)) in self.shown


async def without_echo(
    receipts: Receipts, scope: Scope, context: ReflectionContext, receipt_ids: Collection[str]
) -> Heard:
    """The trace with every lesson that we showed taken out. Raises what the store raises."""
    # A second and more for the largest traces: other calls go on meanwhile.
    lines = await asyncio.to_thread(_lines, context)
    shown = await receipts.shown(scope, lines) if lines else frozenset()
    named: set[bytes] = set()
    for receipt_id in receipt_ids:
        receipt = await receipts.get(scope, receipt_id)
        if receipt is not None:
            named |= {item.text_hash for item in receipt.items}
    if shown:
        context = await asyncio.to_thread(_told_without, context, shown)
    return Heard(context, frozenset(shown | named))


def _lines(context: ReflectionContext) -> list[bytes]:
    """The hashes of what the lines of a trace may say, of as many as are looked up."""
    lines: dict[bytes, None] = {}
    for text in _texts(context):
        for line in _LINE_END.split(text):
            for candidate in _candidates(line):
                lines.setdefault(text_hash(candidate))
            if len(lines) >= _MOST_LINES:
                return list(lines)[:_MOST_LINES]
    return list(lines)


def _texts(context: ReflectionContext) -> Iterator[str]:
    """All that a trace says: first what the agent and its user said, who are shown blocks, for a tool may say more
    lines than are looked up."""
    yield from (context.task_description, context.task_goal)
    for step in sorted(context.steps, key=lambda step: step.origin < Origin.AGENT):
        yield from (step.content, step.error, step.metadata)
    if context.error is not None:
        yield from (context.error.message, context.error.context)


def _told_without(context: ReflectionContext, shown: Collection[bytes]) -> ReflectionContext:
    def bare(one: _Told, *names: str) -> _Told:
        return msgspec.structs.replace(one, **{name: _without(getattr(one, name), shown) for name in names})

    return msgspec.structs.replace(
        bare(context, "task_description", "task_goal"),
        steps=tuple(bare(step, "content", "error", "metadata") for step in context.steps),
        error=None if context.error is None else bare(context.error, "message", "context"),
    )


def _without(content: str, shown: Collection[bytes]) -> str:
    parts = re.split(f"({_LINE_END.pattern})", content)
    return "".join(
        SHOWN if any(text_hash(candidate) in shown for candidate in _candidates(part)) else part for part in parts
    )


def _candidates(line: str) -> Iterator[str]:
    """What a line may say once its marks are taken off."""
    text = line.strip(_ENDS)
    if len(text) < _SHORTEST:
        return
    yield text
    bare = _BULLET.sub("", text)
    if bare != text:
        yield bare
    told = _LABEL.sub("", bare)
    if told != bare and len(told) >= _SHORTEST:
        yield told
