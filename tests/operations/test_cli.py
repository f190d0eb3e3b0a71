"""What the command line refuses, and how it says so: exit code, the setting's name, and no traceback."""

import importlib.metadata
from pathlib import Path

import pytest

from sidemirror_server.cli import main
from sidemirror_server.settings import BadSettings, load


@pytest.mark.parametrize(
    ("flags", "code", "told"),
    [
        (
            ["--address", "localhost"],
            78,
            "SIDEMIRROR_ADDRESS): address 'localhost': host:port or unix:/path is expected",
        ),
        (["--address", "127.0.0.1:65536"], 78, "SIDEMIRROR_ADDRESS): address '127.0.0.1:65536': host:port or"),
        (["--address", "0.0.0.0:0"], 78, "SIDEMIRROR_ADDRESS): address '0.0.0.0:0': only loopback"),
        (["--address", "unix:"], 78, "SIDEMIRROR_ADDRESS): address 'unix:': host:port or unix:/path is expected"),
        (["--data-dir", ""], 78, "SIDEMIRROR_DATA_DIR): Expected the path of a folder, got nothing"),
        (
            ["--limits--message-bytes", "2147483648"],
            78,
            "SIDEMIRROR_LIMITS__MESSAGE_BYTES): Expected a whole number, at most 2147483647",
        ),
        (
            ["--limits--streams-per-connection", "2147483648"],
            78,
            "SIDEMIRROR_LIMITS__STREAMS_PER_CONNECTION): Expected",
        ),
        (["--socket", "/dev/null/s.sock"], 1, "socket '/dev/null/s.sock': "),
        (
            ["--address", "unix:/tmp/one.sock", "--socket", "/tmp/two.sock"],
            78,
            "SIDEMIRROR_SOCKET): socket '/tmp/two.sock': address 'unix:/tmp/one.sock' is a socket already",
        ),
        (["--metrics-address", "127.0.0.1:99999"], 78, "SIDEMIRROR_METRICS_ADDRESS): address '127.0.0.1:99999': host"),
        (["--metrics-address", "9464"], 78, "SIDEMIRROR_METRICS_ADDRESS): address '9464': host:port or"),
        (["--limits--stream-age-s", "inf"], 78, "SIDEMIRROR_LIMITS__STREAM_AGE_S): Expected a number, got infinity"),
        (["--spend--usd-per-day", "inf"], 78, "SIDEMIRROR_SPEND__USD_PER_DAY): Expected a number, got infinity"),
    ],
)
def test_what_serve_cannot_use(
    flags: list[str], code: int, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--data-dir", str(tmp_path / "data"), "--address", "127.0.0.1:0", *flags]) == code
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert told in lines[0]
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "--heartbeat", "5"],
        ["replay", "file", "--reflect-every", "1000001"],
        ["replay", "file", "--reflect-every", "-1"],
        ["replay", "file", "--limit", "-1"],
        ["replay", "file", "--limit", "x"],
    ],
)
def test_arguments_that_mean_nothing(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert arguments[-2] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["serve", "--adress", "x"], "unrecognized arguments: --adress x; did you mean --address?\n"),
        (["doctor", "--datadir=x"], "unrecognized arguments: --datadir=x; did you mean --data-dir?\n"),
        (["serve", "--qqq"], "unrecognized arguments: --qqq\n"),
        (["demo", "x"], "unrecognized arguments: x\n"),
        (["health", "--data-dir", "x"], "unrecognized arguments: --data-dir x\n"),
        (
            ["serve", "--model--api-key", "hunter2"],
            "--model--api-key is no flag, which everybody on the machine could read: set SIDEMIRROR_MODEL__API_KEY\n",
        ),
    ],
)
def test_a_flag_that_is_none(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f"sidemirror: error: {told}")


@pytest.mark.parametrize(
    "command",
    [["health"], ["usage"], ["watch"], ["goals", "list"], ["memory", "search"], ["memory", "show", "x"]],
    ids="-".join,
)
def test_an_address_that_is_none(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """gRPC would look for a host of that name, at port 443."""
    assert main([*command, "--address", "foo"]) == 78
    assert capsys.readouterr().err == "sidemirror: address 'foo': host:port or unix:/path is expected\n"
    monkeypatch.setenv("SIDEMIRROR_ADDRESS", "bar:http")
    assert main(command) == 78
    assert capsys.readouterr().err == "sidemirror: address 'bar:http': host:port or unix:/path is expected\n"


@pytest.mark.parametrize("command", ["health", "usage", "goals list", "memory search"])
def test_nobody_listens(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--address", "127.0.0.1:1"]) == 69
    told = capsys.readouterr().err.lower()
    assert told.startswith("sidemirror: nothing can be reached at 127.0.0.1:1 (connection refused")
    assert told.endswith("). is `sidemirror serve` running there?\n")


def test_the_help_of_serve_names_each_variable_and_default(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    told = capsys.readouterr().out
    assert "SIDEMIRROR_HEARTBEAT_S (default: 20.0)" in told
    assert "SIDEMIRROR_LIMITS__EVENTS_PER_TURN (default: 10000)" in told
    assert "API_KEY" not in told


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"sidemirror {importlib.metadata.version('sidemirror-server')}\n"


@pytest.mark.parametrize("level", ["debug", "INFO", "Warning"])
def test_the_log_level_in_any_case(level: str) -> None:
    assert load({}, {"SIDEMIRROR_LOG_LEVEL": level}).log_level == level.lower()
    assert load({"log_level": level}, {}).log_level == level.lower()


@pytest.mark.parametrize(("name", "least"), [("heartbeat_s", 0.01), ("abandon_after_s", 1.0)])
def test_the_least_that_makes_sense(name: str, least: float) -> None:
    assert getattr(load({name: str(least)}, {}), name) == least
    with pytest.raises(BadSettings, match=name):
        load({name: str(least * 0.9)}, {})
