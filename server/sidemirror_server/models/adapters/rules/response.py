"""A response and its material as words: its claims, which of them the material supports, and what was asked."""

import re
import unicodedata
from functools import cached_property

from sidemirror_server.models.adapters.rules.arithmetic import worked_out
from sidemirror_server.models.evidence import Evidence, EvidenceStep

_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")
_PROPER = re.compile(r"\b(?:\d+(?:[.,]\d+)+|[A-Z0-9][\w'’-]+)")
_FINAL = re.compile(r"^[ \t>*_#]*(?:the )?(?:final )?answer[ \t*_]*[:：][ \t*_]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_LABEL = re.compile(r"^\s*(?:question|task|query|user|q)\s*[:：]\s*", re.IGNORECASE)
# Stop words, which contain no claim.
_COMMON_TEXT = (
    "a an and are as at be been because but by can context could did do does for from had has have he her his how i if "
    "in into is it its know let me my no not of on or our she so step than that the their them then there therefore "
    "these they think this thus to was we were what when where which who whom whose why will with would yes you "
    "your answer question asking"
)
_COMMON = frozenset(_COMMON_TEXT.split())
# A question longer than this contains a text to work on, with the actual question at the end.
_LONG_QUESTION_WORDS = 60


def words(text: str) -> list[str]:
    """The words of a text without stop words, case and accents."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    folded = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return [word.replace(",", "") for word in _WORD.findall(folded) if word not in _COMMON]


class Response:
    """One response with its evidence, read once. Texts are data: no order in them is followed."""

    def __init__(self, evidence: Evidence, text: str) -> None:
        self.evidence = evidence
        self.text = text
        outcomes = [step for step in evidence.steps if step.kind in {"tool_result", "tool_failure"}]
        self.worked: list[EvidenceStep] = [step for step in outcomes if not step.is_error]
        self.failed: list[EvidenceStep] = [step for step in outcomes if step.is_error]
        self.given, self.asked = _split(evidence.question or evidence.task)

    @cached_property
    def final(self) -> str:
        """The text after the last "answer:" in the response; the whole response if there is none."""
        named = _FINAL.findall(self.text)
        return (named[-1] if named else self.text).strip().rstrip(".")

    @property
    def says_final(self) -> bool:
        """Whether the response marks its answer with "answer:"."""
        return _FINAL.search(self.text) is not None

    @cached_property
    def material(self) -> str:
        """The material for the response: texts that the user gave, and tool results including errors."""
        texts = [step.text for step in self.evidence.steps if step.kind in {"tool_result", "tool_failure"}]
        return "\n".join((self.given, *texts))

    @cached_property
    def record(self) -> str:
        """What calls brought: the tool results including errors, and what the tools were called with."""
        steps = (step for step in self.evidence.steps if step.kind in {"tool_call", "tool_result", "tool_failure"})
        return "\n".join(f"{step.name} {step.text}" for step in steps)

    @cached_property
    def known(self) -> frozenset[str]:
        """The words of the material."""
        return frozenset(words(self.material))

    @cached_property
    def asked_words(self) -> frozenset[str]:
        return frozenset(words(self.asked))

    @cached_property
    def claimed(self) -> frozenset[str]:
        """Names and numbers that the response adds to those of the question."""
        named = {word for match in _PROPER.findall(self.text) for word in words(match)}
        return frozenset(named - self.asked_words)

    @cached_property
    def unsupported(self) -> frozenset[str]:
        """Claimed names and numbers that neither the material nor a correct sum in the response supports."""
        sums = {word for sum_ in worked_out(self.text) if sum_.holds for word in words(sum_.result)}
        return self.claimed - self.known - sums

    @cached_property
    def answer_words(self) -> list[str]:
        """The words of the answer that are not in the question."""
        return [word for word in words(self.final) if word not in self.asked_words]

    @property
    def answer_is_given(self) -> bool:
        """Whether the answer is in the material word for word."""
        final = " ".join(self.final.split()).casefold()
        return bool(final) and final in " ".join(self.material.split()).casefold()

    @cached_property
    def covered(self) -> float:
        """The share of the question's names and numbers that the material mentions; 0 without material."""
        named = {word for match in _PROPER.findall(self.asked[1:]) for word in words(match)}
        if not self.known:
            return 0.0
        return len(named & self.known) / len(named) if named else 1.0


def _split(question: str) -> tuple[str, str]:
    """Splits a message into material and question. In a long message the question is the last line with a question
    mark, else the last line. A short message is all question, unless a label marks its last line as the question."""
    lines = [line for line in question.strip().splitlines() if line.strip()]
    if len(lines) < 2 or len(question.split()) <= _LONG_QUESTION_WORDS:
        if lines and len(lines) > 1 and _LABEL.match(lines[-1]):
            return "\n".join(lines[:-1]), _LABEL.sub("", lines[-1])
        return "", _LABEL.sub("", question.strip())
    place = next((at for at in range(len(lines) - 1, -1, -1) if "?" in lines[at]), len(lines) - 1)
    return "\n".join(lines[:place] + lines[place + 1 :]), _LABEL.sub("", lines[place])
