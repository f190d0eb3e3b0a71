"""Is a quote really there? Pure.

An issue stands or falls with this: what a model says about a text that it cannot point at is not used (design
section 6). Spelling that no reader sees (case, spaces, kinds of quotation marks, composed letters) makes no difference.
"""

import re
import unicodedata

_MARKS = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "–": "-", "—": "-"})
_EDGES = " \t\n\"'`.…,;:"
# A quote of these alone points at nothing: every text has them. Chosen here: the English words without a meaning of
# their own that a critic who has nothing to show would quote.
_EMPTY_WORDS_TEXT = (
    "a an and are as at be by for from has have he i in is it its of on or our she so that the their they this to was "
    "we were will with you your"
)
_EMPTY_WORDS = frozenset(_EMPTY_WORDS_TEXT.split())
_WORD = re.compile(r"\w+")
# Where a text was cut at `|`, in the middle of a word or of a number. Latin letters only: a quote in Chinese begins
# anywhere.
_ONE_WORD = re.compile(r"[a-z0-9]\|[a-z0-9]|\d[.,]\|\d|\d\|[.,]\d")

# Orders to whoever judges, as they are smuggled into material: about the verdict's own fields, or to drop one's
# instructions. Chosen here after research page critique-and-thinking, section 2.3, "Judge prompt injection".
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
    """`text` as it is compared."""
    folded = unicodedata.normalize("NFKC", text.translate(_MARKS)).casefold()
    return " ".join(folded.split())


def says_something(quote: str) -> bool:
    """Whether a quote has at least one word with a meaning of its own, or a number."""
    return any(word not in _EMPTY_WORDS for word in _WORD.findall(normal(quote)))


def is_in(quote: str, normal_text: str) -> bool:
    """Whether `quote` stands in a text (given as `normal` returns it), from word to word."""
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
    """Whether a text tells its critic what to find, which an honest reason, fix or quote has no cause to."""
    return _ORDER.search(text[:4_000]) is not None


def _joins(left: str, right: str) -> bool:
    """Whether the end of one text and the beginning of the next belong to one word or one number."""
    near = f"{left[-2:]}|{right[:2]}"
    return _ONE_WORD.search(near) is not None
