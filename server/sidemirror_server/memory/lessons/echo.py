"""Removes from a trace the lessons that we showed, so that they are not learned again (decision 033).

Agents repeat what they were told. If the memory learned from its own blocks, it would soon contain little else.
"""

import asyncio
import html
import re
from collections.abc import Collection, Iterator
from itertools import chain
from typing import TypeVar

import msgspec

from sidemirror_server.memory.lessons.episode import EpisodeStep, ReflectionContext, TaskError
from sidemirror_server.trace.receipts import Receipts
from sidemirror_server.vocabulary.block import one_line, text_hash
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope

# Replaces a shown lesson in a trace.
SHOWN = "(a lesson that was shown)"
# Limit on the texts of one trace that are looked up. Chosen here: more than an agent says in a turn; further tool
# output stays unchanged.
_MOST_LINES = 5_000
_SHORTEST = 12
# In code points. A shown text has at most 1,000 (`vocabulary/block.py`), and several times as many when escaped.
_LONGEST = 8_000
# JSON writes line ends as `\n`, and JSON within JSON as `\\n`.
_LINE_END = re.compile(r"\r\n|\r|\n|\\{1,3}r\\{1,3}n|\\{1,3}n|\u2028|\u2029")
# A line of a block begins with a bullet, ours or another. A quotation mark or another bullet may precede it, and a
# label in brackets may follow.
_BULLET = re.compile(r"^\s*(?:[•‣⁃∙◦●▪■·*\-]|\d{1,3}[.)])\s*")
_BULLETS = re.compile(r"^(?:[\s•‣⁃∙◦●▪■·*>#\-\"'`,{}\\]|\d{1,3}[.)])+")
_LABEL = re.compile(r"^\s*\[[^\]]{1,220}\]\s*")
_ENDS = " \t\"'`,{}[]*\\"
# Limit on the marks that are removed from an end, one by one. Chosen here: more than nested JSON ends in.
_MOST_MARKS = 32
# Delimiters of a text within a line: double quotes, those escaped in nested JSON, single quotes, and tags.
_AROUND = tuple(
    re.compile(f"({pattern})")
    for pattern in (r'(?<!\\)"', r'(?<!\\)\\"', r"(?<![\\\w])'|(?<!\\)'(?!\w)", r"</?\w[^<>]{0,80}>")
)
_ESCAPED = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[\"'\\/])")


_Told = TypeVar("_Told", ReflectionContext, EpisodeStep, TaskError)


class TraceWithoutEcho(msgspec.Struct, frozen=True):
    """A trace without shown lessons. `shown`: the hashes of those that it contained, and of those in its receipts."""

    context: ReflectionContext
    shown: frozenset[bytes]

    def repeats(self, text: str) -> bool:
        """Whether a text made from the trace is one of the shown lessons."""
        return text_hash(one_line(text)) in self.shown


async def without_echo(
    receipts: Receipts, scope: Scope, context: ReflectionContext, receipt_ids: Collection[str]
) -> TraceWithoutEcho:
    """The trace with every shown lesson replaced by SHOWN. Raises what the store raises."""
    # The largest traces take more than a second: a thread lets other calls go on.
    lines = await asyncio.to_thread(_lines, context)
    shown = await receipts.shown(scope, lines) if lines else frozenset()
    named: set[bytes] = set()
    for receipt_id in receipt_ids:
        receipt = await receipts.get(scope, receipt_id)
        if receipt is not None:
            named |= {item.text_hash for item in receipt.items}
    if shown:
        context = await asyncio.to_thread(_told_without, context, shown)
    return TraceWithoutEcho(context, frozenset(shown | named))


def _lines(context: ReflectionContext) -> list[bytes]:
    """The hashes of texts that may be quoted lessons: first whole lines, then pieces of lines, at most _MOST_LINES."""
    said = (line for text in _texts(context) for line in _LINE_END.split(text) if len(line) >= _SHORTEST)
    lines = list(dict.fromkeys(said))
    told = chain(map(_candidates, lines), (_candidates(piece) for line in lines for piece in _pieces(line)))
    hashes: dict[bytes, None] = {}
    for candidate in chain.from_iterable(told):
        hashes.setdefault(text_hash(candidate))
        if len(hashes) >= _MOST_LINES:
            break
    return list(hashes)


def _texts(context: ReflectionContext) -> Iterator[str]:
    """All texts of a trace. Those of the agent and its user come first: they see blocks, and the output of tools may
    have more lines than are looked up."""
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
    parts[::2] = [_line_without(line, shown) for line in parts[::2]]
    return "".join(parts)


def _line_without(line: str, shown: Collection[bytes]) -> str:
    """The line with a shown lesson replaced. The text around the lesson stays."""
    if _is_one_of(line, shown):
        return SHOWN
    for around in _AROUND:
        pieces = around.split(line)
        told = [SHOWN if _is_one_of(piece, shown) else piece for piece in pieces]
        if told != pieces:
            return "".join(told)
    return line


def _is_one_of(text: str, shown: Collection[bytes]) -> bool:
    return any(text_hash(candidate) in shown for candidate in _candidates(text))


def _pieces(line: str) -> Iterator[str]:
    """The pieces of a line between quotes or tags."""
    for around in _AROUND:
        pieces = around.split(line)
        if len(pieces) > 1:
            yield from pieces[::2]


def _candidates(text: str) -> Iterator[str]:
    """The lessons that a text may quote. Marks are cut from its end one by one, since a lesson may end in one."""
    if not _SHORTEST <= len(text) <= _LONGEST:
        return
    for said in _readings(text):
        bullet, marks = _BULLET.sub("", said), _BULLETS.sub("", said)
        for begun in dict.fromkeys((said, bullet, _LABEL.sub("", bullet), marks, _LABEL.sub("", marks), _told(said))):
            for _ in range(_MOST_MARKS):
                if len(begun) < _SHORTEST:
                    break
                yield begun
                if begun[-1] not in _ENDS:
                    break
                begun = begun[:-1]


def _told(text: str) -> str:
    """The text after the first colon, as in `I go by this lesson: …`."""
    return text.partition(": ")[2].strip()


def _readings(text: str) -> Iterator[str]:
    """The text, and the text without one and two layers of escapes."""
    text = text.strip()
    yield text
    if "&" in text and (plain := html.unescape(text)) != text:
        yield plain
    for _ in range(2):
        if "\\" not in text:
            break
        plain = _ESCAPED.sub(lambda found: chr(int(found[0][2:], 16)) if found[0][1] == "u" else found[0][1], text)
        text = plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        yield text
