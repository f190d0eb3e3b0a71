"""The same failure is recognised in whatever words it is told; another one is not."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidemirror_server.memory.kin.given import Given
from sidemirror_server.memory.kin.signature import (
    MOST_SIGNATURE_CHARS,
    category_in,
    error_signature,
    is_signature,
    tool_of,
)
from sidemirror_server.memory.kin.signature_wordings import CAUSES, NAMED_CAUSES
from sidemirror_server.trace.failure import ErrorCategory

TRACEBACK = 'Traceback (most recent call last):\n  File "/tmp/a.py", line 3, in <module>\n    get(url, timeout=5)\n'

SAME = [
    ("Error: Plan with ID P1006 not found", "Error: Plan with ID P17 not found"),
    ("Error: user not found", "No such user: 17"),
    ("Error: user not found", '# var_0 = "Error: user not found"'),
    ("user 4711 does not exist", "could not find the user"),
    ("Table 'a.b' doesn't exist", 'ERROR:  relation "c" does not exist'),
    ("Table 'a.b' doesn't exist", "no such table: b"),
    ("Unknown column 'x' in 'field list'", 'column "y" does not exist'),
    ("Unknown column 'x' in 'field list'", "no such column: y"),
    ("open /tmp/x/a.txt: no such file or directory", "FileNotFoundError: [Errno 2] No such file or directory: 'b'"),
    ("ls: cannot access 'x': No such file or directory", "ENOENT: no such file or directory, open 'y'"),
    ("The system cannot find the file specified.", "cat: y: No such file or directory"),
    ("GET https://a.example/1 timed out", "Error: deadline exceeded"),
    ("TimeoutError: [Errno 110] Connection timed out", "ReadTimeout: took 27.25 s"),
    ("connect ECONNREFUSED 127.0.0.1:5432", "[Errno 111] Connection refused"),
    ("/bin/bash: line 1: parallel: command not found", "sh: 1: parallel: not found"),
    ("'jq' is not recognized as an internal or external command", "/bin/bash: line 4: jq: command not found"),
    ("x: -c: line 1: unexpected EOF while looking for matching `''", "Error: unterminated quoted string at line 9"),
    ("cp: invalid option -- 'z'", "cp: unrecognized option '--zap'"),
    ("HTTP 403 Forbidden", "permission denied for table t"),
    ("cp: error writing 'b': Disk quota exceeded", "write /x: no space left on device"),
    ("429 Too Many Requests", "rate limit reached, retry in 20 s"),
    ("job 018f3a52-7c1e-7d3a-9b1e-0c6f2a1b3c4d broke", "job 118f3a52-7c1e-7d3a-9b1e-0c6f2a1b3c4e broke"),
    (TRACEBACK + "KeyError: 'a'", "KeyError: 'b'"),
    ("Error: gift card balance is not enough", "Insufficient balance of the gift card"),
    ("exitcode: 1 (execution failed)\nModuleNotFoundError: No module named 'numpy'", "No module named numpy"),
]
DIFFERENT = [
    ("user not found", "order not found"),
    ("bash: line 1: xxd: command not found", "bash: line 1: parallel: command not found"),
    ("cut: invalid option -- 'z'", "xargs: invalid option -- 'z'"),
    ("No module named 'numpy'", "No module named 'pandas'"),
    ("No module named 'numpy'", "FileNotFoundError: [Errno 2] No such file or directory: 'numpy'"),
    ("Unknown column 'x' in 'field list'", "Table 'x' doesn't exist"),
    ("connection refused", "connection timed out"),
    ("permission denied: /etc/x", "/etc/x: No such file or directory"),
    ("Error: number of passengers does not match", "Error: payment amount does not add up"),
    ("mkdir: cannot create directory 'x': File exists", "cd: x: Not a directory"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_failure_in_other_words(one: str, other: str) -> None:
    assert error_signature("t", one) == error_signature("t", other) != ""


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_failure(one: str, other: str) -> None:
    assert error_signature("t", one) != error_signature("t", other)


SAID = (
    *("unknown account A9", "card expired", "contract already signed", "account locked", "insufficient funds"),
    "order already shipped",
)
# How tools and libraries tell an error: as JSON, as Python shows it, in quotation marks.
FORMS: dict[str, Callable[[str], str]] = {
    "GraphQL": lambda said: json.dumps({"data": None, "errors": [{"message": said}]}),
    "JSON-RPC": lambda said: json.dumps({"jsonrpc": "2.0", "id": 4, "error": {"code": -32602, "message": said}}),
    "MCP": lambda said: json.dumps({"isError": True, "content": [{"type": "text", "text": said}]}),
    "parts": lambda said: json.dumps([{"type": "text", "text": said}]),
    "with a code": lambda said: json.dumps({"error": said, "code": "E_STATION"}),
    "with null": lambda said: json.dumps({"error": {"message": said, "param": None}}),
    "ok": lambda said: json.dumps({"ok": False, "error": said}),
    "indented": lambda said: json.dumps({"success": False, "message": said}, indent=2),
    "FastAPI": lambda said: json.dumps({"detail": [{"loc": ["body", "x"], "msg": said, "type": "value_error"}]}),
    "a library": lambda said: f"HTTPError: 400 Client Error: {json.dumps({'error': said})}",
    "AWS": lambda said: json.dumps({"__type": "Oops", "Message": said}),
    "a dictionary": lambda said: str({"ok": False, "error": said}),
    "an exception": lambda said: f"ToolError('{said}')",
    "quoted": lambda said: f'Error: "{said}"',
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("said", SAID)
def test_what_an_error_says_counts_and_not_how_it_is_written(said: str, form: Callable[[str], str]) -> None:
    """Seen to be one failure, or none, in each of the forms: what a tool said in quotation marks was masked."""
    assert error_signature("t", form(said)) == error_signature("t", said) != ""


def test_a_status_of_http_gives_the_category() -> None:
    assert error_signature("t", 'HTTP 409: {"message": "contract already signed"}') == (
        "t|validation|alreadi contract sign"
    )


def test_what_a_call_was_given_does_not_count_in_an_object_either() -> None:
    one, other = (
        error_signature("t", json.dumps({"error": f"{name} is closed", "id": 7}), Given((name, "7"), ("t", "name")))
        for name in ("ACME", "Globex")
    )
    assert one == other == "t|unknown|clos"


def test_a_key_is_no_message() -> None:
    assert error_signature("t", "KeyError: 'John Smith'") == error_signature("t", "KeyError: 'b'")


def test_the_tool_counts() -> None:
    assert error_signature("t", "user not found") != error_signature("u", "user not found")


def test_what_a_signature_says() -> None:
    signature = error_signature("a|b", "Table 'a.b' doesn't exist")
    assert signature == "a|b|not_found|missing_table"
    assert tool_of(signature) == "a|b"
    assert tool_of("") == ""
    assert error_signature("bash", "sh: 1: jq: not found") == "bash|not_found|missing_command jq"
    assert error_signature("bash", "/bin/bash: line 1: The: command not found").endswith("|missing_command <words>")
    assert error_signature("find_user", "Error: user 17 not found") == "find_user|not_found|absent user"


@pytest.mark.parametrize("text", ["", " \n", "0\n", "Error:", "exitcode: 1 (execution failed)"])
def test_a_text_that_says_nothing_has_none(text: str) -> None:
    """It would be the same as any other that says nothing."""
    assert error_signature("t", text) == ""


def test_every_cause_has_a_category_that_there_is() -> None:
    known = {category.value for category in ErrorCategory}
    assert {category for _, category, _ in (*CAUSES, *NAMED_CAUSES)} <= known


@given(st.text(max_size=400), st.text(max_size=200))
def test_any_text_has_a_short_signature(text: str, tool: str) -> None:
    signature = error_signature(tool, text)
    assert len(signature) <= MOST_SIGNATURE_CHARS
    assert not signature or tool_of(signature) == tool[:100]
    # It passes when it is sent back.
    assert not signature or is_signature(signature)


def test_what_is_no_signature() -> None:
    assert is_signature("sql|not_found|missing_table")
    assert not is_signature("sql")
    assert not is_signature("sql|oops|missing_table")
    assert not is_signature("sql|not_found|" + "x" * 300)


def test_a_bar_where_a_text_could_not_be_read_on_is_no_part_of_its_own() -> None:
    """Seen to fail when the parts were what the last two bars part: the tool was `bash|validation`."""
    for text in ("bash: -c: line 1: syntax error near unexpected token `|'", "syntax error near unexpected token `||'"):
        signature = error_signature("bash", text)
        assert signature == "bash|validation|bad_syntax |"
        assert tool_of(signature) == "bash"
        assert is_signature(signature)


@pytest.mark.parametrize(
    "error",
    [
        "An error occurred while running the tool. Please try again.",
        "Something went wrong",
        "An unexpected error occurred while processing your request",
        "Error executing tool",
        "Tool execution failed",
    ],
)
def test_an_error_that_says_nothing_has_no_signature(error: str) -> None:
    assert error_signature("lookup", error) == ""


def test_a_call_that_a_person_refused_has_no_signature() -> None:
    """Seen to fail: five refusals, each followed by an approval, taught that the payment is sent again."""
    for text in ("Tool execution denied.", '{"error": "This tool call is rejected."}', "Payment denied"):
        assert (error_signature("pay", text) == "") is (text != "Payment denied")


@pytest.mark.parametrize("error", ["Internal server error", "Malformed command", "Unexpected token", "Unknown tool"])
def test_an_error_that_says_little_keeps_its_signature(error: str) -> None:
    assert error_signature("lookup", error).startswith("lookup|")


def test_the_category_of_a_signature() -> None:
    assert category_in("a|b|timeout|timed_out") == "timeout"
    assert category_in("no signature") == ""
