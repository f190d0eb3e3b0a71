"""What failed on record: a call, a line of a run's output, an item of a list with a bad state, or fewer done than were
asked for. It counts unless a later call of the same kind made it good.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from sidemirror_server.models.adapters.rules.advice import telling
from sidemirror_server.models.adapters.rules.pointing.effects import HTTP_REASON, has_failed, only_reads
from sidemirror_server.models.adapters.rules.pointing.reading import Reading
from sidemirror_server.models.adapters.rules.pointing.record import ARGUMENT_CHARS, DataField, Item, PastCall
from sidemirror_server.models.adapters.rules.pointing.texts import (
    distance_at_most_one,
    name_words,
    stem,
    stem_set,
    tokens_of,
    word_set,
)
from sidemirror_server.vocabulary.refusal import is_refusal

# Of a block of failing lines so much is quoted. A shorter line than that says only that something failed, and a longer
# one is a paragraph and no line of a run. In code points.
_QUOTE_CHARS, _TELLING_CHARS, _LINE_CHARS = 240, 12, 400
_MOST_LINES, _TEXT_CHARS = 400, 600
_HTTP_ERRORS = range(400, 600)
# A failing line of a run, a report or a table. Words of logs that merely mention errors are no part of it.
_BAD_LINE = re.compile(
    # Counts: "3 failed", "errors: 2".
    r"\b[1-9]\d{0,6} (?:\w{1,15} )?(?:failed|failures?|failing|errors?|errored|bounced|skipped|rejected)\b"
    r"|\b(?:failed|failures?|failing|errors?|bounced|rejected|skipped|unreachable)\"?[:= ] {0,4}[1-9]\d{0,6}\b"
    r"|\b[1-9]\d* broken\b|\b[Ii]nvalid: [1-9]"
    # Exit codes and states of HTTP.
    r"|\bexit(?:ed)?(?: with)?(?: code| status)?\"?[:= ]{1,3}[1-9]\d{0,2}\b|\breturncode[\"': =]{1,4}[1-9]"
    rf"|\b(?:rc|exit)=[1-9]|\b[45]\d\d  ?{HTTP_REASON}\b"
    # Words in capitals, signs, and cells of a table.
    r"|\b(?:FAILED|FAIL|FAILURE|REJECTED|UNREACHABLE|SKIPPED|BOUNCED|DENIED|BAD|ABORTED|INVALID|REJECT|NOT_OK|NOK|"
    r"ERROR|ERRORS|MISMATCH|CONFLICT)\b|\bNOT [a-z]{3,12}\b|[✗✘✖❌]|\bBUILD FAIL\w{0,4}|\b[Bb]uild failed"
    r"|(?<=\s)(?:fail|failed)(?=\s{2,}|\t)|[:;,|] {0,12}(?:skipped|rejected|bounced|failed|missing)\b|\bskipped$"
    r"|\b(?:skipped|rejected|bounced|failed)[:;,]? [a-z(]|! \[[a-z ]{0,10}rejected\]"
    # What was not done.
    r"|\btimed? ?out\b|\bnot ok \d|\bno change\b|\bnot \w{3,12}ed(?=[:,;(])|\bout of stock\b|\bcannot \w{3,20}\b"
    r"|\bnot (?:issued|sent|delivered|created|applied|stored|saved|updated|found|available|passed|heard|reached|ok)\b"
    # Messages of errors.
    r"|\b[Ee]rror(?:\[\w{1,8}\])?: |: error\b|\berror TS\d|\bnpm ERR!|\bnpm error\b|\bfatal:|\bpanic:|^\[warn\] "
    r"|\b[Dd]enied: |\b[Pp]ermission denied\b|\bTraceback\b|\bAssertionError\b|\bSyntaxError\b|\bmake: \*\*\*"
    r"|\bis invalid\b",
    re.MULTILINE,
)
_NOT_BAD = re.compile(
    r"✖ \d+ problems? \(0 errors|\b0 (?:\w{1,15} )?(?:failed|failures?|errors?|skipped|rejected)|"
    r"\b(?:failed|failures?|errors?|skipped|rejected|unreachable)\"?[:= ]{1,3}0\b|xfailed|\bno test files\b|"
    # Of statistics, and of Ansible, which skips what does not concern a host.
    r"\b(?:standard|std\.?|squared|absolute|mean|relative|percentage|sampling) errors?\b|\bskipped=\d",
    re.IGNORECASE,
)
# A line that counts what worked and what failed. What failed stands in another one, mostly.
_SUMMARY = re.compile(
    r"\b\d+ (?:\w{1,12} )?(?:ok|passed|succeeded|converted|updated|done)\b"
    r"|^\W{0,4}(?:overall|summary|result|total|done|status|completed|found \d)\b",
    re.IGNORECASE,
)
# What a text that is read may speak of.
_MENTIONED = re.compile(r"\bTraceback\b|\berrors?\b|\bcannot\b|\bdenied\b", re.IGNORECASE)
_BAD_STATES = re.compile(
    r"(?:fail(?:ed|ure|s)?|error(?:ed)?|timed[_ -]?out|timeout|rejected|bounced|skipped|declined|denied|unreachable|"
    r"undelivered|undeliverable|not[_ -]\w{3,12}|aborted|invalid|nok|bad|reject|breach(?:ed)?)",
    re.IGNORECASE,
)
_STATE_KEYS = stem_set("status state result outcome conclusion verdict response condition check delivery disposition")
_GOOD_KEYS = stem_set("ok success succeeded passed pass valid delivered sent created matched match")
_BAD_COUNTS = stem_set(
    "failed failures rejected errors error skipped bounced violations unreachable invalid duplicates "
    "undelivered unmatched mismatches"
)
# What was asked for, and what of it was done.
_ASKED = stem_set(
    "matched selected recipients requested advised ordered expected total rows input submitted queued attempted"
)
_DONE = stem_set(
    "archived received inserted printed processed sent delivered imported applied updated completed succeeded "
    "done shipped created moved deleted assigned copied synced"
)
RUN = re.compile(
    r"\b(?:tests?|specs?|suites?|checks?|builds?|compil\w{1,6}|lint\w{0,4}|clippy|pipeline|ci|workflow|jobs?|typecheck|"
    r"mypy|eslint|tsc|pytest|jest|vitest|validat\w{1,4}|smoke\w{0,2}|audit|verif\w{1,4}|dbt|reconcil\w{1,4}|scan|"
    r"playbook|ansible|black|make|go|cargo|npm|mvn|gradle)\b",
    re.IGNORECASE,
)
# What runs are of one kind, whatever they are called with.
_KINDS = {
    "test": re.compile(r"\b(?:tests?|specs?|suites?|pytest|jest|vitest|unittest|mocha|phpunit|rspec)\b", re.IGNORECASE),
    "build": re.compile(r"\b(?:builds?|make|compil\w{1,6}|tsc|gradle|mvn)\b", re.IGNORECASE),
    "lint": re.compile(r"\b(?:lint\w{0,4}|clippy|eslint|ruff|mypy|typecheck)\b", re.IGNORECASE),
}
# What these say is told of any run, and names none.
_OUTCOMES = stem_set("warn warning error failed fail failure skipped skip passed pass ok valid invalid found")
_FIRST = re.compile(r"[:=] ?\[?\"?[^\",}]{1,80}")
_PROGRAM = re.compile(
    r"(?:^|[;&|] ?)\s{0,3}((?:npm|pnpm|yarn|uv|poetry|bundle|dotnet) (?:run|exec) [\w./:-]{1,40}|"
    r"(?:npx|bunx) [\w./:-]{1,40}|[\w./-]{2,40}(?: [\w./:-]{1,40})?)"
)
# Shorter texts are like many. In code points, chosen here.
_LEAST_LIKE = 3
_RUNNERS = word_set("cd echo grep cat tail head sed awk ls env export set")


class Shortcoming(msgspec.Struct, frozen=True):
    """What failed on record. `words`: of what was tried; `own`: of the very thing that failed; `rare`: those of `own`
    that no call which worked was given. `whole`: a call."""

    quote: str
    call: PastCall
    words: frozenset[str]
    own: frozenset[str]
    rare: frozenset[str]
    whole: bool = False


class _Attempt(msgspec.Struct, frozen=True, eq=False):
    """What is asked of a call over and over. `given`: its own words and those of its arguments."""

    call: PastCall
    failed: bool
    has_bad_line: bool
    kinds: frozenset[str]
    given: frozenset[str]


def shortcomings(reading: Reading) -> Iterator[Shortcoming]:
    """What failed on record and was not made good, the oldest call first."""
    attempts = [_attempt(call) for call in reading.record.calls]
    of_worked = Counter(word for one in attempts if not one.failed for word in one.given)
    for place, attempt in enumerate(attempts):
        if any(_makes_good(other, attempt, attempts[:place]) for other in attempts[place + 1 :]):
            continue
        call, given = attempt.call, attempt.given
        own_words = frozenset[str]() if attempt.failed else given
        if attempt.failed:
            own = given | tokens_of(_bad_text(call) or call.text[:_TEXT_CHARS])
            rare = telling_words(_only_here(own, own_words, of_worked))
            yield Shortcoming(_block(call.text), call, given, own, rare, whole=True)
            if (call.failed or is_refusal(call.text)) and not is_run(call):
                continue
        whole = call.text.lstrip()[:1] in {"{", "["} and call.is_json
        for quote, own, rare in _bad_items(call) if whole else _bad_lines(call):
            if is_run(call) or not (only_reads(call) and _MENTIONED.search(quote)):
                yield Shortcoming(quote, call, given, own, telling_words(_only_here(rare, own_words, of_worked)))


def _attempt(call: PastCall) -> _Attempt:
    bad = any(is_bad(line) for line in call.text.splitlines()[:_MOST_LINES])
    return _Attempt(call, has_failed(call), bad, _kinds(call), call.words | tokens_of(call.arguments[:ARGUMENT_CHARS]))


def _only_here(words: frozenset[str], own: frozenset[str], of_worked: Mapping[str, int]) -> frozenset[str]:
    """Those of some words that no other call which worked was given. `own`: what the call itself counts there."""
    return frozenset(word for word in words if of_worked.get(word, 0) <= (word in own))


def is_run(call: PastCall) -> bool:
    """Whether a call ran tests, checks or a build."""
    return RUN.search(f"{call.name.replace('_', ' ')} {call.arguments[:ARGUMENT_CHARS]}") is not None


def is_bad(line: str) -> bool:
    """Whether a line says that something failed."""
    return len(line) <= _LINE_CHARS and _BAD_LINE.search(_NOT_BAD.sub(" ", line)) is not None


def is_summary(line: str) -> bool:
    """Whether a line counts what worked and what failed."""
    return _SUMMARY.search(line) is not None


def telling_words(words: frozenset[str]) -> frozenset[str]:
    """Those of some words that can name what failed."""
    return frozenset(word for word in words if len(word) > 2) - _OUTCOMES


def _makes_good(later: _Attempt, attempt: _Attempt, before: Sequence[_Attempt]) -> bool:
    """Whether a later call is a run of the same kind without a failing line, or repeats this one: with the same first
    argument, or for a command with the same program. It does not where a call before this one did the same for
    something else: then each is one of several."""
    other, call = later.call, attempt.call
    if later.kinds & attempt.kinds and not (later.failed or later.has_bad_line):
        return True
    if other.name != call.name:
        return False
    if call.command or other.command:
        ours, theirs = _programs(call.command), _programs(other.command)
        return any(one == two or distance_at_most_one(one, two) for one in ours for two in theirs)
    if later.failed or not call.failed:
        return other.arguments == call.arguments
    if any(one.call.name == call.name and not one.failed for one in before):
        return other.arguments == call.arguments
    return _is_like(_first(other), _first(call))


def _is_like(one: str, other: str) -> bool:
    """Whether two texts are the same, but for a slip or for an end that was left out, and name no other number."""
    if one == other:
        return True
    one, other = (" ".join(re.findall(r"[^\W_]+", text.casefold())) for text in (one, other))
    if re.findall(r"\d+", one) != re.findall(r"\d+", other) or min(len(one), len(other)) < _LEAST_LIKE:
        return False
    return one.startswith(other) or other.startswith(one) or distance_at_most_one(one, other)


def _kinds(call: PastCall) -> frozenset[str]:
    """The kinds of runs that a call's name and arguments speak of."""
    text = f"{call.name.replace('_', ' ')} {call.arguments[:ARGUMENT_CHARS]}"
    return frozenset(kind for kind, pattern in _KINDS.items() if pattern.search(text))


def _first(call: PastCall) -> str:
    found = _FIRST.search(call.arguments[:ARGUMENT_CHARS])
    return found[0] if found else call.arguments


def _programs(command: str) -> frozenset[str]:
    found = _PROGRAM.findall(command[:ARGUMENT_CHARS])
    return frozenset(one for one in found if one.split()[0] not in _RUNNERS)


def _bad_text(call: PastCall) -> str:
    """The first failing lines of a result."""
    return "\n".join(line for line in call.text.splitlines()[:_MOST_LINES] if is_bad(line))[:_TEXT_CHARS]


def _block(text: str) -> str:
    """The lines of a text that say that something failed, with those between them; else its beginning."""
    told = telling(text).strip()
    if len(told) <= _QUOTE_CHARS:
        return told
    lines = text.splitlines()
    bad = [place for place, line in enumerate(lines) if _BAD_LINE.search(_NOT_BAD.sub(" ", line))]
    return _around(lines, bad, bad[-1]) if bad else told[:_QUOTE_CHARS]


def _around(lines: Sequence[str], bad: Sequence[int], place: int) -> str:
    """The block of failing lines around one, as long as a quote may be."""
    begin = end = place
    while True:
        before = max((one for one in bad if begin - 3 <= one < begin), default=None)
        after = min((one for one in bad if end < one <= end + 3), default=None)
        if before is not None and len("\n".join(lines[before : end + 1])) <= _QUOTE_CHARS:
            begin = before
        elif after is not None and len("\n".join(lines[begin : after + 1])) <= _QUOTE_CHARS:
            end = after
        else:
            break
    whole = "\n".join(lines[begin : end + 1]).strip()
    if len(whole) <= _QUOTE_CHARS:
        return whole
    found = _BAD_LINE.search(whole)
    at = max(0, found.start() - _QUOTE_CHARS // 4) if found else 0
    return whole[at : at + _QUOTE_CHARS]


def _bad_lines(call: PastCall) -> Iterator[tuple[str, frozenset[str], frozenset[str]]]:
    """The failing lines of a result: what is quoted, the words of the line, and those that no other line has."""
    lines = call.text.splitlines()[:_MOST_LINES]
    bad = [place for place, line in enumerate(lines) if is_bad(line)]
    fine = frozenset[str]().union(*(tokens_of(line) for place, line in enumerate(lines[:100]) if place not in bad))
    long = [place for place in bad if len(lines[place].strip()) >= _TELLING_CHARS] or bad
    long = [place for place in long if not is_summary(lines[place])] or long
    for place in [*reversed(long[-6:]), *long[:3]]:
        words = tokens_of(lines[place])
        yield _around(lines, bad, place), words, words - fine


def _bad_items(call: PastCall) -> Iterator[tuple[str, frozenset[str], frozenset[str]]]:
    """The items of a result that failed, and those of which fewer were done than were asked for."""
    for item in call.items:
        words = _words_of(item)
        for field in item.fields:
            if _is_bad_field(field):
                yield _beside(item, field.quote), words, words
        asked = [one for one in item.fields if set(one.name) & _ASKED and isinstance(one.value, float)]
        done = [one for one in item.fields if set(one.name) & _DONE and isinstance(one.value, float)]
        if len(asked) == 1 and len(done) == 1 and asked[0].value > done[0].value:  # type: ignore[operator]
            yield _span(call.text, asked[0].quote, done[0].quote), words, words
        if item.listed and item.path and stem(item.path[-1]) in _BAD_COUNTS and item.fields:
            yield _span(call.text, item.fields[0].quote, item.fields[-1].quote), words, words


def _is_bad_field(field: DataField) -> bool:
    name = frozenset(field.name)
    if isinstance(field.value, str):
        first = field.value.split(":")[0].split(" ")[0]
        # Whoever is invited may say no.
        may_decline = first.casefold() == "declined" and stem("response") in name
        is_wanted = stem(first) in field.item.call.name_words
        return bool(name & _STATE_KEYS) and _BAD_STATES.fullmatch(first) is not None and not (may_decline or is_wanted)
    if isinstance(field.value, bool):
        return not field.value and bool(name & _GOOD_KEYS)
    if isinstance(field.value, float):
        counts = bool(name & _BAD_COUNTS) and len(name) == 1 and field.value > 0
        return counts or (bool(name & _STATE_KEYS) and field.value in _HTTP_ERRORS)
    return False


def _words_of(item: Item) -> frozenset[str]:
    texts = [field.value[:120] for field in item.fields if isinstance(field.value, str)]
    own = {word for text in texts for word in (*tokens_of(text), *name_words(text[:60]))}
    return frozenset(own | {word for key in item.path[-1:] for word in name_words(key)})


def _beside(item: Item, quote: str) -> str:
    """The item's own words up to the quote."""
    text = item.call.text
    if not item.listed or not item.fields:
        return quote
    at = 0
    while (at := text.find(quote, at)) >= 0:
        begin = text.rfind("{", 0, at)
        if begin >= 0 and at - begin < _QUOTE_CHARS and item.fields[0].quote in text[begin : at + len(quote)]:
            return text[begin : at + len(quote)].lstrip("{ ")
        at += len(quote)
    return quote


def _span(text: str, one: str, two: str) -> str:
    """The words of a text from one quote to the other; the first, if they stand far from each other."""
    begin, end = text.find(one), text.find(two)
    if begin < 0 or end < 0:
        return one
    if end < begin:
        begin, end, one, two = end, begin, two, one
    whole = text[begin : end + len(two)]
    return whole if len(whole) <= _QUOTE_CHARS else one
