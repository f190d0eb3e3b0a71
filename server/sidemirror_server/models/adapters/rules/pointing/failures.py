"""Finds answers that tell as done what failed, in whole or in part, and nowhere say that anything failed."""

import itertools
import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.deeds import claims, could_do, denials
from sidemirror_server.models.adapters.rules.pointing.effects import has_failed, only_reads
from sidemirror_server.models.adapters.rules.pointing.failing import (
    RUN,
    Shortcoming,
    is_bad,
    is_run,
    is_summary,
    shortcomings,
    telling_words,
)
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import ARGUMENT_CHARS, PastCall
from sidemirror_server.models.adapters.rules.pointing.texts import SPELLED, Spoken, numbers, tokens_of
from sidemirror_server.vocabulary.refusal import is_refusal

_FIX = "Say what failed."
# Of more failures the first are enough.
_MOST = 60
# Each number in a sentence speaks for it: what is told wrongly is told in general.
_TRUE_WEIGHT = 0.5
# Words by which an answer says that something failed.
_ADMITS = re.compile(
    r"\b(?:fail\w{0,4}|errors?|errored|could(?: not|n['’]t)|unable|unfortunately|den(?:y|ied|ies)|rejects?|rejected|"
    r"refus\w{1,3}|declined?|bounced?|time[ds]? ?out|time limit|timeouts?|unreachable|unavailable|"
    r"afraid|too late|however|except(?:ion|ions|ing)?|apart from|all but|but (?:one|two|three|not|\d)|problem|"
    r"only (?:partly|partially|in part|\d[\d,]* (?:out )?of|[\w.-]{0,40}[/\d][\w./-]{0,40} (?:is|are|was|were)\b)|"
    r"manage(?:d)?|nobody could|(?:everything|all|everyone)\b[^.;]{0,30}\bbut|"
    r"trouble|forbidden|incomplete|violat\w{1,4}|off by|broken?|flaky|cannot|can['’]t|no longer|"
    r"un(?:delivered|formatted|applied|sent|paid|changed|finished|processed|resolved)|shortfall|short of|stuck|"
    r"partial\w{0,2}|"
    r"(?:has|have) not been (?:moved|rescheduled|booked|sent|made|done|completed)|(?<!you )only \w{3,15}ed\b|so far|"
    r"(?:do not|don['’]t) (?:yet )?(?:have|know)|crash(?:ed|es)|lacks?)\b",
    re.IGNORECASE,
)
_MANY = rf"\d{{1,6}}|{'|'.join(SPELLED)}"
_SOME_OF = re.compile(
    rf"(?<!all )(?<!All )(?<!the )(?<!every )(?<!Every )(?<!each )(?<!Each )\b(?P<some>{_MANY}) (?:out )?of (?:the |"
    rf"these |those |your |our |my |its )?(?P<all>{_MANY}|them)\b",
    re.IGNORECASE,
)
# These admit a failure only beside words of what failed.
_MAY_ADMIT = re.compile(
    r"\b(?:not (?!only|null)\w{1,15}|still|instead|retry|again|pending|remain\w{0,3}|left|yet|neither|nor|invalid|"
    r"conflicts?|"
    r"missing|lost|skipp\w{1,3}|stays?|except|only|none|nobody|nothing|because|locked|expired|overdue|blocked|crash|"
    r"warn(?:s|ed)|warnings?|the other (?:one|two|three|four|five|\d))\b|n['’]t\b|\?",
    re.IGNORECASE,
)
# The same of a whole sentence.
_NOT_TO_BE_HAD = re.compile(
    r"\b(?:is|are|was|were) (?:already |fully )?(?:full|taken|gone|sold out|booked(?: up| out)?|closed)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[;:()](?!\d)|,(?!\d)|\n|[.!?](?:\s|$)|\s[-–—]\s|\b(?:and|but|while|whereas)\b", re.IGNORECASE)
# What looks like it and admits nothing: denials, and what the answer says of its own restraint.
_NO_ADMISSION = re.compile(
    r"\b(?:no|without(?: an?y?)?|zero|0) (?:(?!longer|change)\w{1,15} ){0,2}(?:errors?|fail\w{0,4}|problems?|trouble|"
    r"issues?|warnings?|conflicts?|complaints?|duplicates?|violations?|mismatch\w{0,2})"
    r"|\bnot only\b|\bno task reported `?failed`?"
    r"|\b(?:I|we)(?:['’]ve| have| did)? (?:neither|not)\b(?! (?:manage|succeed|get|find))[^.;\n]{0,90}"
    r"|\b(?:I|we) (?:haven|didn)['’]t\b[^.;\n]{0,90}|\bnot touch\w{0,3}\b|\buntouched\b"
    r"|\b(?:nothing|none)(?: (?:has|have) been| was| were)? (?:committed|pushed|renewed|changed|deleted|"
    r"removed)\b(?: so far| yet)?"
    r"|\bnothing else\b|\bno other\b[^.;\n]{0,60}|\bhave not (?:begun|started|pushed|committed|changed|touched)\b"
    r"|\bstays? (?:as|in|the)\b|\bnow too\b|\bstill (?:active|open)\b|\bread again\b|\b(?:ran|run|looked) "
    r"[^.;,\n]{0,40}\bagain\b|\bnone of (?:them|the \w{2,20}) (?:is|are) left\b"
    r"|\bnot (?:charged|covered)\b|\bthe only\b|\bother [^;\n]{0,50}\b(?:is|are|stays?) unchanged\b|\bstill "
    r"(?:builds?|works?|passes|compiles?)\b|`-[^`\n]{1,40}`",
    re.IGNORECASE,
)
_UNIVERSAL = re.compile(
    r"\b(?:all|every|each|both|everyone|everybody|everything|whole|entire\w{0,2}|complete(?:ly)?|fully|full|in full|"
    r"(?<!has )(?<!have )none|no (?:\w{1,12} ){0,2}(?:errors?|failures?|problems?)|(?<!of )the (?:two|three|"
    r"four|five|six|seven|eight|"
    r"nine|ten|\d{1,4}) (?:of |[a-z]{3,20}))\b",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|success(?:ful|fully)?|clean(?:ly)?|fine|ok(?:ay)?|"
    r"(?:went|go|gone|goes|came|come|comes) (?:right |now )?(?:through|clean|back clean|well)|holds?|held|match(?:es|"
    r"ed)?|works(?! (?:in|on|with|by)\b)|completes|work (?:again|now|fine|as)|working|"
    r"(?:no|zero|0) (?:\w{1,15} ){0,2}(?:errors?|failures?|failed|warnings?|issues|problems)|without "
    r"(?:an?y? )?(?:\w{1,15} )?(?:errors?|failures?|issues|complaints?|problems?)|compiles?|error-free|valid|"
    r"healthy)\b",
    re.IGNORECASE,
)
_DONE_SAID = re.compile(
    r"(?:\b(?:is|are|was|were|has|have|been|went|goes|gone|now|got|get|I|we|done|carry|carries|makes)|['’](?:ve|s|"
    r"re))\b(?! (?:not|n['’]t|about|from|when)\b)",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:[Nn]ot|never|[Nn]o|[Nn]othing|cannot|[Nn]either|nor)\b|n['’]t\b")
_LOOKED = re.compile(r"\b(?:I|we)(?:['’]ve| have)? (?:found|looked|checked|searched|read|saw|opened)\b", re.IGNORECASE)
_MUST = re.compile(r"\b(?:must|needs? to|looks like|seems|have to|has to)\b", re.IGNORECASE)
_EVERY = re.compile(r"\b(?:all|each of|every one of|both)\b", re.IGNORECASE)
_SPELLED = {int(value): word for word, value in reversed(SPELLED.items())}
# What is quoted says nothing of what was done.
_QUOTED = re.compile(r"[\"“][^\"”\n]{1,60}[\"”]")

_Rank = tuple[int, float, int]


def failures(reading: Reading) -> Iterator[Point]:
    """Finds the sentence that says as done, or as good, what failed. Only in an answer that does not admit it."""
    plain = _plain(reading.answer)
    if _admits(plain):
        return
    found = list(itertools.islice(shortcomings(reading), _MOST))
    if not found:
        return
    admitting = [tokens_of(clause) for clause in _CLAUSE.split(plain) if _MAY_ADMIT.search(clause)]
    admitting += [tokens_of(one.text) for one in reading.sentences if _NOT_TO_BE_HAD.search(one.text)]

    def is_admitted(failure: Shortcoming) -> bool:
        return any(words & failure.rare for words in admitting)

    told = {one.call for one in found if one.whole and (is_admitted(one) or _is_told(reading, one))}
    deeds = _Deeds(reading)
    told |= {one.call for one in found if one.whole and deeds.is_denied(one)}
    best: tuple[_Rank, Spoken, Shortcoming] | None = None
    for failure in found:
        if failure.call in told or is_admitted(failure):
            continue
        own = deeds.of(failure)
        for sentence in reading.sentences:
            is_deed = any(deed in sentence.text for deed in own)
            if deeds.is_of_others(failure, sentence, is_deed):
                continue
            rank = _rank(reading, sentence, failure, is_deed)
            if rank is not None and (best is None or rank > best[0]):
                best = rank, sentence, failure
    if best is not None:
        _, sentence, failure = best
        reason = _reason(failure)
        yield Point("wrong_fact", sentence.plain.rstrip(" .;,"), failure.quote, reason, _FIX)


def _reason(failure: Shortcoming) -> str:
    if is_refusal(failure.call.text):
        return f"The call of {failure.call.spoken} was refused."
    return f"The call of {failure.call.spoken} failed." if failure.whole else "Not all of it worked."


def admits_failure(answer: str) -> bool:
    """Whether an answer says in words of its own that something failed."""
    return _admits(_plain(answer))


def _plain(answer: str) -> str:
    """The answer with spaces in the place of what admits nothing."""
    for pattern in (_QUOTED, _NO_ADMISSION):
        answer = pattern.sub(lambda match: " " * len(match[0]), answer)
    return answer


def _admits(plain: str) -> bool:
    return _ADMITS.search(plain) is not None or any(
        one["some"].casefold() != one["all"].casefold() for one in _SOME_OF.finditer(plain)
    )


class _Deeds:
    """Which sentences say that something was done, and by which calls it may have been."""

    def __init__(self, reading: Reading) -> None:
        worked = [call for call in reading.record.calls if not has_failed(call)]
        self._said = list(claims(reading))
        self._denied = list(denials(reading))
        self._done = [claim.quote for claim in self._said if any(could_do(call, claim) for call in worked)]
        # Calls that worked and may have changed something, with the words that they were given.
        self._given = [
            (call, call.words | tokens_of(call.arguments[:ARGUMENT_CHARS])) for call in worked if not only_reads(call)
        ]

    def of(self, failure: Shortcoming) -> list[str]:
        """The words of deeds that the failed call should have done."""
        return [claim.quote for claim in self._said if failure.whole and could_do(failure.call, claim)]

    def is_denied(self, failure: Shortcoming) -> bool:
        """Whether the answer says that what the failed call should have done was not done, of the same thing."""
        return any(does & failure.call.name_words and words & failure.rare for does, words in self._denied)

    def is_of_others(self, failure: Shortcoming, sentence: Spoken, is_deed: bool) -> bool:
        """Whether the sentence tells the deed of a call that worked rather than that of the failed one: it has more
        words of that call, or as many where that is another tool."""
        if not failure.whole or not any(deed in sentence.text for deed in self._done):
            return False
        words = tokens_of(sentence.text)
        mine = len(words & failure.words)
        others = [len(words & given) + (call.name != failure.call.name) for call, given in self._given]
        return not is_deed or any(count > mine for count in others)


def _rank(reading: Reading, sentence: Spoken, failure: Shortcoming, is_deed: bool) -> _Rank | None:
    """What goes first: a sentence that claims more (the deed of the failed call, that it is of all, that it went well),
    then more words of what failed, then the later one, since an answer begins with what was tried. None if it does not
    tell it as done."""
    weight = _weight(reading, sentence, failure, is_deed)
    if not weight:
        return None
    claimed = is_deed + bool(_UNIVERSAL.search(sentence.text)) + bool(_GOOD.search(sentence.text))
    return claimed, weight, sentence.start


def _weight(reading: Reading, sentence: Spoken, failure: Shortcoming, is_deed: bool) -> float:
    """How much a sentence tells as done what failed; 0 if it does not."""
    same = sum(call.name == failure.call.name for call in reading.record.calls)
    weight = _contradicts(sentence, failure, is_deed, same)
    if weight:
        weight = max(0.1, weight - _TRUE_WEIGHT * max(0, sum(one.value > 1 for one in numbers(sentence.text)) - 1))
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


def _is_told(reading: Reading, failure: Shortcoming) -> bool:
    """Whether the answer has two words of the error that stand nowhere else on record."""
    others = "\n".join(
        (reading.record.request, *(call.text for call in reading.record.calls if call is not failure.call))
    )
    every = failure.call.text.splitlines()[:100]
    lines = [line for line in every if is_bad(line) and not is_summary(line)]
    fine = frozenset[str]().union(*(tokens_of(line) for line in every if not is_bad(line) or is_summary(line)))
    said = "\n".join(lines)[:600] or failure.call.text[:600]
    only = telling_words(
        tokens_of(said) - failure.words - tokens_of(others[:20_000]) - (fine if lines else frozenset())
    )
    return len(only & tokens_of(reading.answer)) > 1


def _contradicts(sentence: Spoken, failure: Shortcoming, is_deed: bool, same: int) -> float:
    """How much a sentence tells as done what failed; 0 if it does not. `same`: how many calls have that name."""
    text = sentence.text
    if _LOOKED.search(text) or _MUST.search(text):
        return 0.0
    text = _QUOTED.sub(" ", text)
    clauses = [clause for clause in _CLAUSE.split(text) if not is_unreal(_GOOD.sub(" ", clause))]
    clauses = [clause for clause in clauses if not _NEGATED.search(_GOOD.sub(" ", _NO_ADMISSION.sub(" ", clause)))]
    text = " ; ".join(clauses)
    said = tokens_of(text)
    universal, good = _UNIVERSAL.search(text) is not None, _GOOD.search(text) is not None
    done = _DONE_SAID.search(text) is not None
    rare = len(said & failure.rare)
    if failure.whole:
        if good and is_run(failure.call) and (own_run := len(said & failure.own)):
            return 4.0 + 2 * own_run + 1.5 * universal + (RUN.search(text) is not None)
        if only_reads(failure.call) and not failure.call.command:
            return 2.0 if same and _EVERY.search(text) and f" {_SPELLED.get(same, same)} " in text else 0.0
        if not done or not (rare or is_deed) or (is_refusal(failure.call.text) and not is_deed):
            return 0.0
        return 1.0 + len(said & failure.words) + 2 * rare + 4 * is_deed
    own = len(said & failure.own)
    if good and is_run(failure.call):
        return 4.0 + 2 * own + 1.5 * universal + (RUN.search(text) is not None)
    reads = only_reads(failure.call)
    if universal and (good or (done and not reads)):
        return 4.0 + own + good + len(said & failure.words)
    own += len(said & failure.words) if rare else 0
    return 0.5 + own + rare if own >= 2 and rare and (good or (done and not reads)) else 0.0
