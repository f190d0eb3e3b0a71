"""Finds the secrets in a text. Only `vocabulary/text.py` calls this module, for every text that enters.

Every text is searched, and most contain no secret. To be fast, the search folds the text to bytes and looks for a few
triggers: names before a secret (`secret_names.py`) and runs long enough for a token (`secret_tokens.py`). Each rule is
bounded or possessive, and each run is read once, so the search time is linear in the text. This module combines both
searches and finds tokens that a line break splits.

Emails and phone numbers are not secrets, because customer service agents constantly work with them. Card numbers are
secrets if their issuer digits, length and check digit are valid.
"""

import re
from collections.abc import Collection, Iterator

from sidemirror_server.vocabulary import secret_kinds as kinds
from sidemirror_server.vocabulary import secret_patterns as patterns
from sidemirror_server.vocabulary.secret_names import FOLD, named
from sidemirror_server.vocabulary.secret_tokens import RUNS, Span, tokens

# The end of a line that may split a token all of whose parts are shorter than a long run. Chosen here: a third of the
# shortest token.
_CUT_RUNS = (b"a" * 6 + b"\n", b"a" * 6 + b'"\n')

_DIGIT = re.compile(r"[0-9]")
# Characters between the beginning of a line and the rest of a token; below, characters before such a rest.
_MARGIN = " \t>|#*+\"'"
_MAY_GO_ON = frozenset(("\n", "\\", *_MARGIN))
_LINE_ENDS = frozenset("\nn")
# Characters after a token that a line break may have split.
_MAY_CUT = frozenset("\n\r\\\"'")
# Characters after a name that gets a value. Such a name is not a token that a line break has split.
_SETS = frozenset("=:(")
# Kinds of secrets that end with their line, because no pattern recognises a continuation.
_NEVER_CUT = frozenset({"password", "secret", "token", "api_key", "cookie", "card", "private_key"})
# Chosen here: the longest first line of a split token, in code points, and the most lines of one token.
_LINE_CHARS, _MOST_LINES = 300, 8

# The shortest match of any pattern is `://:p@`. Names of agents and tools are often shorter.
SHORTEST_SECRET_CHARS = 6
# The shortest secret that is looked for wherever it stands. Chosen here: a shorter one is part of other words.
SHORTEST_GIVEN_CHARS = 6
# From so many on, those whose beginning the text does not have are left out first. Chosen here: that takes as long as
# 70 to 480 searches of an ordinary text, however many there are.
_MANY_GIVEN = 100


def secret_spans(text: str, given: Collection[str] = ()) -> list[Span]:
    """(start, end, kind) of each secret, ascending, not overlapping; mostly none. A public prefix is excluded. `given`:
    what is a secret wherever it stands, each of at least `SHORTEST_GIVEN_CHARS`."""
    plain = text.encode("ascii", "replace")
    runs = plain.translate(RUNS)
    spans = [*tokens(text, runs, _going_on), *named(text, plain.translate(FOLD))]
    spans += _joined_after(text, {end for _, end, _ in spans})
    for cut in _CUT_RUNS:
        if cut in runs:
            spans += _cut(text, runs, cut)
    for secret in given if len(given) < _MANY_GIVEN else _begun_in(text, given):
        spans += _every(text, secret)
    return _merged(sorted(spans)) if len(spans) > 1 else spans


def _begun_in(text: str, given: Collection[str]) -> list[str]:
    begins = {text[at : at + SHORTEST_GIVEN_CHARS] for at in range(len(text))}
    return [secret for secret in given if secret[:SHORTEST_GIVEN_CHARS] in begins]


def _every(text: str, secret: str) -> Iterator[Span]:
    """Where a secret stands; one of letters alone only as a word of its own, as it may be a part of others."""
    at, is_letters = text.find(secret), secret.isalpha()
    while at >= 0:
        end = at + len(secret)
        if not is_letters or (not text[end : end + 1].isalnum() and _begins_a_word(text, at)):
            yield at, end, "value"
        at = text.find(secret, end)


def _begins_a_word(text: str, at: int) -> bool:
    begin = max(0, at - patterns.LONGEST_BEFORE_WORD)
    return not text[at - 1 : at].isalnum() or patterns.BEFORE_WORD.search(text, begin, at) is not None


def _merged(spans: list[Span]) -> list[Span]:
    merged = [spans[0]]
    for start, end, kind in spans[1:]:
        first, last, name = merged[-1]
        if start < last:
            merged[-1] = (first, max(last, end), name)
        else:
            merged.append((start, end, kind))
    return merged


def _joined_after(text: str, ends: set[int]) -> list[Span]:
    """The tokens that line breaks split, looked for at the `ends` of secrets. An end within such a token is not tried:
    each of its lines may end a secret, and would be joined with the same lines again."""
    found: list[Span] = []
    for end in sorted(ends):
        inside = found and end < found[-1][1]
        if not inside and text[end : end + 1] in _MAY_CUT and (span := _joined(text, end)):
            found.append(span)
    return found


def _cut(text: str, runs: bytes, cut: bytes) -> Iterator[Span]:
    """The tokens that line breaks split."""
    at = runs.find(cut)
    while at >= 0:
        end = at + cut.rfind(b"a") + 1
        span = _joined(text, end)
        if span is not None:
            yield span
            end = max(end, span[1] - 1)
        at = runs.find(cut, end)


def _going_on(text: str, start: int, end: int) -> Span | None:
    """A token with a short part on each line. It begins at the run, or continues there from the previous line."""
    span = _begun(text, start) if text[start : start + 2] in kinds.BEGINNINGS else None
    return span or (_begun_before(text, start, end) if text[start - 1 : start] in _MAY_GO_ON else None)


def _begun(text: str, start: int) -> Span | None:
    """The split token that begins here."""
    for kind in kinds.kinds_at(text, start):
        body = kind.body.match(text, start + len(kind.prefix))
        if body is not None and text[body.end() : body.end() + 1] in _MAY_CUT and (span := _joined(text, body.end())):
            return span
    return None


def _begun_before(text: str, start: int, end: int) -> Span | None:
    """The split token that continues with the run at the beginning of a line."""
    if text[start - 1 : start + 1] == "\\n":
        start += 1
    passed = text[max(0, start - 40) : start]
    if passed.rstrip(_MARGIN)[-1:] not in _LINE_ENDS or not _DIGIT.search(text, start, end):
        return None
    for found in patterns.WRAP.finditer(passed):
        if found.end() == len(passed):
            span = _joined(text, start - len(found[0]))
            return span if span is not None and span[1] > start else None
    return None


def _joined(text: str, end: int) -> Span | None:
    """The token that continues over the line break at `end`, found by joining the lines. If the first line already has
    a whole token, the next line must begin with a part that does not look like a word."""
    if not _DIGIT.search(text, max(0, end - 40), end + 80):
        return None
    begin = max(0, end - _LINE_CHARS)
    begin = max(begin, text.rfind("\n", begin, end) + 1)
    # An escaped break stays, because its n may also be the first letter of a token, as in `\\npm_…`.
    begin = max(begin, text.rfind("\\n", begin, end))
    joined, found = text[begin:end], None
    for _ in range(_MOST_LINES):
        wrap = patterns.WRAP.match(text, end)
        rest = patterns.GOES_ON.match(text, wrap.end()) if wrap else None
        joint = len(joined)
        if rest is None or not (_DIGIT.search(joined, max(0, joint - 40)) or _DIGIT.search(rest[0])):
            break
        first, joined = joined, joined + rest[0]
        spans = [one for one in _spans_about(joined, joint) if joint < one[1]]
        if spans and spans[0][0] >= joint:  # keep only what the first line helps to recognise
            alone = {(joint + begun, joint + ended, kind) for begun, ended, kind in _spans_of(rest[0])}
            spans = [one for one in spans if one not in alone]
        if not spans:
            break
        start, last, kind = spans[0]
        if (joined[last : last + 1] in _SETS or not patterns.RANDOM.match(joined, joint, last)) and any(
            one[1] == joint for one in _spans_of(first)
        ):
            break
        end = rest.start() + last - joint
        begun = begin + start if start < joint else rest.start() + start - joint
        found = (found[0] if found else begun), end, kind
        if last < len(joined):
            break
    return found


def _spans_of(text: str) -> list[Span]:
    return _spans_about(text, 0)


def _spans_about(text: str, at: int) -> list[Span]:
    """The secrets that may end after `at`; those that end before may be missing. Blanks occur only after the names
    authorization, auth and bearer, so that all else is searched from the word around `at` on: tokens, URLs, JWTs."""
    plain, word = text.encode("ascii", "replace"), text.rfind(" ", 0, at) + 1
    spans = [*tokens(text, plain.translate(RUNS), at=word)]
    folded = plain.translate(FOLD)
    if b"auth" in folded or b"bearer" in folded or folded.find(b"://", word) >= 0 or folded.find(b"eyk", word) >= 0:
        spans += named(text, folded)
    return [one for one in spans if one[2] not in _NEVER_CUT]
