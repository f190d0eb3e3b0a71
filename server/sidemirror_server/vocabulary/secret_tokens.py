"""Finds tokens of a recognisable form by their long run of letters, digits, `_` and `-`.

Called by `redaction.py`. A text is folded to bytes in which every character of a run is the same letter, so that one
search shows whether there is a run. Each run is compared with the table of prefixes (`secret_kinds.py`), then with the
text before it.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from sidemirror_server.vocabulary import secret_kinds as kinds
from sidemirror_server.vocabulary import secret_patterns as patterns

# All token characters become one letter, characters that may end a line stay, all others become blanks.
RUNS = bytes(
    ord("a")
    if chr(b).isalnum() or b in b"_-"
    else ord("\n")
    if b in b"\n\r\\"
    else ord('"')
    if b in b"\"'"
    else ord(" ")
    for b in range(128)
) + bytes(b" " * 128)
_RUN_END = re.compile(rb"[^a]|\Z")
# The shortest token with a vendor's prefix (Slack's, Stripe's for tests) has 18 characters. Chosen here: two less, for
# tokens that a line break splits.
_LONG_RUN = b"a" * 16
_DIGIT = re.compile(r"[0-9]")
_MARK = re.compile(r"[_-]")
# Characters before a run: at the end of a prefix, at the end of an escape, or in base64 data.
_LEAD_ENDS = frozenset("./~")
_ESCAPE_ENDS = frozenset("\\%[;")
_IN_BASE64 = frozenset("+/")
# Chosen here: the length of base64 data after which a prefix is ignored; and the least length of a token glued to a
# word, and of a token without a prefix.
_BASE64_CHARS, _SHORTEST_GLUED, _SHORTEST_ALONE = 100, 20, 35
_BEHIND = {".": patterns.DISCORD, ":": patterns.BEHIND_COLON}
# (hint in the text before a run, pattern of that text, pattern of the secret's rest, kind). The hint is cheap to check.
_Place = tuple[str, re.Pattern[str], re.Pattern[str], str]
_SIGNED: tuple[_Place, ...] = tuple(
    (hint, patterns.SIGNED, patterns.SIGNATURE_REST, "signature") for hint in ("sig=", "ature=")
)
_AZURE: _Place = ("Q~", patterns.AZURE, patterns.AZURE_REST, "azure")
_POST_TO: _Place = ("hook", patterns.POST_TO, patterns.ADDRESS_REST, "webhook")
_PLACES: dict[str, tuple[_Place, ...]] = {
    **dict.fromkeys("=%+", _SIGNED),
    **dict.fromkeys("~.", (_AZURE,)),
    "/": (_POST_TO, *_SIGNED),
    "@": (_POST_TO,),
    "$": (("access_token$", patterns.BRAINTREE, patterns.SIGNATURE_REST, "braintree"),),
}

# (start, end, kind), in code points.
Span = tuple[int, int, str]
# (text, start and end of a run that is no token by itself) → the split token that begins or continues there.
Cut = Callable[[str, int, int], Span | None]


def tokens(text: str, runs: bytes, cut: Cut | None = None, at: int = 0) -> Iterator[Span]:
    """The tokens of a recognisable form, each with a long run at or after `at`. `cut` finds split tokens at runs that
    are no tokens."""
    at = runs.find(_LONG_RUN, at)
    while at >= 0:
        end = _RUN_END.search(runs, at).start()  # type: ignore[union-attr]  # every text has an end
        before = text[at - 1 : at]
        if before in _IN_BASE64 and _is_within_base64(text, at):
            at = runs.find(_LONG_RUN, patterns.BASE64.match(text, at).end())  # type: ignore[union-attr]  # it matches ""
            continue
        span = _vendors_own(text, at, end, before) or _told_by_place(text, at, end, before)
        if span is None and before in _IN_BASE64:
            begun = _begun_as_base64(text, at)
            span = _with_prefix(text, begun) or (cut(text, begun, end) if cut else None) if begun >= 0 else None
        if span is None and cut is not None:
            span = cut(text, at, end)
        if span is not None:
            yield span
            end = max(end, span[1])
        at = runs.find(_LONG_RUN, end)


def _is_within_base64(text: str, at: int) -> bool:
    """Whether so much base64 data precedes `at` that a prefix is a coincidence, as in an image or a certificate."""
    passed = text[max(0, at - _BASE64_CHARS) : at]
    return "+" in passed and len(passed) == _BASE64_CHARS and patterns.BASE64.fullmatch(passed) is not None


def _vendors_own(text: str, start: int, end: int, before: str) -> Span | None:
    """The token with a vendor's prefix that begins at the run, before it, or after a mark within it."""
    span = _with_prefix(text, start) if text[start : start + 2] in kinds.BEGINNINGS else None
    if span is None and before in _LEAD_ENDS and text.endswith(kinds.LEADS, 0, start):
        for lead in kinds.LEADS:
            if span is None and text.endswith(lead, 0, start):
                span = _with_prefix(text, start - len(lead))
    if span is None and before in _ESCAPE_ENDS and (escape := patterns.ESCAPE.match(text, start)):
        span = _with_prefix(text, escape.end()) or _told_by_place(text, escape.end(), end, "")
    if span is None and end - start > _SHORTEST_GLUED:
        for mark in _MARK.finditer(text, start, end - _SHORTEST_GLUED):
            if span is None and text[mark.end() : mark.end() + 2] in kinds.GLUED:
                span = _with_prefix(text, mark.end(), kinds.GLUED)
    return span


def _with_prefix(text: str, at: int, known: Mapping[str, list[kinds.Kind]] = kinds.BEGINNINGS) -> Span | None:
    """The token whose prefix is at `at`, the longest if several of the known kinds fit."""
    found: Span | None = None
    for kind in kinds.kinds_at(text, at, known):
        begin = at + len(kind.prefix)
        rest = kind.body.match(text, begin)
        end = rest.end() if rest else begin
        if (
            end - begin >= kind.least
            and (found is None or end > found[1])
            and not (kind.has_digit and not _DIGIT.search(text, begin, end))
        ):
            found = begin, end, kind.name
    return found


def _begun_as_base64(text: str, start: int) -> int:
    """The start of a base64 token that may continue with the run at `start`; -1 if none is near."""
    begin = max(0, start - _BASE64_CHARS)
    at = begin + kinds.base64_prefix_in(text[begin:start])
    if at < begin or (text[at - 1 : at].isalnum() and not patterns.ESCAPED.search(text, max(0, at - 5), at)):
        return -1
    return at


def _told_by_place(text: str, start: int, end: int, before: str) -> Span | None:
    """A token without a prefix, recognised by its content or by the text before it."""
    if end - start >= _SHORTEST_ALONE and (alone := patterns.ALONE.match(text, start)):
        return *alone.span(), alone.lastgroup or ""
    pattern = _BEHIND.get(before)
    if pattern is not None and (behind := pattern.match(text, start)):
        return *behind.span(), behind.lastgroup or ""
    places = _PLACES.get(before)
    if places is None:
        return None
    passed = text[max(0, start - 200) : start]
    for hint, place, rest, kind in places:
        if hint not in passed or (found := rest.match(text, start)) is None:
            continue
        if lead := place.search(passed):
            return start - len(passed) + lead.end("lead"), found.end(), kind
        if place.search(patterns.WRAP.sub("", passed)):
            return start - len(passed) + passed.rfind(hint) + len(hint), found.end(), kind
    return None
