"""The exit codes of docs/reference.md, command by command: no sidecar, arguments and settings that are wrong."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from sidemirror_server.cli import main
from sidemirror_server.operations import exit_codes, target
from tests.acceptance import product
from tests.acceptance.documents import table
from tests.operations.test_doctor_places import AS_USUAL
from tests.operations.test_outages import READ, verbs

# Commands that call a sidecar, beside those that only read. FILE is an empty file.
CALLING = {
    **READ,
    "health": ("health",),
    "watch": ("watch",),
    "replay": ("replay", "FILE"),
    "erase": ("erase", "--turn", "t", "--yes"),
    "memory import": ("memory", "import", "FILE"),
    "policy set": ("policy", "set", "--trace-days", "3"),
    "advice off": ("advice", "off", "lessons"),
    "advice on": ("advice", "on", "lessons"),
}
# Commands that call none.
ALONE = {
    "serve": ("serve",),
    "backup": ("backup", "NEW"),
    "restore": ("restore", "FILE"),
    "migrate": ("migrate",),
    "console": ("console",),
    "fingerprint": ("fingerprint", "FILE"),
    "attach": ("attach", "codex"),
    # It serves without a sidecar, and says so in its answers.
    "mcp": ("mcp",),
}
# These read no settings, or tell what is wrong with them among all else.
WITHOUT_SETTINGS = {
    "demo": ("demo",),
    "doctor": ("doctor",),
    "detach": ("detach", "codex"),
    **{f"service {verb}": ("service", verb) for verb in ("install", "update", "status", "remove")},
}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "_CONNECT_S", 0.1)


def made(arguments: tuple[str, ...], folder: Path) -> list[str]:
    (folder / "file").touch(mode=0o600)
    places = {"FILE": str(folder / "file"), "NEW": str(folder / "new")}
    return [places.get(argument, argument) for argument in arguments]


def code_of(arguments: list[str]) -> object:
    try:
        return main(arguments)
    except SystemExit as ended:  # argparse's way
        return ended.code


def test_every_command_is_here() -> None:
    assert {*CALLING, *ALONE, *WITHOUT_SETTINGS} == {*verbs()}


@pytest.mark.parametrize("command", CALLING)
def test_no_sidecar(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail for `health`, which was 1."""
    assert main([*made(CALLING[command], tmp_path), "--address", f"unix:{tmp_path}/none"]) == exit_codes.UNAVAILABLE
    told = capsys.readouterr()
    assert told.out == ""
    assert "sidemirror: nothing can be reached at unix:" in told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize("command", [name for name in CALLING if name not in ("watch", "replay")])
def test_something_else_listens(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A gRPC server that knows none of our calls is no sidecar. Seen to fail when it is 1."""
    other = grpc.server(ThreadPoolExecutor(1))
    address = f"127.0.0.1:{other.add_insecure_port('127.0.0.1:0')}"
    other.start()
    try:
        assert main([*made(CALLING[command], tmp_path), "--address", address]) == exit_codes.UNAVAILABLE
    finally:
        other.stop(None)
    assert "is no sidemirror" in capsys.readouterr().err


@pytest.mark.parametrize("command", [*CALLING, *ALONE, *WITHOUT_SETTINGS])
def test_wrong_arguments(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = {**CALLING, **ALONE, **WITHOUT_SETTINGS}[command]
    with pytest.raises(SystemExit) as ended:
        main([*made(arguments, tmp_path), "--no-such-option"])
    assert ended.value.code == exit_codes.USAGE
    assert capsys.readouterr().err.endswith("unrecognized arguments: --no-such-option\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["usage", "--scope", "acme"],
        ["usage", "--scope", "acme/*"],
        ["usage", "--scope", "acme/shop", "--tenant-id", "acme"],
        ["goals", "retry"],
        ["memory", "search", "--limit", "0"],
        ["policy", "set"],
        ["policy", "set", "--purpose", "dreaming"],
    ],
)
def test_arguments_that_mean_nothing(arguments: list[str], tmp_path: Path) -> None:
    """Seen to fail for `policy set`, which was 64."""
    assert code_of([*arguments, "--address", f"unix:{tmp_path}/none"]) == exit_codes.USAGE


@pytest.mark.parametrize("command", [*CALLING, *ALONE])
def test_a_setting_that_cannot_be_used(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIDEMIRROR_HEARTBEAT_S", "soon")
    monkeypatch.chdir(tmp_path)
    assert main(made({**CALLING, **ALONE}[command], tmp_path)) == exit_codes.CONFIGURATION
    told = "sidemirror: heartbeat_s (SIDEMIRROR_HEARTBEAT_S): Expected a number, got 'soon'\n"
    assert capsys.readouterr() == ("", told)


@pytest.mark.parametrize("command", [*CALLING, "doctor --egress"])
def test_a_variable_that_is_none(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail for every command but `serve`."""
    monkeypatch.setenv("SIDEMIRROR_ADRESS", "x")
    arguments = ["doctor", "--egress"] if command not in CALLING else made(CALLING[command], tmp_path)
    main(arguments if command not in CALLING else [*arguments, "--address", f"unix:{tmp_path}/none"])
    told = "sidemirror: SIDEMIRROR_ADRESS is no setting of this server; did you mean SIDEMIRROR_ADDRESS?\n"
    assert capsys.readouterr().err.startswith(told)


@pytest.mark.parametrize(
    ("url", "field"), [("database-url", "SIDEMIRROR_DATABASE_URL"), ("redis-url", "SIDEMIRROR_REDIS_URL")]
)
def test_egress_of_an_address_that_is_none(url: str, field: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail with a list in which it is an address like any other."""
    assert main(["doctor", "--egress", f"--{url}", "nonsense"]) == exit_codes.CONFIGURATION
    out, err = capsys.readouterr()
    assert out == ""
    assert f"({field}): Expected a URL that begins with " in err


@pytest.mark.skipif(bool(AS_USUAL) and shutil.which("setpriv") is None, reason="root without setpriv")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("serve", exit_codes.CONFIGURATION),
        ("backup", exit_codes.FAILED),
        ("restore", exit_codes.FAILED),
    ],
)
def test_a_data_folder_that_may_not_be_looked_into(command: str, code: int, tmp_path: Path) -> None:
    """Seen to fail with a traceback of `backup`."""
    (tmp_path / "data").mkdir(mode=0)
    given = made(ALONE[command], tmp_path)
    arguments = [*AS_USUAL, str(product.COMMAND), *given, "--data-dir", str(tmp_path / "data")]
    address = {"SIDEMIRROR_ADDRESS": f"unix:{tmp_path}/s"}
    ran = subprocess.run(
        arguments, check=False, capture_output=True, text=True, timeout=60, env={**os.environ, **address}
    )
    assert (ran.returncode, "Traceback" in ran.stderr) == (code, False), ran.stderr
    assert "Permission denied" in ran.stderr


def test_the_list_of_the_reference() -> None:
    codes = {str(value) for name, value in vars(exit_codes).items() if name.isupper()}
    rows = [row[0] for row in table("Exit codes", "code")]
    assert rows == ["0", *sorted(codes, key=int)]
