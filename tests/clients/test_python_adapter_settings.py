"""What an adapter refuses when it is made, so that no run of an agent ends by it."""

from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_client import connect_sync
from sidemirror_client.adapter import Home, Settings


async def judged(answer: str) -> bool:
    return True


@pytest.mark.parametrize("level", ["HIGH", "high", "THINK_LEVEL_HIGH", " High ", pb.THINK_LEVEL_HIGH, 4])
def test_a_level_may_be_written_in_several_ways(level: Any) -> None:
    assert Settings(level=level).level == pb.THINK_LEVEL_HIGH


@pytest.mark.parametrize("level", ["hihg", "THINK_LEVEL_HGIH", "", 42, -1])
def test_a_level_that_is_none_is_refused_with_those_that_are(level: Any) -> None:
    with pytest.raises(ValueError, match=r"^level: one of OFF, LOW, MEDIUM, HIGH is expected, not "):
        Settings(level=level)


@pytest.mark.parametrize(
    ("setting", "value", "error"),
    [
        ("level", None, TypeError),
        ("level", True, TypeError),
        ("budget", {"max_usd": 1}, TypeError),
        ("budget", pb.TurnBudget, TypeError),
        ("lessons", "yes", TypeError),
        ("advice", 0, TypeError),
        ("lessons_s", True, TypeError),
        ("advice_s", None, TypeError),
        ("critique_s", "10", TypeError),
        ("critique_s", -1, ValueError),
        ("advice_s", float("nan"), ValueError),
        ("lessons_s", float("inf"), ValueError),
        ("lessons_s", 1e9, ValueError),
        ("revisions", -1, ValueError),
        ("revisions", 1.5, TypeError),
        ("revisions", False, TypeError),
        ("redact", "[a-z]", TypeError),
        ("outcome", "x", TypeError),
        ("outcome", judged, TypeError),
        ("goal_id", 3, TypeError),
        ("goal_id", "g" * 129, ValueError),
        ("session_id", None, TypeError),
        ("session_id", "a\nb", ValueError),
    ],
)
def test_a_wrong_setting_is_refused_by_its_name(setting: str, value: Any, error: type[Exception]) -> None:
    wrong: dict[str, Any] = {setting: value}
    with pytest.raises(error, match=rf"^{setting}: .* expected, "):
        Settings(**wrong)


def test_what_is_refused_is_shown_in_short() -> None:
    with pytest.raises(TypeError) as refused:
        Settings(outcome=["x" * 10_000])  # type: ignore[arg-type]  # a wrong type is what is tried
    assert len(str(refused.value)) < 200


def test_zero_and_whole_seconds_are_times() -> None:
    assert Settings(lessons_s=0, advice_s=2, revisions=0).advice_s == 2


@pytest.mark.parametrize("settings", ["high", Settings, {"level": "HIGH"}, 3])
def test_settings_are_settings(settings: Any) -> None:
    with pytest.raises(TypeError, match=r"^settings: an instance of Settings is expected, not "):
        Home(None, settings)


def test_a_client_is_one_of_connect() -> None:
    wrong: Any = "https://sidecar.example"
    with pytest.raises(TypeError, match=r"^client: an instance of Sidemirror is expected, not 'https://"):
        Home(wrong, None)
    with connect_sync() as sync, pytest.raises(TypeError, match=r"^client: an instance of Sidemirror is expected"):
        Home(sync, None)  # type: ignore[arg-type]  # a wrong type is what is tried


def test_an_environment_that_leads_nowhere_is_refused_before_the_first_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Seen to fail while the client was made at the first run, which such an environment ended."""
    monkeypatch.setenv("SIDEMIRROR_CA_FILE", str(tmp_path / "nowhere.pem"))
    with pytest.raises(FileNotFoundError, match=r"nowhere\.pem"):
        Home(None, None)
    monkeypatch.delenv("SIDEMIRROR_CA_FILE")
    monkeypatch.setenv("SIDEMIRROR_ADDRESS", "localhost")
    with pytest.raises(ValueError, match="'localhost' of Sidemirror"):
        Home(None, None)
