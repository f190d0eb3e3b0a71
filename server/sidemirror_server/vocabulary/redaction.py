"""Where in a text the secrets are. Called by `vocabulary/text.py` alone, on every text that enters.

Most texts hold no secret, and every event pays for the search, so it has two steps. The text is folded to bytes, one
byte per code point (lower case, every digit `0`, the rare letters j, x and z as `k`), and a few fixed triggers are
looked for there. Only where a trigger stands is a rule tried on the text itself. Each rule is bounded or possessive,
and its left boundary excludes the characters of its own body, so that the whole is linear in the text.

The kinds are chosen here from the vendors' published token shapes. Emails and phone numbers are no secrets: agents in
customer service work with little else. Card numbers are, when their issuer digits, length and check digit fit.
"""

import re
from collections.abc import Callable, Iterator

from sidemirror_server.vocabulary import secret_patterns as patterns

_FOLD = bytes(
    ord("0") if chr(b).isdigit() and b < 128 else ord("k") if b in b"jxzJXZ" else ord(bytes([b]).lower())
    for b in range(256)
)

# One pass for every trigger that holds a k, j, x or z: sk-, key, token, cookie, eyJ, AKIA, AIza, xox?-, authorization.
# (Alternatives that start with a literal are skipped at once; the lookbehind-only one is last.)
_RARE_LETTER = re.compile(
    rb"k(?:(?P<key>ey(?:(?<=[isehgntr]key)|(?<=[isehgntr][_ -]key)))|(?P<token>en(?<=token))|(?P<sk>-(?<=sk-))"
    rb"|(?P<cookie>ie(?<=cookie))|(?P<aws>ia(?<=akia))|(?P<google>a(?<=aika))|(?P<header>ation(?<=authorikation))"
    rb"|(?P<slack>ok[abeoprs]-)|(?P<jwt>(?<=eyk)))"
)
_UNDERSCORE = re.compile(
    rb"_(?:(?<=gh[pousr]_)|(?<=github_pat_)|(?<=hf_)|(?<=npm_)|(?<=[sr]k_)|(?<=glsa_)|(?<=dop_v0_)|(?<=shpat_))"
)

_DIGITS = re.compile(rb"[0 -]*")
_LONG_DIGITS, _SPACED_DIGITS, _DASHED_DIGITS = b"0" * 15, b"0000 0000 0000 0", b"0000-0000-0000-0"
_AMEX_DIGITS = b"0000 000000 0000"

# No pattern matches less than `://:p@`. Names of agents and tools are often shorter.
SHORTEST_SECRET_CHARS = 6

# (start, end, kind), in code points.
Span = tuple[int, int, str]
# A text and the place where a rule's trigger stands.
Rule = Callable[[str, int], Iterator[Span]]


def secret_spans(text: str) -> list[Span]:
    """(start, end, kind) of each secret, ascending, not overlapping; mostly none. A public prefix is outside."""
    folded = text.encode("ascii", "replace").translate(_FOLD)
    if not (
        _RARE_LETTER.search(folded)
        or b"passw" in folded
        or b"secret" in folded
        or b"bearer" in folded
        or b"glpat-" in folded
        or (b"@" in folded and b"://" in folded)
        or _UNDERSCORE.search(folded)
        or _LONG_DIGITS in folded
        or _SPACED_DIGITS in folded
        or _DASHED_DIGITS in folded
        or _AMEX_DIGITS in folded
    ):
        return []
    spans = list(_found(text, folded))
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


def _found(text: str, folded: bytes) -> Iterator[Span]:
    done = 0
    for hit in _RARE_LETTER.finditer(folded):
        if hit.start() >= done:  # not within what the last one found: keeps overlapping rules linear
            for span in _RARE_RULES[hit.lastgroup or ""](text, hit.start()):
                done = span[1]
                yield span
    for hit in _UNDERSCORE.finditer(folded):
        start = hit.start()
        for lead in (3, 2, 10, 4, 6, 5):  # gh?_ npm_ | hf_ sk_ | github_pat_ | glsa_ | dop_v1_ | shpat_
            yield from _token(patterns.UNDERSCORED, text, start - lead)
    for needle, rule in _NEEDLE_RULES:
        if needle in folded:
            yield from _each(folded, needle, rule, text)
    for shape in (_LONG_DIGITS, _SPACED_DIGITS, _DASHED_DIGITS, _AMEX_DIGITS):
        if shape in folded:
            yield from _cards(text, folded, shape)


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
        yield found.start(kind), found.end(kind), kind.removesuffix("_pat")


def _at(pattern: re.Pattern[str], lead: int = 0) -> Rule:
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
        if quoted is None and (
            patterns.REFERENCE.match(value) or (follows == " " and patterns.LETTERS.fullmatch(value))
        ):
            return
        if found["is"] and quoted is None and not patterns.SYMBOL_OR_DIGIT.search(value):
            return
        yield found.start(group), end, kind

    return rule


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


def _key(text: str, at: int) -> Iterator[Span]:
    yield from _named_key(text, at)
    yield from _private_key(text, at)


_NEEDLE_RULES: tuple[tuple[bytes, Rule], ...] = (
    (b"passw", _assigned(patterns.PASSWORD, "password", 4)),
    (b"secret", _assigned(patterns.SECRET, "secret", 8)),
    (b"bearer", _at(patterns.BEARER)),
    (b"glpat-", _at(patterns.GITLAB)),
    (b"://", _at(patterns.URL)),
)
_named_key = _assigned(patterns.KEY, "api_key", 8)
_named_token = _assigned(patterns.TOKEN, "token", 8)
_RARE_RULES: dict[str, Rule] = {
    # The number: how far the trigger's letter is behind the start of what its rule matches.
    "sk": _at(patterns.SK, 1),
    "key": _key,
    "token": lambda text, at: _named_token(text, at - 2),
    "cookie": _at(patterns.COOKIE, 3),
    "jwt": _at(patterns.JWT, 2),
    "aws": _at(patterns.AWS, 1),
    "google": _at(patterns.GOOGLE, 2),
    "slack": _at(patterns.SLACK),
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
