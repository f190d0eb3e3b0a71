"""Where in a text the secrets are. Called by `vocabulary/text.py` alone, on every text that enters.

Most texts hold no secret, and every event pays for the search, so it looks for a few triggers in the text folded to
bytes: for names that stand before a secret (`secret_names.py`), and for runs that are long enough for a token
(`secret_tokens.py`). Each rule is bounded or possessive, and what a run holds is looked at once, so that the whole is
linear in the text. Here it is put together, with the tokens that a line's end has cut.

Emails and phone numbers are no secrets: agents in customer service work with little else. Card numbers are, when their
issuer digits, length and check digit fit.
"""

import re
from collections.abc import Iterator

from sidemirror_server.vocabulary import secret_kinds as kinds
from sidemirror_server.vocabulary import secret_patterns as patterns
from sidemirror_server.vocabulary.secret_names import FOLD, named
from sidemirror_server.vocabulary.secret_tokens import RUNS, Span, tokens

# What stands before a line's end that cuts a token, when no long run follows. Chosen here: a third of the shortest.
_CUT_RUNS = (b"a" * 6 + b"\n", b"a" * 6 + b'"\n')

_DIGIT = re.compile(r"[0-9]")
# What stands before the rest of a token at the beginning of a line, and before that.
_MARGIN = " \t>|#*+\"'"
_MAY_GO_ON = frozenset(("\n", "\\", *_MARGIN))
_LINE_ENDS = frozenset("\nn")
# What stands behind a token where a line's end may have cut it.
_MAY_CUT = frozenset("\n\r\\\"'")
# What follows a name that is set, and so no token that a line's end has cut.
_SETS = frozenset("=:(")
# What ends with its line: it has no form by which its rest could be told.
_NEVER_CUT = frozenset({"password", "secret", "token", "api_key", "cookie", "card", "private_key"})
# Chosen here: the longest line that a token is cut from, in code points, and the most lines that one is cut into.
_LINE_CHARS, _MOST_LINES = 300, 8

# No pattern matches less than `://:p@`. Names of agents and tools are often shorter.
SHORTEST_SECRET_CHARS = 6


def secret_spans(text: str) -> list[Span]:
    """(start, end, kind) of each secret, ascending, not overlapping; mostly none. A public prefix is outside."""
    plain = text.encode("ascii", "replace")
    runs = plain.translate(RUNS)
    spans = [*tokens(text, runs, _going_on), *named(text, plain.translate(FOLD))]
    spans += [joined for _, end, _ in spans if text[end : end + 1] in _MAY_CUT and (joined := _joined(text, end))]
    for cut in _CUT_RUNS:
        if cut in runs:
            spans += _cut(text, runs, cut)
    return _merged(sorted(spans)) if len(spans) > 1 else spans


def _merged(spans: list[Span]) -> list[Span]:
    merged = [spans[0]]
    for start, end, kind in spans[1:]:
        first, last, name = merged[-1]
        if start < last:
            merged[-1] = (first, max(last, end), name)
        else:
            merged.append((start, end, kind))
    return merged


def _cut(text: str, runs: bytes, cut: bytes) -> Iterator[Span]:
    """The tokens that a line's end has cut in two or more."""
    at = runs.find(cut)
    while at >= 0:
        end = at + cut.rfind(b"a") + 1
        span = _joined(text, end)
        if span is not None:
            yield span
            end = max(end, span[1] - 1)
        at = runs.find(cut, end)


def _going_on(text: str, start: int, end: int) -> Span | None:
    """The token of which a line has too little: it begins at a run, or goes on there from the line before."""
    span = _begun(text, start) if text[start : start + 2] in kinds.BEGINNINGS else None
    return span or (_begun_before(text, start, end) if text[start - 1 : start] in _MAY_GO_ON else None)


def _begun(text: str, start: int) -> Span | None:
    """The token that begins here."""
    for kind in kinds.kinds_at(text, start):
        body = kind.body.match(text, start + len(kind.prefix))
        if body is not None and text[body.end() : body.end() + 1] in _MAY_CUT and (span := _joined(text, body.end())):
            return span
    return None


def _begun_before(text: str, start: int, end: int) -> Span | None:
    """The token that goes on with a run at the beginning of a line."""
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
    """The token that goes on over the line's end at `end`: what is one when the lines are put together. Where the first
    line has a whole one already, the next has to begin with what looks like no word."""
    if not _DIGIT.search(text, max(0, end - 40), end + 80):
        return None
    begin = max(0, end - _LINE_CHARS)
    begin = max(begin, text.rfind("\n", begin, end) + 1)
    joined, found = text[begin:end], None
    for _ in range(_MOST_LINES):
        wrap = patterns.WRAP.match(text, end)
        rest = patterns.GOES_ON.match(text, wrap.end()) if wrap else None
        joint = len(joined)
        if rest is None or not (_DIGIT.search(joined, max(0, joint - 40)) or _DIGIT.search(rest[0])):
            break
        first_spans, joined = _spans_of(joined), joined + rest[0]
        spans = [one for one in _spans_of(joined) if joint < one[1]]
        if spans and spans[0][0] >= joint:  # what stands on the first line tells what the second has
            alone = {(joint + begun, joint + ended, kind) for begun, ended, kind in _spans_of(rest[0])}
            spans = [one for one in spans if one not in alone]
        if not spans:
            break
        start, last, kind = spans[0]
        if any(one[1] == joint for one in first_spans) and (
            joined[last : last + 1] in _SETS or not patterns.RANDOM.match(joined, joint, last)
        ):
            break
        end = rest.start() + last - joint
        first = begin + start if start < joint else rest.start() + start - joint
        found = (found[0] if found else first), end, kind
        if last < len(joined):
            break
    return found


def _spans_of(text: str) -> list[Span]:
    plain = text.encode("ascii", "replace")
    spans = [*tokens(text, plain.translate(RUNS)), *named(text, plain.translate(FOLD))]
    return [one for one in spans if one[2] not in _NEVER_CUT]
