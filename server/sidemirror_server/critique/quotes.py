"""Whether a quote occurs in a text. Pure.

An issue counts only if its quote is in the judged texts (decision 019). Differences that no reader sees are ignored:
case, spaces, kinds of quotation marks, composed characters.
"""

import re
import unicodedata

_MARKS = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "–": "-", "—": "-"})
_EDGES = " \t\n\"'`.…,;:"
# English stop words. A quote of these alone proves nothing, because every text has them. Chosen here.
_EMPTY_WORDS_TEXT = (
    "a an and are as at be by for from has have he i in is it its of on or our she so that the their they this to was "
    "we were will with you your"
)
_EMPTY_WORDS = frozenset(_EMPTY_WORDS_TEXT.split())
_WORD = re.compile(r"\w+")
# Matches a word or a number with a `|` inside it. Latin letters only: a quote in Chinese may begin anywhere.
_ONE_WORD = re.compile(r"[a-z0-9]\|[a-z0-9]|\d[.,]\|\d|\d\|[.,]\d")

# Orders to the judge that hostile material may contain: they mention fields of the verdict, or say to ignore
# instructions. Chosen here against prompt injection (decision 019).
_ORDER = re.compile(
    r"should[_ ]?revise|revision[_ ]prompt|issue_details|quote_source"
    r"|\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|rubric|prompt|rule|above|previous|prior)"
    r"|\b(?:system|critic|reviewer|evaluator|judge|assistant)\s*(?:prompt|message|note|instruction)?s?\s*:"
    r"|\b(?:mark|flag|report|rate|score|grade|classify|label)\s+(?:this|the|my|it)\b.{0,40}"
    r"\b(?:as|with|answer|response|confidence|wrong|correct|perfect|revis)"
    r"|\b(?:set|give|return|output|answer with)\b.{0,20}\b(?:confidence|severity|verdict|issues?)\b"
    r"|\b(?:ask|call|demand|request)\w*\s+(?:for\s+)?(?:a\s+)?revision\b",
    re.IGNORECASE | re.DOTALL,
)


def normal(text: str) -> str:
    """Normalises a text for comparison."""
    folded = unicodedata.normalize("NFKC", text.translate(_MARKS)).casefold()
    return " ".join(folded.split())


def says_something(quote: str) -> bool:
    """Whether a quote has at least one number, or a word that is not a stop word."""
    return any(word not in _EMPTY_WORDS for word in _WORD.findall(normal(quote)))


def is_in(quote: str, normal_text: str) -> bool:
    """Whether `quote` occurs in `normal_text` (returned by `normal`), and begins and ends at word boundaries."""
    wanted = normal(quote).strip(_EDGES)
    if not wanted or not says_something(wanted):
        return False
    at = normal_text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not (_joins(normal_text[max(0, at - 2) : at], wanted) or _joins(wanted, normal_text[end : end + 2])):
            return True
        at = normal_text.find(wanted, at + 1)
    return False


def gives_orders(text: str) -> bool:
    """Whether a text tells the critic what to find. An honest reason, fix or quote never does."""
    return _ORDER.search(text[:4_000]) is not None


def _joins(left: str, right: str) -> bool:
    """Whether the end of `left` and the beginning of `right` belong to one word or number."""
    near = f"{left[-2:]}|{right[:2]}"
    return _ONE_WORD.search(near) is not None
