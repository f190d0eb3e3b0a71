"""The pairs that pointing is measured on: an answer that contradicts its record, and the same answer made right.

`tests/critique/pairs/README.md` has the format. By hash of its id a pair is seen while rules are written, or unseen:
those are scored once, and then all pairs of their authors are seen.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from sidemirror_server.critique.material import CritiqueMaterial, ToolEvidence

FOLDER = Path(__file__).with_name("pairs")
RIGHT_ANSWERS = Path(__file__).with_name("right_answers.json")

# All pairs of these authors were scored, and have been looked at since.
SCORED_AUTHORS = frozenset(
    {
        "ann",
        "bob",
        "cid",
        "dee",
        "eve",
        "fox",
        "gil",
        "hal",
        "ivy",
        "jan",
        "kim",
        "lea",
        "nia",
        "oli",
        "pat",
        "quin",
        "ray",
        "sue",
        "tom",
    }
)

Kind = Literal[
    "number",
    "count",
    "unit",
    "date",
    "order",
    "state",
    "test_result",
    "done_without_call",
    "failed_call",
    "partial",
    "arithmetic",
    "left_out",
    "identity",
    "destructive",
]
KINDS: tuple[str, ...] = get_args(Kind)


class Tool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call and its outcome. `arguments` and `content`: text, or other JSON for a tool that speaks JSON."""

    name: str
    content: Any
    arguments: Any = ""
    failed: bool = False

    @property
    def evidence(self) -> ToolEvidence:
        return ToolEvidence(self.name, _text(self.content), self.failed, _text(self.arguments))


class Pair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One pair. The quotes: what is contradicted in `wrong`, and by what in the tools or the request."""

    id: str
    kind: Kind
    request: str
    tools: Sequence[Tool]
    wrong: str
    right: str
    answer_quote: str
    record_quote: str

    @property
    def author(self) -> str:
        return self.id.rpartition("-")[0]

    @property
    def is_seen(self) -> bool:
        """Whether rules may be written with the pair in view: all pairs of authors that were scored, and by hash a
        third of the others'. The hash never changes."""
        if self.author in SCORED_AUTHORS:
            return True
        digest = hashlib.sha256(f"sidemirror pair\0{self.id}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % 3 == 0

    def material(self, answer: str) -> CritiqueMaterial:
        """What a critique of `answer` gets."""
        return CritiqueMaterial(self.request, answer, tuple(tool.evidence for tool in self.tools))


class RightAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer that is right by its record, written to see whether anything in it is pointed at."""

    request: str
    tools: Sequence[Tool]
    right: str

    @property
    def material(self) -> CritiqueMaterial:
        """What a critique of it gets."""
        return CritiqueMaterial(self.request, self.right, tuple(tool.evidence for tool in self.tools))


def right_answers() -> list[RightAnswer]:
    """Those of three strangers, written before they saw any flag, and those of a reader of the rules."""
    return msgspec.json.decode(RIGHT_ANSWERS.read_bytes(), type=list[RightAnswer])


def pairs_in(path: Path) -> list[Pair]:
    """The pairs of one file. Raises ValueError, which names the pair and the field, for one that is not as it should
    be; msgspec.ValidationError for a field that is missing, unknown or of the wrong type."""
    pairs = msgspec.json.decode(path.read_bytes(), type=list[Pair])
    for pair in pairs:
        for field, problem in _problems(pair, path.stem):
            raise ValueError(f"{path.name}, {pair.id}, {field}: {problem}")
    ids = [pair.id for pair in pairs]
    if len(ids) != len(set(ids)):
        raise ValueError(f"{path.name}, id: two pairs have the same")
    return pairs


def all_pairs(folder: Path = FOLDER) -> list[Pair]:
    """The pairs of all files, by file and in each file's order."""
    return [pair for path in sorted(folder.glob("*.json")) for pair in pairs_in(path)]


def _problems(pair: Pair, author: str) -> Iterator[tuple[str, str]]:
    if pair.author != author or not pair.id.removeprefix(f"{author}-").isdigit():
        yield "id", f"is not {author}- and a number"
    for field in ("request", "wrong", "right"):
        if not getattr(pair, field).strip():
            yield field, "is empty"
    if pair.wrong == pair.right:
        yield "right", "is the same as `wrong`"
    if pair.answer_quote not in pair.wrong:
        yield "answer_quote", "is not in `wrong`"
    record = (pair.request, *(text for tool in pair.tools for text in (tool.evidence.arguments, tool.evidence.text)))
    if not any(pair.record_quote in text for text in record):
        yield "record_quote", "is not in the request or in a tool's arguments or content"
    if not pair.answer_quote and not pair.record_quote:
        yield "answer_quote", "is empty, and so is `record_quote`"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
