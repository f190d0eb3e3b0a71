"""Settings that cannot be used, and what is said of them."""

import pytest

from sidemirror_server.cli import main
from sidemirror_server.operations import exit_codes
from sidemirror_server.settings import BadSettings, load


def told(**environment: str) -> str:
    with pytest.raises(BadSettings) as caught:
        load({}, {f"SIDEMIRROR_{name}": value for name, value in environment.items()})
    return str(caught.value)


def test_all_are_told_in_the_order_of_the_table_with_a_line_each(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail with the first one alone, without values, and with all of them in one line."""
    wrong = {"LOG_LEVEL": "loud", "LIMITS__STREAM_AGE_S": "inf", "HEARTBEAT_S": "soon"}
    for name, value in wrong.items():
        monkeypatch.setenv(f"SIDEMIRROR_{name}", value)
    assert main(["serve"]) == exit_codes.CONFIGURATION
    assert capsys.readouterr().err.splitlines() == [
        "sidemirror: heartbeat_s (SIDEMIRROR_HEARTBEAT_S): Expected a number, got 'soon'",
        "sidemirror: log_level (SIDEMIRROR_LOG_LEVEL): Expected debug, info, warning or error, got 'loud'",
        "sidemirror: limits__stream_age_s (SIDEMIRROR_LIMITS__STREAM_AGE_S): Expected a number, got infinity",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("", "got nothing"),
        ("\x1b[31m\n", "got '\\x1b[31m\\n'"),
        ("x" * 200, f"got '{'x' * 40}…'"),
        (f"sk-ant-api03-{'Ab1_' * 20}", "got 'sk-ant-api03-[redacted:anthropic]'"),
    ],
)
def test_the_value_is_shown_as_a_text_that_may_be_anything(value: str, shown: str) -> None:
    assert shown in told(GRACE_S=value)


def test_a_url_is_not_shown() -> None:
    """It may hold a password."""
    told_of = told(MODEL__BASE_URL="user:hunter2@models.test")
    assert told_of.endswith("Expected a URL that begins with http:// or https://")


@pytest.mark.parametrize("name", ["TENANT_ID", "PROJECT_ID"])
@pytest.mark.parametrize("value", ["*", "acme/*"])
def test_a_pattern_is_no_id(name: str, value: str) -> None:
    """Seen to fail: calls that name nobody were of a tenant whose name is a star."""
    assert told(**{name: value}).endswith(f"Expected one id in printable characters, without * for many, got {value!r}")
    assert getattr(load({}, {f"SIDEMIRROR_{name}": "a/b*c"}), name.lower()) == "a/b*c"
