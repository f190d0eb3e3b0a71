"""Finds answers that tell as done what failed, in whole or in part, and nowhere say that anything failed.

A failure on record is a call that failed, a line of a run's output, an item of a list with a bad state, or fewer done
than were asked for. It counts unless a later call of the same kind made it good.
"""

import re
from collections.abc import Iterator

import msgspec

from sidemirror_server.models.adapters.rules.advice import telling
from sidemirror_server.models.adapters.rules.pointing.actions import claims, could_do, has_failed, only_reads
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import Item, PastCall
from sidemirror_server.models.adapters.rules.pointing.texts import (
    SPELLED,
    Spoken,
    name_words,
    numbers,
    stem,
    tokens_of,
    word_set,
)

_FIX = "Say what failed."
# Of a block of failing lines so much is quoted. A shorter line than that says only that something failed.
_QUOTE_CHARS, _TELLING_CHARS = 240, 12
# A failing line of a run, a report or a table. Words of logs that merely mention errors are no part of it.
_BAD_LINE = re.compile(
    r"\b[1-9]\d{0,6} (?:\w{1,15} )?(?:failed|failures?|failing|errors?|errored|bounced|skipped|rejected)\b"
    r"|\b(?:failed|failures?|failing|errors?|bounced|rejected|skipped|unreachable)\"?[:= ] {0,4}[1-9]\d{0,6}\b"
    r"|\bexit(?:ed)?(?: with)?(?: code| status)?\"?[:= ]{1,3}[1-9]\d{0,2}\b|\breturncode[\"': =]{1,4}[1-9]"
    r"|\bBUILD FAIL\w{0,4}|\b[Bb]uild failed|\b(?:FAILED|FAIL|FAILURE|REJECTED|UNREACHABLE|SKIPPED|BOUNCED|DENIED|BAD|"
    r"ABORTED|INVALID|REJECT|NOT_OK|NOK|ERROR)\b|[✗✘✖❌]|\btime[d]? ?out\b|\bnot ok \d|\bnot (?:issued|sent|"
    r"delivered|created|applied|stored|"
    r"saved|updated|found|available)\b|\bno change\b"
    r"|\berror(?:\[\w{1,8}\])?: |\berror TS\d|\bTraceback\b|\bAssertionError\b|\bnpm ERR!|\bmake: \*\*\*|\bpanic:"
    r"|\bSyntaxError\b|: error\b|\bfatal:|\bcannot \w{3,20}\b|\b(?:skipped|rejected|bounced|failed)[:;,]? [a-z(]"
    r"|! \[[a-z ]{0,10}rejected\]|[:;,|] {0,12}(?:skipped|rejected|bounced|failed|missing)\b|\bskipped$",
    re.MULTILINE,
)
_NOT_BAD = re.compile(
    r"\b0 (?:\w{1,15} )?(?:failed|failures?|errors?|skipped|rejected)|"
    r"\b(?:failed|failures?|errors?|skipped|rejected|unreachable)\"?[:= ]{1,3}0\b|xfailed|\bno test files\b",
    re.IGNORECASE,
)
_BAD_STATES = re.compile(
    r"(?:fail(?:ed|ure|s)?|error(?:ed)?|timed[_ -]?out|timeout|rejected|bounced|skipped|declined|denied|unreachable|"
    r"undelivered|undeliverable|not[_ -]\w{3,12}|aborted|invalid|blocked|nok|bad|reject|breach(?:ed)?)",
    re.IGNORECASE,
)
_STATE_KEYS = frozenset(
    map(stem, word_set("status state result outcome conclusion verdict response condition check delivery disposition"))
)
_GOOD_KEYS = frozenset(
    map(stem, word_set("ok success succeeded passed pass valid delivered sent created matched match"))
)
_BAD_COUNTS = frozenset(
    map(
        stem,
        word_set(
            "failed failures rejected errors error skipped bounced violations unreachable invalid duplicates "
            "undelivered unmatched mismatches"
        ),
    )
)
_ASKED = frozenset(
    map(stem, word_set("requested advised ordered expected total rows input submitted queued attempted"))
)
_DONE = frozenset(
    map(
        stem,
        word_set(
            "archived received inserted printed processed sent delivered imported applied updated completed succeeded "
            "done "
            "shipped created moved deleted assigned imported copied synced"
        ),
    )
)
# Words by which an answer says that something failed.
_ADMITS = re.compile(
    r"\b(?:fail\w{0,4}|errors?|errored|could(?: not|n['’]t)|unable|unfortunately|den(?:y|ied|ies)|rejects?|rejected|"
    r"refus\w{1,3}|declined?|bounced?|time[ds]? ?out|time limit|timeouts?|unreachable|unavailable|"
    r"however|except(?:ion|ions|ing)?|apart from|all but|but (?:one|two|three|not|\d)|problem|"
    r"only (?:partly|partially|in part|\d[\d,]* (?:out )?of|[\w.-]{0,40}[/\d][\w./-]{0,40} (?:is|are|was|were)\b)|"
    r"trouble|forbidden|incomplete|violat\w{1,4}|off by|broken?|flaky|cannot|can['’]t|no longer|"
    r"un(?:delivered|formatted|applied|sent|paid|changed|finished|processed|resolved)|shortfall|short of|stuck|"
    r"partial\w{0,2}|"
    r"(?:has|have) not been (?:moved|rescheduled|booked|sent|made|done|completed)|"
    r"only \w{3,15}ed\b|so far|crash\w{0,3}|lacks?)\b",
    re.IGNORECASE,
)
_MANY = rf"\d{{1,6}}|{'|'.join(SPELLED)}"
_SOME_OF = re.compile(
    rf"(?<!all )(?<!All )(?<!the )\b(?P<some>{_MANY}) (?:out )?of (?:the |these |those )?(?P<all>{_MANY}|them)\b",
    re.IGNORECASE,
)
# These admit a failure only beside words of what failed.
_MAY_ADMIT = re.compile(
    r"\b(?:not (?!only|null)\w{1,15}|still|instead|retry|again|pending|remain\w{0,3}|left|yet|neither|nor|invalid|"
    r"conflicts?|"
    r"missing|lost|skipp\w{1,3}|stays?|except|only|none|nobody|nothing|because|locked|expired|overdue|blocked|warn(?:s|"
    r"ed)|warnings?|"
    r"the other (?:one|two|three|four|five|\d))\b|n['’]t\b|\?",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[;:()](?!\d)|,(?!\d)|\n|[.!?](?:\s|$)|\s[-–—]\s|\b(?:and|but|while|whereas)\b", re.IGNORECASE)
# What looks like it and admits nothing: denials, and what the answer says of its own restraint.
_NO_ADMISSION = re.compile(
    r"\b(?:no|without(?: an?y?)?|zero|0) (?:(?!longer|change)\w{1,15} ){0,2}(?:errors?|fail\w{0,4}|problems?|trouble|"
    r"issues?|warnings?|conflicts?|complaints?|duplicates?|violations?|mismatch\w{0,2})"
    r"|\bnot only\b|\bno task reported `?failed`?"
    r"|\b(?:I|we)(?:['’]ve| have| did)? (?:neither|not)\b[^.;\n]{0,90}"
    r"|\b(?:I|we) (?:haven|didn)['’]t\b[^.;\n]{0,90}|\bnot touch\w{0,3}\b|\buntouched\b"
    r"|\b(?:nothing|none)(?: (?:has|have) been| was| were)? (?:committed|pushed|renewed|changed|deleted|"
    r"removed)\b(?: so far| yet)?"
    r"|\bnothing else\b|\bno other\b[^.;\n]{0,60}|\bhave not (?:begun|started|pushed|committed|changed|touched)\b"
    r"|\bstays? (?:as|in|the)\b|\bnow too\b|\bstill (?:active|open)\b|\bread again\b|\b(?:ran|run|looked) "
    r"[^.;,\n]{0,40}\bagain\b|\bnone of (?:them|the \w{2,20}) (?:is|are) left\b"
    r"|\bnot (?:charged|covered)\b",
    re.IGNORECASE,
)
_UNIVERSAL = re.compile(
    r"\b(?:all|every|each|both|everyone|everybody|everything|whole|entire\w{0,2}|complete(?:ly)?|fully|full|in full|"
    r"none|no (?:\w{1,12} ){0,2}(?:errors?|failures?|problems?)|the (?:two|three|four|five|six|seven|eight|nine|ten|"
    r"\d{1,4}) (?:of |[a-z]{3,20}))\b",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|success(?:ful|fully)?|clean(?:ly)?|fine|ok(?:ay)?|"
    r"(?:went|go|gone|goes|came|come|comes) (?:right |now )?(?:through|clean|back clean|well)|holds?|held|"
    r"match(?:es|ed)?|"
    r"(?:no|zero|0) (?:\w{1,15} ){0,2}(?:errors?|failures?|failed|warnings?|issues|problems)|without "
    r"(?:an?y? )?(?:\w{1,15} )?(?:errors?|failures?|issues|complaints?|problems?)|compiles?|error-free|valid|"
    r"healthy)\b",
    re.IGNORECASE,
)
_DONE_SAID = re.compile(
    r"(?:\b(?:is|are|was|were|has|have|been|now|got|get|I|we|done|carry|carries|makes)|['’](?:ve|s|re))\b(?! "
    r"(?:not|n['’]t|about|from|when)\b)",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:[Nn]ot|never|[Nn]o|[Nn]othing|cannot|[Nn]either|nor)\b|n['’]t\b")
_LOOKED = re.compile(r"\b(?:I|we)(?:['’]ve| have)? (?:found|looked|checked|searched|read|saw|opened)\b", re.IGNORECASE)
_MUST = re.compile(r"\b(?:must|needs? to|looks like|seems|have to|has to)\b", re.IGNORECASE)
_EVERY = re.compile(r"\b(?:all|each of|every one of|both)\b", re.IGNORECASE)
_SPELLED = dict(
    enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    )
)
_RUN_CALL = re.compile(
    r"\b(?:tests?|specs?|suites?|checks?|builds?|compil\w{1,6}|lint\w{0,4}|clippy|pipeline|ci|workflow|jobs?|typecheck|"
    r"mypy|eslint|tsc|pytest|jest|vitest|validat\w{1,4}|smoke\w{0,2}|audit|verif\w{1,4}|dbt|reconcil\w{1,4}|scan|"
    r"playbook|"
    r"ansible|black|make|go|cargo|npm|mvn|gradle)\b",
    re.IGNORECASE,
)


class Shortcoming(msgspec.Struct, frozen=True):
    """What failed on record. `words`: of what was tried; `own`: of the very thing that failed; `rare`: those of `own`
    that no call which worked was given. `whole`: a call."""

    quote: str
    call: PastCall
    words: frozenset[str]
    own: frozenset[str]
    rare: frozenset[str]
    whole: bool = False


def failures(reading: Reading) -> Iterator[Point]:
    """Finds the sentence that says as done, or as good, what failed. Only in an answer that does not admit it."""
    plain = _NO_ADMISSION.sub(lambda match: " " * len(match[0]), reading.answer)
    if _ADMITS.search(plain) or any(
        one["some"].casefold() != one["all"].casefold() for one in _SOME_OF.finditer(plain)
    ):
        return
    found = list(_failures(reading))
    if not found:
        return
    admitting = [tokens_of(clause) for clause in _CLAUSE.split(plain) if _MAY_ADMIT.search(clause)]
    best: tuple[float, Spoken, Shortcoming] | None = None
    said = list(claims(reading))
    worked = [call for call in reading.record.calls if not has_failed(call)]
    given = [(call, call.words | tokens_of(call.arguments[:2_000])) for call in worked if not only_reads(call)]
    done = [claim.quote for claim in said if any(could_do(call, claim) for call in worked)]
    admitted = {failure.call for failure in found if any(words & failure.rare for words in admitting)}
    admitted |= {failure.call for failure in found if failure.whole and _is_told(reading, failure)}
    for failure in found:
        if failure.call in admitted:
            continue
        deeds = [claim.quote for claim in said if could_do(failure.call, claim)] if failure.whole else []
        for sentence in reading.sentences:
            is_deed = any(deed in sentence.text for deed in deeds)
            if failure.whole and any(deed in sentence.text for deed in done):
                words = tokens_of(sentence.text)
                mine = len(words & failure.words)
                others = [len(words & one) + (call.name != failure.call.name) for call, one in given]
                if not is_deed or any(count > mine for count in others):
                    continue
            weight = _weight(reading, sentence, failure, is_deed)
            if weight and (best is None or weight > best[0]):
                best = weight, sentence, failure
    if best is not None:
        _, sentence, failure = best
        reason = f"The call of {failure.call.spoken} failed." if failure.whole else "On record a part of it failed."
        yield Point("wrong_fact", sentence.plain.rstrip(" .;,"), failure.quote, reason, _FIX)


def _weight(reading: Reading, sentence: Spoken, failure: Shortcoming, is_deed: bool) -> float:
    """How much a sentence tells as done what failed; 0 if it does not."""
    same = sum(call.name == failure.call.name for call in reading.record.calls)
    weight = _contradicts(sentence, failure, is_deed, same)
    if weight and failure.whole and not is_deed and _found_otherwise(reading, sentence, failure.call):
        return 0.0
    return weight


def _found_otherwise(reading: Reading, sentence: Spoken, failed: PastCall) -> bool:
    """Whether the sentence gives numbers, and other tools brought all of them after the call that failed."""
    said = {abs(number.value) for number in numbers(sentence.text, spelled=True)}
    others = (call for call in reading.record.calls if call.place > failed.place and call.name != failed.name)
    later = {call.text for call in others if not has_failed(call)}
    brought = (number for text, figures in reading.record.figures if text in later for number in figures)
    return bool(said) and said <= {abs(number.value) for number in brought}


def _failures(reading: Reading) -> Iterator[Shortcoming]:
    calls = reading.record.calls
    given = {call: call.words | tokens_of(call.arguments[:2_000]) for call in calls}
    failed = [call for call in calls if has_failed(call)]
    for place, call in enumerate(calls):
        if any(_makes_good(other, call, calls[:place]) for other in calls[place + 1 :]):
            continue
        others = frozenset[str]().union(*(given[other] for other in calls if other not in failed and other is not call))
        if call in failed:
            own = given[call] | tokens_of(call.text[:600])
            yield Shortcoming(_block(call.text), call, given[call], own, _long(own - others), whole=True)
            if call.failed and not _is_run(call):
                continue
        whole = call.text.lstrip()[:1] in {"{", "["} and call.is_json
        for quote, own, rare in _bad_items(call) if whole else _bad_lines(call):
            if not (only_reads(call) and _MENTIONED.search(quote)):
                yield Shortcoming(quote, call, given[call], own, _long(rare - others))


def _long(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if len(word) > 2)


_MENTIONED = re.compile(r"\bTraceback\b|\berrors?\b", re.IGNORECASE)


def _is_told(reading: Reading, failure: Shortcoming) -> bool:
    """Whether the answer has two words of the error that stand nowhere else on record."""
    others = "\n".join(
        (reading.record.request, *(call.text for call in reading.record.calls if call is not failure.call))
    )
    only = _long(tokens_of(failure.call.text[:600]) - failure.words - tokens_of(others[:20_000]))
    return len(only & tokens_of(reading.answer)) > 1


def _is_run(call: PastCall) -> bool:
    """Whether a call ran tests, checks or a build."""
    return _RUN_CALL.search(f"{call.name.replace('_', ' ')} {call.arguments[:2_000]}") is not None


def _makes_good(other: PastCall, call: PastCall, before: list[PastCall]) -> bool:
    """Whether a later call repeats this one with the same first argument, or for a command with the same program. It
    does not where a call before this one did the same for something else: then each is one of several."""
    if other.name != call.name:
        return False
    if call.command or other.command:
        return bool(_programs(call.command) & _programs(other.command))
    if has_failed(other) or not call.failed:
        return other.arguments == call.arguments
    if any(one.name == call.name and not has_failed(one) for one in before):
        return other.arguments == call.arguments
    return _first(other) == _first(call)


def _first(call: PastCall) -> str:
    found = _FIRST.search(call.arguments[:400])
    return found[0] if found else call.arguments


_FIRST = re.compile(r"[:=] ?\[?\"?[^\",}]{1,80}")
_PROGRAM = re.compile(r"(?:^|[;&|] ?)\s{0,3}([\w./-]{2,40}(?: [\w./:-]{1,40})?)")
_RUNNERS = word_set("cd echo grep cat tail head sed awk ls env export set")


def _programs(command: str) -> frozenset[str]:
    found = _PROGRAM.findall(command[:2_000])
    return frozenset(one for one in found if one.split()[0] not in _RUNNERS)


def _block(text: str) -> str:
    """The lines of a text that say that something failed, with those between them; else its beginning."""
    told = telling(text).strip()
    if len(told) <= _QUOTE_CHARS:
        return told
    lines = text.splitlines()
    bad = [place for place, line in enumerate(lines) if _BAD_LINE.search(_NOT_BAD.sub(" ", line))]
    if not bad:
        return told[:_QUOTE_CHARS]
    return _around(lines, bad, bad[-1])


def _around(lines: list[str], bad: list[int], place: int) -> str:
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
    at = max(0, found.start() - 60) if found else 0
    return whole[at : at + _QUOTE_CHARS]


def _bad_lines(call: PastCall) -> Iterator[tuple[str, frozenset[str], frozenset[str]]]:
    lines = call.text.splitlines()[:400]
    bad = [place for place, line in enumerate(lines) if _BAD_LINE.search(_NOT_BAD.sub(" ", line))]
    fine = frozenset[str]().union(*(tokens_of(line) for place, line in enumerate(lines[:100]) if place not in bad))
    telling_ones = [place for place in bad if len(lines[place].strip()) >= _TELLING_CHARS] or bad
    for place in [*reversed(telling_ones[-6:]), *telling_ones[:3]]:
        words = tokens_of(lines[place])
        yield _around(lines, bad, place), words, words - fine


def _bad_items(call: PastCall) -> Iterator[tuple[str, frozenset[str], frozenset[str]]]:
    for item in call.items:
        for field in item.fields:
            name = frozenset(field.name)
            bad = False
            if isinstance(field.value, str):
                first = field.value.split(":")[0].split(" ")[0]
                bad = bool(name & _STATE_KEYS) and _BAD_STATES.fullmatch(first) is not None
                # Whoever is invited may say no.
                bad = bad and not (first.casefold() == "declined" and stem("response") in name)
            elif field.value is False:
                bad = bool(name & _GOOD_KEYS)
            elif isinstance(field.value, float):
                bad = bool(name & _BAD_COUNTS) and field.value > 0 and len(name) == 1
            if bad:
                yield _beside(item, field.quote), _words_of(item), _words_of(item)
        asked = [one for one in item.fields if set(one.name) & _ASKED and isinstance(one.value, float)]
        done = [one for one in item.fields if set(one.name) & _DONE and isinstance(one.value, float)]
        if len(asked) == 1 and len(done) == 1 and asked[0].value > done[0].value:  # type: ignore[operator]
            yield _span(call.text, asked[0].quote, done[0].quote), _words_of(item), _words_of(item)
        if item.listed and item.path and stem(item.path[-1]) in _BAD_COUNTS and item.fields:
            yield _span(call.text, item.fields[0].quote, item.fields[-1].quote), _words_of(item), _words_of(item)


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


def _contradicts(sentence: Spoken, failure: Shortcoming, is_deed: bool, same: int) -> float:
    """How much a sentence tells as done what failed; 0 if it does not. `same`: how many calls have that name."""
    text = sentence.text
    if _LOOKED.search(text) or _MUST.search(text):
        return 0.0
    clauses = [clause for clause in _CLAUSE.split(text) if not is_unreal(_GOOD.sub(" ", clause))]
    clauses = [clause for clause in clauses if not _NEGATED.search(_GOOD.sub(" ", _NO_ADMISSION.sub(" ", clause)))]
    text = " ; ".join(clauses)
    said = tokens_of(text)
    universal, good = _UNIVERSAL.search(text) is not None, _GOOD.search(text) is not None
    done = _DONE_SAID.search(text) is not None
    rare = len(said & failure.rare)
    if failure.whole:
        if only_reads(failure.call):
            return 2.0 if same and _EVERY.search(text) and f" {_SPELLED.get(same, same)} " in text else 0.0
        if not done or not (rare or is_deed):
            return 0.0
        return 1.0 + len(said & failure.words) + 2 * rare + 4 * is_deed
    own = len(said & failure.own)
    if good and _is_run(failure.call):
        return (5.0 if universal else 4.0 + own) + (_RUN_CALL.search(text) is not None)
    if universal and (done or good):
        return 2.5 + own + good
    return 0.5 + own if own >= 2 and rare and (good or done) else 0.0
