"""Finds claims such as `all tests pass` where the last run has a failing line."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import PastCall

_RUN = re.compile(
    r"\b(?:tests?|specs?|suites?|checks?|builds?|compil\w{1,6}|lint\w{0,4}|pipeline|ci|workflow|jobs?|"
    r"typecheck\w{0,4}|type[- ]check\w{0,4}|mypy|eslint|"
    r"pytest|jest|assertions?|validation|deployment|migrations?|everything|coverage|formatting|format|"
    r"rules?|scans?|audit|verification|smoke)\b",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|success(?:ful|fully)?|clean(?:ly)?|works?|(?:went|go|"
    r"gone|goes|came|come) (?:right )?(?:through|clean|back clean)|holds?|held|in order|no (?:\w{1,15} "
    r"){0,2}(?:errors?|failures?|"
    r"warnings?|issues|problems)|(?:zero|0) (?:\w{1,15} )?(?:errors?|failures?|failed|warnings?)|without "
    r"(?:any )?(?:\w{1,15} )?(?:errors?|failures?|issues)|"
    r"compiles?|builds? fine|error-free)\b",
    re.IGNORECASE,
)
_GOOD_ALONE = re.compile(
    r"\b(?:no (?:\w{1,15} ){0,2}(?:errors?|failures?)|(?:zero|0) (?:errors?|failures?|failed)|without "
    r"(?:any )?(?:errors?|failures?))\b",
    re.IGNORECASE,
)
_ADMITS = re.compile(
    r"\b(?:fail\w{0,4}|errors?|errored|broke\w{0,2}|except|apart from|but|however|unfortunately|flaky|red|"
    r"did(?: not|n['’]t)|does(?: not|n['’]t)|"
    r"not|could(?: not|n['’]t)|still|warnings?)\b",
    re.IGNORECASE,
)
_LOOKS_LIKE_A_RUN = re.compile(
    r"\b(?:tests?|passed|failed|passing|failing|build|compil\w{1,6}|lint\w{0,4}|checks?|conclusion|"
    r"exit(?:ed)?|assert\w{0,8}|error|warning)\b",
    re.IGNORECASE,
)
_BAD = re.compile(
    r"\b[1-9]\d{0,6} (?:\w{1,15} )?(?:failed|failures?|failing|errors?|errored)\b|\b(?:failed|failures?|"
    r"failing|errors?)\"?[:=] ?[1-9]\d{0,6}\b"
    r"|\"(?:success|passed|ok|succeeded)\": ?false|\"(?:status|conclusion|result|state|outcome)\": "
    r"?\"(?:fail\w{0,4}|error\w{0,2}|broken|red)\""
    r"|\bexit(?:ed)?(?: with)?(?: code| status)?\"?[:= ]{1,3}[1-9]\d{0,2}\b|\"exit_?code\": ?[1-9]|"
    r"\breturncode[\"': =]{1,4}[1-9]"
    r"|\bBUILD FAIL\w{0,4}|\bBuild failed|\b(?:FAILED|FAIL)\b|[✗✘✖❌]|\btime[d]? ?out\b|\bnot ok \d|"
    r"\berror(?:\[\w{1,8}\])?: |\berror TS\d|\bTraceback\b"
    r"|\bAssertionError\b|\bnpm ERR!|\bmake: \*\*\*|\bpanic:|\bSyntaxError\b|\bFAILURE\b|: error\b|\bfatal:",
    re.MULTILINE,
)
_NOT_BAD = re.compile(
    r"\b0 (?:\w{1,15} )?(?:failed|failures?|errors?)|\b(?:failed|failures?|errors?)\"?[:=] ?0\b|xfailed", re.IGNORECASE
)


def tests_run(reading: Reading) -> Iterator[Point]:
    """Finds claims that a run went well, where the last recorded run has a line that says the opposite."""
    last = next((call for call in reversed(reading.record.calls) if _LOOKS_LIKE_A_RUN.search(call.text)), None)
    bad = _bad_line(last) if last else ""
    if not bad:
        return
    admitted = _ADMITS.search(_GOOD.sub(" ", reading.answer))
    for sentence in reading.sentences:
        good = _GOOD.search(sentence.text)
        if good is None or is_unreal(sentence.text) or admitted:
            continue
        if _RUN.search(sentence.text) or _GOOD_ALONE.search(sentence.text):
            reason = "The last run on record failed."
            yield Point("wrong_fact", sentence.plain, bad, reason, "Say what failed.")
            return


def _bad_line(call: PastCall) -> str:
    """The line of a run's output that says most clearly that it failed; empty if it did not."""
    lines = [line.strip() for line in call.text.splitlines()]
    bad = [line for line in lines if _BAD.search(_NOT_BAD.sub(" ", line))]
    counted = [line for line in bad if re.search(r"\d+ (?:\w{1,15} )?(?:failed|failures?|failing|errors?)", line)]
    line = (counted or bad or [""])[-1 if counted else 0]
    found = _BAD.search(_NOT_BAD.sub(lambda match: " " * len(match[0]), line))
    return line if len(line) <= 160 or found is None else line[max(0, found.start() - 20) : found.end() + 40]
