"""What was redacted in a call's arguments is redacted in its result; what stays there, and how much is remembered."""

import json
from typing import Any

import pytest

from sidemirror_server.trace.given_secrets import GivenSecrets, enter_arguments

QUOTED = 'hu"nt\\er2'

REPEATED = [
    # (arguments, what the call returned, what is kept of that)
    ({"password": "hunter2"}, "404: not found: hunter2", "404: not found: [redacted:value]"),
    ({"password": "hunter2"}, "xhunter2y hunter2", "x[redacted:value]y [redacted:value]"),
    ({"command": "mysql -h db -pletmein9 shop"}, "denied: letmein9", "denied: [redacted:value]"),
    ({"url": "https://me:s3cr3tpw@db/x"}, "cannot log in with s3cr3tpw", "cannot log in with [redacted:value]"),
    ({"env": [{"name": "API_KEY", "value": "letmein"}]}, "letmein", "[redacted:value]"),
    ({"cvv": 123456}, "wrong: 123456", "wrong: [redacted:value]"),
    ({"password": QUOTED}, f"no {QUOTED} here", "no [redacted:value] here"),
    ({"password": QUOTED}, json.dumps({"no": QUOTED}), '{"no": "[redacted:value]"}'),
    ({"password": "päßwort"}, json.dumps({"no": "päßwort"}), '{"no": "[redacted:value]"}'),
    ({"password": "päßwort"}, "no päßwort", "no [redacted:value]"),
    ({"body": json.dumps({"password": QUOTED})}, f"no {QUOTED} here", "no [redacted:value] here"),
    ({"token": "let \\/mein"}, json.dumps({"no": "let \\/mein"}), '{"no": "[redacted:value]"}'),
    # A part of it that the text itself shows, and the rest.
    ({"password": "let me in"}, "password: 'let me', let me in", "password: '[redacted:password]', [redacted:value]"),
]
KEPT = [
    ({"password": "hunte"}, "hunte"),
    ({"user": "postgres", "password": "postgres"}, "no role postgres"),
    ({"password": "required"}, "the field is required"),
    ({"password": "password"}, "wrong password"),
    ({"user": "hunter2"}, "no hunter2"),
    ({"password": "x" * 5_000}, "x" * 5_000),
]


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize(("arguments", "returned", "kept"), REPEATED)
def test_what_a_call_was_given_goes_from_its_result(
    arguments: dict[str, Any], returned: str, kept: str, ascii_only: bool
) -> None:
    given = GivenSecrets()
    given.call("c", json.dumps(arguments, ensure_ascii=ascii_only))
    assert given.end("c", returned) == kept
    assert given.end("c", returned) == kept, "what is reported twice"


@pytest.mark.parametrize(("arguments", "returned"), KEPT)
def test_what_is_short_or_readable_anyway_stays(arguments: dict[str, Any], returned: str) -> None:
    given = GivenSecrets()
    given.call("c", json.dumps(arguments))
    assert given.end("c", returned) == returned


def test_a_result_is_that_of_its_call() -> None:
    given = GivenSecrets()
    given.call("1", '{"password": "hunter2"}')
    given.call("2", '{"password": "letmein"}')
    assert given.end("1", "hunter2 letmein") == "[redacted:value] letmein"
    assert given.end("", "hunter2 letmein") == "[redacted:value] [redacted:value]"
    assert given.end("3", "hunter2 letmein") == "hunter2 letmein"


def test_so_many_calls_and_secrets_are_remembered() -> None:
    given = GivenSecrets()
    for number in range(101):
        given.call(str(number), '{"password": "hunter2"}')
    assert given.end("0", "hunter2") == "hunter2"
    assert given.end("1", "hunter2") == "[redacted:value]"
    _, forms = enter_arguments(json.dumps({f"password{number}": f"hunter{number}" for number in range(100)}))
    assert len(forms) == 32
