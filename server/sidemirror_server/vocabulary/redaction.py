"""Where in a text the secrets are. Called by `vocabulary/text.py` alone, on every text that enters.

Most texts hold no secret, and every event pays for the search, so it has two steps. The text is folded to bytes, one
byte per code point, in two ways, and a few fixed triggers are looked for there. Only where a trigger stands is a rule
tried on the text itself.

One way (lower case, every digit `0`, the rare letters j, x and z as `k`) is for the names that stand before a secret:
password, token, api key, authorization. The other knows only what a token is made of, letters, digits, `_` and `-`,
and everything else: a token of a vendor's own form (`secret_kinds.py`) is a run of sixteen of them and more, or has
one. Each rule is bounded or possessive, and what a run holds is looked at once, so that the whole is linear in the
text.

Emails and phone numbers are no secrets: agents in customer service work with little else. Card numbers are, when their
issuer digits, length and check digit fit.
"""

import re
from collections.abc import Callable, Iterator

from sidemirror_server.vocabulary import secret_kinds as kinds
from sidemirror_server.vocabulary import secret_patterns as patterns

_FOLD = bytes(
    ord("0") if chr(b).isdigit() and b < 128 else ord("k") if b in b"jxzJXZ" else ord(bytes([b]).lower())
    for b in range(256)
)

# One pass for every trigger that holds a k, j, x or z: key, token, cookie, eyJ, authorization. (Alternatives that start
# with a literal are skipped at once; the lookbehind-only one is last.)
_RARE_LETTER = re.compile(
    rb"k(?:(?P<key>ey(?:(?<=[isehgntrpdky]key)|(?<=[isehgntrpdky][_ -]key)))|(?P<token>en(?<=token))"
    rb"|(?P<cookie>ie(?<=cookie))|(?P<header>ation(?<=authorikation))|(?P<jwt>(?<=eyk)))"
)
# What tokens are made of is one letter, what a line may end with stays what it is, all else is a blank.
_RUNS = bytes(
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
# The shortest token with a vendor's prefix (Slack's, Stripe's for tests) has 18 characters; chosen here: two less, for
# those that a line's end has cut.
_LONG_RUN = b"a" * 16
# What stands before a line's end that cuts a token, when no long run follows. Chosen here: a third of the
# shortest.
_CUT_RUNS = (b"a" * 6 + b"\n", b"a" * 6 + b'"\n')

_DIGITS = re.compile(rb"[0 -]*")
_LONG_DIGITS, _SPACED_DIGITS, _DASHED_DIGITS = b"0" * 15, b"0000 0000 0000 0", b"0000-0000-0000-0"
_AMEX_DIGITS = b"0000 000000 0000"

_DIGIT = re.compile(r"[0-9]")
_MARK = re.compile(r"[_-]")
# What stands right before a run: the end of a prefix, or of an escape; a margin, or an escaped line's end.
_LEAD_ENDS = frozenset("./~")
_ESCAPE_ENDS = frozenset("\\%[;")
_MARGIN = " \t>|#*+\"'"
_MAY_GO_ON = frozenset(("\n", "\\", *_MARGIN))
_LINE_ENDS = frozenset("\nn")
_IN_BASE64 = frozenset("+/")
# What stands behind a token where a line's end may have cut it.
_MAY_CUT = frozenset("\n\r\\\"'")
# Chosen here: how much base64 stands before what is no token, and the fewest characters of a token that is glued to a
# word, of a prefix that then counts, and of a token that is told by what it holds.
_BASE64_CHARS, _SHORTEST_GLUED, _TELLING_PREFIX, _SHORTEST_ALONE = 100, 20, 4, 35
# What follows a name that is set, and so no token that a line's end has cut.
_SETS = frozenset("=:(")
# What ends with its line: it has no form by which its rest could be told.
_NEVER_CUT = frozenset({"password", "secret", "token", "api_key", "cookie", "card", "private_key"})
# Chosen here: the longest line that a token is cut from, in code points, and the most lines that one is cut into.
_LINE_CHARS, _MOST_LINES = 300, 8
_BEHIND = {".": patterns.DISCORD, ":": patterns.BEHIND_COLON}
# By what stands right before a run: a part of what must stand before it, all of it, what ends the secret, and its kind.
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

# No pattern matches less than `://:p@`. Names of agents and tools are often shorter.
SHORTEST_SECRET_CHARS = 6

# (start, end, kind), in code points.
Span = tuple[int, int, str]
# A text and the place where a rule's trigger stands.
Rule = Callable[[str, int], Iterator[Span]]


def secret_spans(text: str) -> list[Span]:
    """(start, end, kind) of each secret, ascending, not overlapping; mostly none. A public prefix is outside."""
    plain = text.encode("ascii", "replace")
    runs = plain.translate(_RUNS)
    spans = _whole(text, plain.translate(_FOLD), runs)
    spans += [joined for _, end, _ in spans if text[end : end + 1] in _MAY_CUT and (joined := _joined(text, end))]
    for cut in _CUT_RUNS:
        if cut in runs:
            spans += _cut(text, runs, cut)
    return _merged(sorted(spans)) if len(spans) > 1 else spans


def _whole(text: str, folded: bytes, runs: bytes, *, may_be_cut: bool = True) -> list[Span]:
    """The secrets that no line's end has cut, and those of which a long run is left."""
    return [*_tokens(text, runs, may_be_cut), *_found(text, folded)]


def _merged(spans: list[Span]) -> list[Span]:
    merged = [spans[0]]
    for start, end, kind in spans[1:]:
        first, last, name = merged[-1]
        if start < last:
            merged[-1] = (first, max(last, end), name)
        else:
            merged.append((start, end, kind))
    return merged


def _found(text: str, folded: bytes) -> Iterator[Span]:
    done = 0
    for hit in _RARE_LETTER.finditer(folded):
        if hit.start() >= done:  # not within what the last one found: keeps overlapping rules linear
            for span in _RARE_RULES[hit.lastgroup or ""](text, hit.start()):
                done = span[1]
                yield span
    for needle, rule in _NEEDLE_RULES:
        if needle in folded:
            yield from _each(folded, needle, rule, text)
    for shape in (_LONG_DIGITS, _SPACED_DIGITS, _DASHED_DIGITS, _AMEX_DIGITS) if b"0000" in folded else ():
        if shape in folded:
            yield from _cards(text, folded, shape)


def _tokens(text: str, runs: bytes, may_be_cut: bool) -> Iterator[Span]:
    """The tokens with a form of their own: each is, or has, a long run."""
    at = runs.find(_LONG_RUN)
    while at >= 0:
        end = _RUN_END.search(runs, at).end()  # type: ignore[union-attr]  # every text has an end
        before = text[at - 1 : at]
        if before in _IN_BASE64 and _is_within_base64(text, at):
            at = runs.find(_LONG_RUN, patterns.BASE64.match(text, at).end())  # type: ignore[union-attr]  # it matches ""
            continue
        span = _vendors_own(text, at, end, before) or _told_by_place(text, at, end, before)
        if span is None and before in _IN_BASE64:
            span = _begun_as_base64(text, at, may_be_cut)
        if span is None and may_be_cut:
            span = _begun(text, at) or (_begun_before(text, at, end) if before in _MAY_GO_ON else None)
        if span is not None:
            yield span
            end = max(end, span[1])
        at = runs.find(_LONG_RUN, end)


def _is_within_base64(text: str, at: int) -> bool:
    """Whether what stands before is base64 for so long that no token's prefix is meant: an image, a certificate."""
    passed = text[max(0, at - _BASE64_CHARS) : at]
    return "+" in passed and len(passed) == _BASE64_CHARS and patterns.BASE64.fullmatch(passed) is not None


def _vendors_own(text: str, start: int, end: int, before: str) -> Span | None:
    """The token with a vendor's prefix that begins at a run, before it, or behind a mark within it."""
    span = _with_prefix(text, start) if text[start : start + 2] in kinds.BEGINNINGS else None
    if span is None and before in _LEAD_ENDS and text.endswith(kinds.LEADS, 0, start):
        for lead in kinds.LEADS:
            if span is None and text.endswith(lead, 0, start):
                span = _with_prefix(text, start - len(lead))
    if span is None and before in _ESCAPE_ENDS and (escape := patterns.ESCAPE.match(text, start)):
        span = _with_prefix(text, escape.end()) or _told_by_place(text, escape.end(), end, "")
    if span is None and end - start > _SHORTEST_GLUED:
        for mark in _MARK.finditer(text, start, end - _SHORTEST_GLUED):
            if span is None and text[mark.end() : mark.end() + 2] in kinds.BEGINNINGS:
                span = _with_prefix(text, mark.end(), glued=True)
    return span


def _with_prefix(text: str, at: int, *, glued: bool = False) -> Span | None:
    """The token whose prefix stands at `at`, the longest if several kinds fit. `glued`: to a word, where only a prefix
    that is no word itself counts."""
    found: Span | None = None
    for kind in kinds.kinds_at(text, at):
        if glued and (kind.has_digit or len(kind.prefix) < _TELLING_PREFIX):
            continue
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


def _begun_as_base64(text: str, start: int, may_be_cut: bool) -> Span | None:
    """The base64 token that goes on with a run at `start`, and begins not far before it."""
    begin = max(0, start - _BASE64_CHARS)
    at = begin + kinds.base64_prefix_in(text[begin:start])
    if at < begin or (text[at - 1 : at].isalnum() and not patterns.ESCAPED.search(text, max(0, at - 5), at)):
        return None
    span = _with_prefix(text, at)
    if span is None and may_be_cut and (wrap := patterns.WRAP.search(text, at, start + _LINE_CHARS)):
        span = _joined(text, wrap.start())
    return span


def _told_by_place(text: str, start: int, end: int, before: str) -> Span | None:
    """A token without a prefix, by what it holds or what stands before it."""
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


def _begun(text: str, start: int) -> Span | None:
    """The token that begins at a run, and of which the line has too little."""
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
    spans = _whole(text, plain.translate(_FOLD), plain.translate(_RUNS), may_be_cut=False)
    return [one for one in spans if one[2] not in _NEVER_CUT]


def _each(folded: bytes, needle: bytes, rule: Rule, text: str) -> Iterator[Span]:
    at = folded.find(needle)
    while at >= 0:
        done = at + len(needle)
        for span in rule(text, at):
            done = span[1]
            yield span
        at = folded.find(needle, done)


def _token(pattern: re.Pattern[str], text: str, start: int) -> Iterator[Span]:
    """The one named group of `pattern` that matched at `start` is the secret and names its kind."""
    found = pattern.match(text, start) if start >= 0 else None
    if found is not None:
        kind = found.lastgroup or ""
        yield found.start(kind), found.end(kind), kind


def _at(pattern: re.Pattern[str], lead: int = 0) -> Rule:
    """`lead`: how far the trigger is behind the start of what the pattern matches."""
    return lambda text, at: _token(pattern, text, at - lead)


def _assigned(pattern: re.Pattern[str], kind: str, min_chars: int) -> Rule:
    """A value set to a name that says secret. `min_chars` above 4 also asks for a letter and a digit in it."""

    def rule(text: str, at: int) -> Iterator[Span]:
        found = pattern.match(text, at)
        if found is None:
            return
        quoted = found["quoted"]
        group = "bare" if quoted is None else "quoted"
        value = found[group] if quoted is not None else found[group].rstrip(".,:)}]?!")
        end = found.start(group) + len(value)
        follows = text[end : end + 1]
        if not value or patterns.NO_VALUE.fullmatch(value):
            return
        if min_chars > 4 and not _like_a_key(value, min_chars):
            return
        if found["option"] is not None and not _is_option(text, at, value):
            return
        if quoted is None and (
            patterns.REFERENCE.match(value) or (follows == " " and patterns.LETTERS.fullmatch(value))
        ):
            return
        if found["is"] and quoted is None and not patterns.SYMBOL_OR_DIGIT.search(value):
            return
        yield found.start(group), end, kind

    return rule


def _is_option(text: str, at: int, value: str) -> bool:
    """Whether the name at `at` is a command's option, or a word of a netrc, so that a blank sets it."""
    before = text[max(0, at - 120) : at]
    word = before[before.rfind(" ") + 1 :].lstrip("\"'`[(,")
    return word.startswith("-") or (
        patterns.NETRC.search(before) is not None and patterns.SYMBOL_OR_DIGIT.search(value) is not None
    )


def _like_a_key(value: str, min_chars: int) -> bool:
    letters = sum(map(str.isalpha, value))
    return len(value) >= min_chars and " " not in value and 0 < letters < len(value) and not value.isalpha()


def _private_key(text: str, at: int) -> Iterator[Span]:
    begin = text.rfind("-----BEGIN ", max(0, at - 60), at)
    head = patterns.PEM_HEAD.match(text, begin) if begin >= 0 else None
    body = patterns.PEM_BODY.match(text, head.end()) if head and head.start() < at < head.end() else None
    if body is not None and body.end() > body.start() and body[0] != "[redacted:private_key]":
        yield body.start(), body.end(), "private_key"


def _cards(text: str, folded: bytes, shape: bytes) -> Iterator[Span]:
    at = folded.find(shape)
    while at >= 0:
        found = patterns.CARD.match(text, at)
        if found is not None and _checks_out(found["card"]):
            yield found.start(), found.end(), "card"
        run = _DIGITS.match(folded, at)
        at = folded.find(shape, run.end() if run else at + 1)


def _checks_out(card: str) -> bool:
    """Luhn's check digit (ISO/IEC 7812-1, annex B)."""
    digits = [int(c) for c in card if c.isdigit()]
    return (sum(digits[-1::-2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])) % 10 == 0


def _option(text: str, at: int) -> Iterator[Span]:
    """A secret behind an option of a command that takes one: `curl -u me:…`."""
    for pattern, command in patterns.OPTIONS.get(text[at + 2 : at + 3], ()):
        found = pattern.match(text, at + 1)
        if found is None:
            continue
        line = text[max(0, at - 300) : at].replace("\\\n", "  ")
        if command.search(line, line.rfind("\n") + 1):
            yield *found.span("password"), "password"


def _key(text: str, at: int) -> Iterator[Span]:
    yield from _named_key(text, at)
    yield from _private_key(text, at)


_NEEDLE_RULES: tuple[tuple[bytes, Rule], ...] = (
    (b"pass", _assigned(patterns.PASSWORD, "password", 4)),
    (b"pwd", _assigned(patterns.PWD, "password", 4)),
    (b"secret", _assigned(patterns.SECRET, "secret", 8)),
    (b"bearer", _at(patterns.BEARER)),
    (b"auth", _at(patterns.ACCOUNT)),
    (b"://", _at(patterns.URL)),
    (b" -", _option),
)
_named_key = _assigned(patterns.KEY, "api_key", 8)
_named_token = _assigned(patterns.TOKEN, "token", 8)
_RARE_RULES: dict[str, Rule] = {
    "key": _key,
    "token": lambda text, at: _named_token(text, at - 2),
    "cookie": _at(patterns.COOKIE, 3),
    "jwt": _at(patterns.JWT, 2),
    "header": _at(patterns.HEADER, 7),
}


def is_secret_name(name: str) -> bool:
    """Whether a member called `name` holds a secret."""
    return patterns.SECRET_NAME.search(name) is not None


def may_name_a_secret(text: str) -> bool:
    """Whether a secret's name might stand in `text`: the cheap question before reading it as JSON."""
    if not text.isascii():  # letters that fold to ASCII ones only for a pattern, such as the long s
        return patterns.MAYBE_NAME.search(text) is not None
    lower = text.lower()
    for part in patterns.NAME_PARTS:  # noqa: SIM110 - a generator takes as long as the search
        if part in lower:
            return True
    return False
