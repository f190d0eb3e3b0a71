"""Finds lessons that try to steer their reader (decision 032). Pure.

The main protection against hostile texts is elsewhere: recall returns every text as data, with its origin. These rules
quarantine a text that asks for something beyond the task, hides characters, or repeats a tool's words. They also
quarantine a text with a link, an address or a command that neither the agent nor its user used in the episode. The rule
on repetition covers wordings that no list has; it assumes a model that copies whatever it reads.
"""

import base64
import binascii
import codecs
import html
import re
import unicodedata
import urllib.parse
from collections.abc import Iterable, Iterator, Sequence

from sidemirror_server.memory.lessons.keys import plain
from sidemirror_server.memory.lessons.ordinary_errors import is_ordinary
from sidemirror_server.memory.lessons.trust_wordings import BEYOND, CARRIED, DESTRUCTIVE, OTHER_LANGUAGES, STEERING
from sidemirror_server.trace.failure import ErrorCategory, category_of, ends, telling_line
from sidemirror_server.vocabulary.terms import telling_terms

_STEERING = tuple((what, re.compile(pattern, re.S)) for what, pattern in STEERING)
_BEYOND = tuple((what, re.compile(asks, re.S), re.compile(did)) for what, asks, did in BEYOND)
_CARRIED = tuple((what, re.compile(pattern)) for what, pattern in CARRIED)
_DESTRUCTIVE = tuple((what, re.compile(pattern)) for what, pattern in DESTRUCTIVE)
_ELSEWHERE = re.compile("|".join(OTHER_LANGUAGES), re.S)

# Characters that are invisible or change the order of a text, and text that a terminal conceals. Terminal colours are
# allowed, as in tool output. Joiners and direction marks that scripts need are allowed, but not between Latin letters.
# One variation selector after a character is allowed, two in a row are not.
_HIDDEN = re.compile(
    "[\u200b\u2060-\u2064\u206a-\u206f\ufeff\u00ad\u180e\u202a-\u202e\u2066-\u2069\u115f\u1160\u3164\uffa0"
    "\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
    r"|\x08|\x1b\[(?:\d{1,3};){0,8}8m"
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}"
    "|(?<=[A-Za-z])[\u034f\u061c\u180b-\u180d\u200c-\u200f\u2800\U000e0100-\U000e01ef](?=[A-Za-z])"
)
_CYRILLIC_OR_GREEK = re.compile(r"[\u0370-\u03ff\u0400-\u052f]")
_LATIN = re.compile(r"[a-z]")
_WORD = re.compile(r"\w+")
# Letters set apart one by one: "i g n o r e", "d.i.s.r.e.g.a.r.d".
_SPACED = re.compile(r"(?<!\w)(?:\w[ .\-_*·|/]){5,}\w(?!\w)")
_LEET = str.maketrans("013457@$!|", "oieastasil")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[ :]?){12,}")
_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[0-7]{3}){3,}")
_BINARY = re.compile(r"(?:[01]{8}[ ,]?){6,}")
_DECIMAL = re.compile(r"(?:\b\d{2,3}[ ,]+){8,}\d{2,3}\b")

_SENTENCE_END = re.compile(r"[.;!?](?=\s)")
# A text of at most this many words may well occur in a tool's output. Chosen here.
_FEW_WORDS = 4
# This many consecutive words that also occur in a tool's text are a copy.
_RUN_WORDS = 5
# A text with this share of copied words, or more, is quarantined. Chosen here.
_COPIED_RATIO = 0.5
# A short lesson may quote up to this share from an error. The quotation must be the error's first sentence, with at
# most this many words. Chosen here: a third is left for the lesson's own words, and ten words can hide little.
_QUOTED_RATIO, _QUOTED_WORDS = 0.66, 10
# As the rules quote what an error says.
_QUOTATION = re.compile(r"“([^”\n]{1,400})”")
# In code points: errors that are quoted are named by then.
_HEARD_CHARS = 4_000
# In code points: how much of each text is compared.
_READ_CHARS = 64_000


def steering(texts: Sequence[str], untrusted: Sequence[str] = (), trusted: Sequence[str] = ()) -> str:
    """Describes, for people, how one of a lesson's texts tries to steer; empty if none does.

    `untrusted`: texts of tools and errors in its episode; `trusted`: texts and calls of the agent and its user.
    """
    own = "\n".join(plain(text[:_READ_CHARS]) for text in trusted)
    heard = _Heard(untrusted)
    for text in texts:
        found = _hides(text) or _asks(text, own) or _copies(_unquoted(text, untrusted, own), heard)
        if found:
            return found
    return ""


def steering_of_own(texts: Sequence[str]) -> str:
    """Like `steering`, for texts that the agent tells by itself. No episode says which links and commands it used, so
    only the commands in `DESTRUCTIVE` count."""
    for text in texts:
        found = _hides(text) or _steers(text) or _carries(text, _DESTRUCTIVE, "")
        if found:
            return found
    return ""


def _hides(text: str) -> str:
    if _HIDDEN.search(text):
        return "hides characters"
    for word in _WORD.findall(text.casefold()):
        if _CYRILLIC_OR_GREEK.search(word) and _LATIN.search(word) and not word.startswith(("μ", "δ", "λ")):
            return "mixes look-alike letters"
    return ""


def _asks(text: str, own: str) -> str:
    if found := _steers(text):
        return found
    folded = plain(text[:_READ_CHARS])
    for what, asks, did in _BEYOND:
        if asks.search(folded) and not did.search(own):
            return what
    return _carries(text, _CARRIED, own)


def _steers(text: str) -> str:
    for reading in _readings(text[:_READ_CHARS]):
        folded = plain(reading)
        for what, pattern in _STEERING:
            if pattern.search(folded):
                return what
        if _ELSEWHERE.search(folded):
            return "asks to ignore instructions or to reveal secrets"
    return ""


def _carries(text: str, patterns: Sequence[tuple[str, re.Pattern[str]]], own: str) -> str:
    folded = plain(text[:_READ_CHARS])
    for what, pattern in patterns:
        if any(found.group().rstrip(".,;:!?") not in own for found in pattern.finditer(folded)):
            return what
    return ""


def _readings(text: str) -> Iterator[str]:
    """The text and its decodings."""
    yield text
    if "&" in text:
        yield html.unescape(text)
    if "%" in text:
        yield urllib.parse.unquote(text)
    yield from _unescaped(text)
    yield from _decoded(text)
    joined = _SPACED.sub(lambda found: re.sub(r"[ .\-_*·|/]", "", found.group()), text)
    if joined != text:
        # Joining the letters loses the word boundaries, so known words are split off again.
        yield joined
        yield re.sub(r"(ignore|disregard|forget|reveal|send|previous|all|your|the)", r" \1 ", plain(joined))
    if any(c in text for c in "0134@$"):
        yield text.translate(_LEET)
    if text.isascii():
        yield codecs.decode(text, "rot13")
    yield text[::-1]
    if "*" in text or "_" in text or "`" in text:
        yield re.sub(r"[*_`~]", "", text)


def _unescaped(text: str) -> Iterator[str]:
    if _ESCAPES.search(text):
        yield re.sub(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})", lambda m: chr(int(m[1] or m[2], 16)), text)
    for pattern, base in ((_BINARY, 2), (_DECIMAL, 10)):
        for found in pattern.finditer(text):
            codes = [int(code, base) for code in re.findall(r"\d+", found.group())]
            yield "".join(chr(code) for code in codes if code < 0x110000 and not 0xD800 <= code < 0xE000)


def _decoded(text: str) -> Iterator[str]:
    for found in _BASE64.findall(text):
        padded = found.rstrip("=") + "=" * (-len(found.rstrip("=")) % 4)
        for alphabet in (None, b"-_"):
            try:
                yield base64.b64decode(padded, altchars=alphabet, validate=True).decode()
            except (binascii.Error, ValueError):
                continue
    for found in _HEX.finditer(text):
        try:
            yield bytes.fromhex(re.sub(r"[ :]", "", found.group())).decode()
        except ValueError:
            continue


class _Heard:
    """The words of an episode's tool and error texts, and the words among them that a lesson may quote."""

    def __init__(self, texts: Iterable[str]) -> None:
        kept = list(texts)
        self._words = [_words(text) for text in kept]
        self._failures = [words for words in map(_failure, kept) if words]

    def said(self, length: int) -> set[tuple[str, ...]]:
        """All runs of `length` words."""
        return {run for words in self._words for run in _runs(words, length)}

    def failures(self, length: int) -> set[tuple[str, ...]]:
        """The runs of `length` words that a lesson may quote."""
        return {run for words in self._failures for run in _runs(words, length)}


def _failure(text: str) -> list[str]:
    """The words of an error's first sentence; none if the kind of error is unknown or the sentence is long."""
    line = telling_line(ends(text))
    if category_of(line) is ErrorCategory.UNKNOWN:
        return []
    words = _words(_SENTENCE_END.split(line, 1)[0])
    return words if len(words) <= _QUOTED_WORDS else []


def _unquoted(text: str, untrusted: Sequence[str], own: str) -> str:
    """The text without its quotations of ordinary errors. Where a text of the episode steers, nothing that it says is
    ordinary: a quotation has lost what it hid."""
    known = telling_terms(own)
    if not any(is_ordinary(quoted, known) for quoted in _QUOTATION.findall(text)):
        return text
    if any(_hides(heard[:_HEARD_CHARS]) or _steers(heard[:_HEARD_CHARS]) for heard in untrusted):
        return text
    return _QUOTATION.sub(lambda found: " " if is_ordinary(found[1], known) else found[0], text)


def _copies(text: str, heard: _Heard) -> str:
    words = _words(text)
    if len(words) <= _FEW_WORDS:
        return ""
    run = min(_RUN_WORDS, len(words))
    said, quotable = heard.said(run), heard.failures(run)
    copied, planted = [False] * len(words), [False] * len(words)
    for at, run_of in enumerate(_runs(words, run)):
        if run_of in said:
            copied[at : at + run] = [True] * run
            if run_of not in quotable:
                planted[at : at + run] = [True] * run
    if sum(copied) < _COPIED_RATIO * len(words):
        return ""
    if sum(planted) < _COPIED_RATIO * len(words) and sum(copied) <= _QUOTED_RATIO * len(words):
        return ""
    return "repeats a tool's words"


def _runs(words: list[str], length: int) -> Iterator[tuple[str, ...]]:
    return (tuple(words[at : at + length]) for at in range(len(words) - length + 1))


def _words(text: str) -> list[str]:
    """The words of a text. In a script without spaces each character counts as a word."""
    found: list[str] = []
    for word in _WORD.findall(plain(text[:_READ_CHARS])):
        if len(word) > 4 and unicodedata.east_asian_width(word[0]) in "WF":
            found += word
        else:
            found.append(word)
    return found
