"""Finds secrets of any form by the name before them (password, token, api key, authorization, a command's option), and
also signed tokens, private keys and cards. Called by `redaction.py`.

A text is folded to bytes, one byte per code point (lower case, every digit `0`, the rare letters j, x and z as `k`),
and searched for a few fixed triggers. A rule is tried on the text itself only at a trigger.
"""

import re
import string
from collections.abc import Callable, Iterator

from sidemirror_server.vocabulary import secret_patterns as patterns
from sidemirror_server.vocabulary.secret_tokens import Span

FOLD = bytes(
    ord("0") if chr(b).isdigit() and b < 128 else ord("k") if b in b"jxzJXZ" else ord(bytes([b]).lower())
    for b in range(256)
)

# One search for all triggers with a k, j, x or z: key, token, cookie, eyJ, authorization. (Alternatives that start with
# a literal are skipped fast; the alternative with only a lookbehind comes last.)
_RARE_LETTER = re.compile(
    rb"k(?:(?P<key>ey(?:(?<=[isehgntrpdky]key)|(?<=[isehgntrpdky][_ -]key)))|(?P<token>en(?<=token))"
    rb"|(?P<cookie>ie(?<=cookie))|(?P<header>ation(?<=authorikation))|(?P<jwt>(?<=eyk)))"
)
_DIGITS = re.compile(rb"[0 -]*")
_DIGIT = re.compile(r"[0-9]")
_LONG_DIGITS, _SPACED_DIGITS, _DASHED_DIGITS = b"0" * 15, b"0000 0000 0000 0", b"0000-0000-0000-0"
_AMEX_DIGITS = b"0000 000000 0000"

# What a field's name may have, and the fewest characters of a value.
_NAME_CHARS = f"{string.ascii_letters}{string.digits}_-.[]%"
_FEWEST_CHARS = 4

# Finds the secrets of a text at the index of a rule's trigger.
Rule = Callable[[str, int], Iterator[Span]]


def named(text: str, folded: bytes) -> Iterator[Span]:
    """The secrets of a text, in no order. `folded`: the text translated by `FOLD`."""
    done = 0
    for hit in _RARE_LETTER.finditer(folded):
        if hit.start() >= done:  # skips hits in the last find, so overlapping rules stay linear
            for span in _RARE_RULES[hit.lastgroup or ""](text, hit.start()):
                done = span[1]
                yield span
    for needle, rule in _NEEDLE_RULES:
        if needle in folded:
            yield from _each(folded, needle, rule, text)
    for shape in (_LONG_DIGITS, _SPACED_DIGITS, _DASHED_DIGITS, _AMEX_DIGITS) if b"0000" in folded else ():
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
    """The secret is the named group of `pattern` that matched at `start`; the group's name is the kind."""
    found = pattern.match(text, start) if start >= 0 else None
    if found is not None:
        kind = found.lastgroup or ""
        yield found.start(kind), found.end(kind), kind


def _at(pattern: re.Pattern[str], lead: int = 0) -> Rule:
    """`lead`: the distance from the start of the match to the trigger."""
    return lambda text, at: _token(pattern, text, at - lead)


def _assigned(pattern: re.Pattern[str], kind: str, min_chars: int) -> Rule:
    """A value that is assigned to the name of a secret. With `min_chars` above 4 it needs a letter and a digit."""

    def rule(text: str, at: int) -> Iterator[Span]:
        found = pattern.match(text, at)
        if found is None:
            return
        quoted = found["quoted"]
        group = "bare" if quoted is None else "quoted"
        value = found[group] if quoted is not None else _before_next(text, at, found[group]).rstrip(".,:)}]?!")
        end = found.start(group) + len(value)
        follows = text[end : end + 1]
        if not value or patterns.NO_VALUE.fullmatch(value):
            return
        if min_chars > 4 and not _like_a_key(value, min_chars):
            return
        if found["option"] is not None and not _is_option(text, at, value):
            return
        if quoted is None and patterns.REFERENCE.match(value):
            return
        if quoted is None and follows == " " and patterns.LETTERS.fullmatch(value) and not _is_set(text, at, found):
            return
        if found["is"] and quoted is None and not patterns.SYMBOL_OR_DIGIT.search(value):
            return
        yield found.start(group), end, kind

    return rule


def _before_next(text: str, at: int, value: str) -> str:
    """A value without the field or command that follows it; empty if it is too short to be told from a word."""
    if "&" not in value:
        return value
    before = text[max(0, at - 64) : at].rstrip(_NAME_CHARS)
    if before[-1:] in patterns.IN_QUERY:
        value = value[: value.index("&")]
    elif found := (patterns.NEXT_COMMAND if text[at : at + 3].isupper() else patterns.NEXT_FIELD).search(value):
        value = value[: found.start()]
    return value if len(value) >= _FEWEST_CHARS else ""


def _is_set(text: str, at: int, found: re.Match[str]) -> bool:
    """Whether a shell is told the value: `NAME=value` or `--name=value`, where a word may be one as well."""
    return text[found.start("bare") - 1] == "=" and (text[at : at + 3].isupper() or _is_dashed(text, at))


def _is_dashed(text: str, at: int) -> bool:
    """Whether the word that holds `at` is a command's option."""
    before = text[max(0, at - 120) : at]
    return before[max(before.rfind(" "), before.rfind("\n")) + 1 :].lstrip("\"'`[(,").startswith("-")


def _is_option(text: str, at: int, value: str) -> bool:
    """Whether the name at `at` takes a value behind a blank: an option, a netrc's keyword, a Dockerfile's variable."""
    begin = max(0, at - 120)
    if _is_dashed(text, at) or (text.find("ENV", begin, at) >= 0 and patterns.DOCKER_ENV.search(text, begin, at)):
        return True
    return patterns.NETRC.search(text, begin, at) is not None and patterns.SYMBOL_OR_DIGIT.search(value) is not None


def _like_a_key(value: str, min_chars: int) -> bool:
    value = value.replace("&", "")
    letters = sum(map(str.isalpha, value))
    return len(value) >= min_chars and " " not in value and 0 < letters < len(value) and not value.isalpha()


def _password(text: str, at: int) -> Iterator[Span]:
    if not text[at + 4 : at + 5].isalpha():
        yield from _short_name(text, at)
        return
    yield from _named_password(text, at)
    yield from _sql(patterns.SQL_PASSWORD, text, at)


def _short_name(text: str, at: int) -> Iterator[Span]:
    """A password whose name ends in `pass`, which is also a verb: the word before it decides. Without a word, and
    behind an unknown one in capitals, the value needs a letter and a digit."""
    for start, end, kind in _named_pass(text, at):
        before = text[max(0, at - 64) : at]
        name = before[len(before.rstrip(_NAME_CHARS)) :]
        word = patterns.WORDS.split(name.rstrip("_-."))[-1].rstrip(string.digits).lower()
        is_known = word in patterns.PASS_NAMES or (name.startswith("-") and not word)
        may_be = not word or text[at : at + 5] == "PASS="
        is_set = text[start - 1] in "=\"'`" and _like_a_key(text[start:end], 6) and _DIGIT.search(text, start, end)
        if is_known or (may_be and is_set):
            yield start, end, kind


def _sql(pattern: re.Pattern[str], text: str, at: int) -> Iterator[Span]:
    """The password in a statement about an account."""
    found = pattern.match(text, at)
    if found is None:
        return
    begin = max(0, at - 200)
    before = text[begin:at].lower()
    if any(verb in before for verb in patterns.SQL_VERBS) and patterns.SQL_ACCOUNT.search(text, begin, at):
        yield *found.span(found.lastgroup or ""), "password"


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
    """The secret after a command's option that takes a secret, such as `curl -u me:…`."""
    for pattern, command in patterns.OPTIONS.get(text[at + 2 : at + 3], ()):
        found = pattern.match(text, at + 1)
        if found is None:
            continue
        line = text[max(0, at - 300) : at].replace("\\\n", "  ")
        if command.search(line, line.rfind("\n") + 1):
            yield *found.span("password"), "password"


def _key(text: str, at: int) -> Iterator[Span]:
    before = text[max(0, at - 13) : at].lower()
    if (before[:-1] if before[-1:] in ("_", "-", " ") else before).endswith(patterns.KEY_NAMES):
        yield from _named_key(text, at)
    yield from _private_key(text, at)


_NEEDLE_RULES: tuple[tuple[bytes, Rule], ...] = (
    (b"pass", _password),
    (b"identified", lambda text, at: _sql(patterns.SQL_IDENTIFIED, text, at)),
    (b"pwd", _assigned(patterns.PWD, "password", 4)),
    (b"secret", _assigned(patterns.SECRET, "secret", 8)),
    (b"bearer", _at(patterns.BEARER)),
    (b"auth", _at(patterns.ACCOUNT)),
    (b"://", _at(patterns.URL)),
    (b" -", _option),
)
_named_password = _assigned(patterns.PASSWORD, "password", 4)
_named_pass = _assigned(patterns.PASS, "password", 4)
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
    """Whether `text` may contain a secret's name: a cheap check before it is parsed as JSON."""
    if not text.isascii():  # a pattern folds some letters to ASCII, such as the long s
        return patterns.MAYBE_NAME.search(text) is not None
    lower = text.lower()
    for part in patterns.NAME_PARTS:  # noqa: SIM110 - a generator takes as long as the search
        if part in lower:
            return True
    return False
