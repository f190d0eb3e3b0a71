"""The answer as sentences with the numbers and words in them. Offsets are those of the whole text."""

import functools
import re
from collections.abc import Iterator

import msgspec

_SENTENCE_END = re.compile(
    r"(?<=[.!?;])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bNo\.)(?<!\be\.g\.)(?<!\bi\.e\.)\s|\n| [|•] "
)
_WORD = re.compile(r"[^\W_]+")
_STOP_TEXT = (
    "a an and are as at be been by for from has have had he her his i if in into is it its me my not of "
    "on or our she so "
    "that the their them then there these they this to was we were will with you your all any also now just each per"
)
STOP = frozenset(_STOP_TEXT.split())

# What is not a quantity: identifiers, versions, dates, times, links, paths.
_PIECE_CHARS = 16_384
_NO_QUANTITY = re.compile(
    r"https?://[^\s)\]>\"']{1,300}"
    r"|\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b"
    r"|\b\d{1,2}(?:st|nd|rd|th)?(?: of)? (?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|"
    r"dec)[a-z]{0,7}\b(?:,? \d{4}\b)?"
    r"|\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,7}\.? \d{1,2}(?:st|nd|rd|"
    r"th)?\b(?:,? \d{4}\b)?"
    r"|\b\d{1,2}:\d{2}(?::\d{2})?(?:[ \u202f]?[ap]\.?m\b)?"
    r"|\b\d+(?:\.\d+){2,8}\b"
    r"|\bv\d[\w.]{0,20}"
    r"|[#/\\][\w#./\\-]{0,200}"
    r"|\b(?=[A-Za-z_-]{0,30}\d)(?=[\d_-]{0,30}[A-Za-z])[A-Za-z0-9]{1,40}(?:[_-][A-Za-z0-9]{1,40}){1,8}\b"
    r"|\b[A-Za-z]{1,20}\d[A-Za-z0-9]{0,40}\b"
    r"|\b(?=[A-Za-z0-9]{0,20}[A-Za-z]\d)[A-Za-z0-9]{3,40}\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.,])(?P<sign>[-−])?(?P<money>(?:US)?[$€£¥] ?)?(?P<digits>\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,10})?|"
    # As most of Europe writes 1,299.00.
    r"(?P<comma>(?:\d{1,3}(?:[.\u00a0\u202f]\d{3}){1,4}|\d{1,12}),\d{2})(?![\d,])|"
    r"\d{1,15}(?:\.\d{1,10})?)"
    # A word after `in` makes it no inches: 30 in stock.
    r"(?![\d])(?:(?:[ \u00a0]{0,3}|-)(?P<unit>%|°[CF]|(?!in [A-Za-z])[A-Za-zµ€£$]{1,15})(?![\w]))?"
)
_TOKEN = re.compile(
    r"\b\d{1,2}:\d{2}\b|\b\d{4}-\d{2}-\d{2}\b|[\w./@-]{0,60}(?:[A-Za-z][\w./@-]{0,4}\d|"
    r"\d[\w./@-]{0,4}[A-Za-z])[\w./@-]{0,60}|[\w-]{1,40}(?:/[\w.-]{1,60}){1,8}|\b[\w-]{1,60}\.[a-z]{2,5}\b|"
    r"\b[a-z]{1,40}(?:_[a-z]{1,40}){1,6}\b"
)
# So many digits without a comma or a point are an identifier.
_IDENTIFIER_DIGITS = 7
_SPELLED_TEXT = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
SPELLED = {word: float(value) for value, word in enumerate(_SPELLED_TEXT.split())} | {"both": 2.0, "dozen": 12.0}
_SPELLED = re.compile(rf"\b(?P<digits>{'|'.join(SPELLED)})\b(?:[ -](?P<unit>[A-Za-z]{{1,15}}))?", re.IGNORECASE)
_SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "mn": 1e6, "bn": 1e9, "billion": 1e9, "b": 1e9}


class Figure(msgspec.Struct, frozen=True):
    """A number as written. `unit`: the word or sign right after it, in lower case; may be any word. `money`: the sign
    before it. `places`: how many digits after the point. `digits`: the value without sign and magnitude; 0 if it is
    spelled."""

    value: float
    text: str
    start: int
    end: int
    unit: str = ""
    money: str = ""
    places: int = 0
    spelled: bool = False
    digits: float = 0.0


class Spoken(msgspec.Struct, frozen=True):
    """A sentence or a line, where it begins in the whole text, and its words without stop words, stemmed."""

    text: str
    start: int
    words: frozenset[str]

    @property
    def plain(self) -> str:
        return self.text.strip(" \t-*•>#|")


@functools.lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A word without plural, tense and case: enough to compare names of fields with words."""
    word = word.casefold()
    for ending, most in (("ies", "y"), ("sses", "ss"), ("ied", "y")):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)] + most
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) > len(ending) + 2 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    return word


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(text.split())


def stem_set(text: str) -> frozenset[str]:
    """The stems of such a list."""
    return frozenset(map(stem, word_set(text)))


def words_of(text: str) -> list[str]:
    """The stems of a text's words without stop words, in its order."""
    return [stem(word) for word in _WORD.findall(text) if not word.isdigit() and word.casefold() not in STOP]


def tokens_of(text: str) -> frozenset[str]:
    """The stems of a text, and its times, identifiers and paths as they stand, in lower case."""
    return frozenset(words_of(text)) | {match[0].casefold().strip(".,:;/\"'") for match in _TOKEN.finditer(text)}


def name_words(name: str) -> tuple[str, ...]:
    """The stems of an identifier's parts: `totalPrice_usd` → total, price, usd."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").replace("-", " ").replace(".", " ")
    return tuple(words_of(parted))


def sentences(text: str) -> list[Spoken]:
    """The sentences and lines of a text, in its order."""
    found, begin = [], 0
    for match in (*_SENTENCE_END.finditer(text), None):
        end = match.start() if match else len(text)
        if text[begin:end].strip():
            part = text[begin:end]
            found.append(Spoken(part, begin, frozenset(words_of(part))))
        begin = match.end() if match else len(text)
    return found


def masked(text: str) -> str:
    """The text with spaces in the place of identifiers, dates, times, links and paths."""
    return "".join(_NO_QUANTITY.sub(lambda found: " " * len(found[0]), piece) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """The text in parts that end at a space or a line's end if it can be: a search holds the interpreter's lock."""
    begin = 0
    while len(text) - begin > _PIECE_CHARS:
        end = begin + _PIECE_CHARS
        end = max(text.rfind(" ", begin, end), text.rfind("\n", begin, end)) + 1 or end
        yield text[begin:end]
        begin = end
    yield text[begin:]


def numbers(text: str, *, spelled: bool = False) -> Iterator[Figure]:
    """The quantities of a text. `spelled`: those written as words as well."""
    plain = masked(text)
    for match in _NUMBER.finditer(plain):
        digits, unit = _plain_digits(match), (match["unit"] or "").casefold()
        scale = _SCALES.get(unit, 1.0)
        if scale != 1.0 and len(unit) == 1 and not match["money"]:
            scale = 1.0 if unit in {"m", "b"} else scale
        if len(digits) >= _IDENTIFIER_DIGITS and digits == match["digits"] and "." not in digits:
            continue
        value = float(digits) * scale * (-1 if match["sign"] else 1)
        places = len(digits.partition(".")[2])
        end = match.end("unit") if match["unit"] in {"%"} or scale != 1.0 else match.end("digits")
        said, money = text[match.start() : end], (match["money"] or "").strip()
        yield Figure(value, said, match.start(), end, unit, money, places, digits=float(digits))
    if spelled:
        for match in _SPELLED.finditer(plain):
            spoken = match["digits"].casefold()
            if spoken not in SPELLED:  # a letter that is alike when its case is ignored
                continue
            value = SPELLED[spoken]
            start, end = match.span("digits")
            yield Figure(value, match["digits"], start, end, (match["unit"] or "").casefold(), spelled=True)


def _plain_digits(match: re.Match[str]) -> str:
    """The digits of a number, with a point before its decimals."""
    if match["comma"] is None:
        return match["digits"].replace(",", "")
    whole, _, places = match["comma"].partition(",")
    return f"{re.sub(r'[^0-9]', '', whole)}.{places}"


def same(one: float, other: float, places: int = 2) -> bool:
    """Whether two numbers are the same when rounded to this many places."""
    return abs(one - other) <= 0.5 * 10.0**-places + 1e-9


def distance_at_most_one(one: str, other: str) -> bool:
    """Whether two texts differ by one letter put in, left out or replaced, or by two neighbours exchanged."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    begin = 0
    while begin < min(len(one), len(other)) and one[begin] == other[begin]:
        begin += 1
    rest, others = one[begin:], other[begin:]
    if len(rest) == len(others):
        return rest[1:] == others[1:] or (rest[:2] == others[1::-1] and rest[2:] == others[2:])
    return rest[1:] == others or rest == others[1:]


def are_exchanged(one: str, other: str) -> bool:
    """Whether two texts of one length differ in two letters that have changed places."""
    if len(one) != len(other):
        return False
    differ = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    return len(differ) == 2 and differ[0] == differ[1][::-1]
