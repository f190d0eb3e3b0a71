"""Whether the result of a tool may report a failure, though the tool says no such thing.

The sidecar decides by itself what is a failure. This test is a cheap one, for whoever waits for advice behind failures
only: a result that it takes for one costs a wait of some milliseconds, and one that it misses gets its advice one
request late. `tests/clients/test_failing.py` holds it against the sidecar's.
"""

import re

# In characters. A result names its failure in its first or last lines, and JSON is read as far as the sidecar reads it.
_READ_CHARS = 2_000
_JSON_CHARS = 100_000
_LINE_CHARS = 400
_READ_LINES = 20

# Fields of JSON, or of a dictionary as Python shows it, that say that something went wrong.
_FIELD = re.compile(
    r"""['"](?:"""
    r"""(?:errors?|err|exception|error_?message)['"]\s{0,4}:\s{0,4}"""
    r"""(?!null\b|none\b|false\b|0\b|\[\]|\{\}|(?P<quote>['"])(?:null|none)?(?P=quote))\S|"""
    r"""(?:is_?error|failed|has_error)['"]\s{0,4}:\s{0,4}true\b|"""
    r"""(?:success|ok|succeeded|successful)['"]\s{0,4}:\s{0,4}false\b|"""
    r"""(?:exit_?code|return_?code|exit_status)['"]\s{0,4}:\s{0,4}['"]?-?[1-9]|"""
    r"""(?:status|state|result|type|outcome)['"]\s{0,4}:\s{0,4}['"](?:error|failed|failure|fatal|exception)['"]|"""
    r"""(?:(?:http_)?status|status_?code|code)['"]\s{0,4}:\s{0,4}['"]?[45]\d\d\b)""",
    re.IGNORECASE,
)
_LIST = re.compile(r"""\[\s{0,20}[\[{"'\d\]-]""")
# Words of a line that says what went wrong: of the first and the last one,
_SAYS_SO = re.compile(
    r"error|exception|fatal|fail|panic|abort|traceback|timed out|did not pass|invalid|could not find|no such|unknown|"
    r"denied|not found|malformed|not exist|expected to be|interrupt|exit|usage:|syntax error|no \w+ code|format your",
    re.IGNORECASE,
)
# and of one in which a program speaks, which begins with the program's name.
_BY_PROGRAM = re.compile(
    r"(?:/[\w./-]{1,80}|[a-z][\w.+-]{0,30}|-\w{1,3})(?: \([\w ]{1,20}\))?: .*?"
    r"(?:error|fail|\bno|n't\b|\bun\w|\bin\w|\bmis|\bmust|\bshould|\bis |can|denied|refus|time|out\b|exceed|"
    r"ambiguous|duplicate|exists|expect|bad\b|illegal|must|too |reset|broken|closed|requires|try )",
    re.IGNORECASE,
)


def may_have_failed(text: str) -> bool:
    """Whether a tool's result may report a failure."""
    said = text.strip()
    if said.startswith("{"):
        return _FIELD.search(said, 0, _JSON_CHARS) is not None
    if not said or _LIST.match(said):
        return False
    if len(said) > 2 * _READ_CHARS:
        said = f"{said[:_READ_CHARS]}\n{said[-_READ_CHARS:]}"
    lines = [line.strip()[:_LINE_CHARS] for line in said.splitlines() if line.strip()]
    if any(_SAYS_SO.search(line) for line in (*lines[:2], *lines[-2:])):
        return True
    read = lines[:_READ_LINES]
    return 2 * sum(_BY_PROGRAM.match(line) is not None for line in read) >= len(read)
