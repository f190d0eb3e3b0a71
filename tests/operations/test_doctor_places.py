"""What `sidemirror doctor` says of the places that a server would take: ports, sockets, folders. Each of these stopped
`serve` while doctor found nothing to change, or ended doctor itself."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.finding import Finding
from tests.acceptance import product
from tests.architecture.repository import run_tool
from tests.faults.machine import mounted
from tests.faults.process import Process
from tests.faults.sidecars import running
from tests.operations.scrape import metrics_address
from tests.operations.test_doctor import found, found_now, wrong
from tests.wire.access import Certificates


@pytest.mark.parametrize(
    ("setting", "host"), [("health_address", "0.0.0.0"), ("metrics_address", "0.0.0.0"), ("http_address", "127.0.0.1")]
)
def test_a_port_that_something_else_has(setting: str, host: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        (finding,) = wrong(tmp_path, **{setting: f"{host}:{port}"})
    assert finding == Finding(
        "address",
        False,
        f"{setting}: something else listens at {host}:{port}",
        f"choose another {setting}, or stop what listens there",
    )


def test_an_address_of_another_machine(tmp_path: Path) -> None:
    (finding,) = wrong(tmp_path, health_address="192.0.2.7:50052")
    assert finding.found.startswith("health_address: 192.0.2.7:50052 is no address of this machine (")


@pytest.mark.parametrize(
    ("health", "metrics", "taken"),
    [
        ("127.0.0.1:50051", "", "address"),
        ("0.0.0.0:50051", "", "address"),
        ("0.0.0.0:50052", "127.0.0.1:50052", "health_address"),
    ],
)
def test_one_port_for_two_things(health: str, metrics: str, taken: str, tmp_path: Path) -> None:
    findings = wrong(tmp_path, address="127.0.0.1:50051", health_address=health, metrics_address=metrics)
    assert any(finding.found.endswith(f"the port is {taken}'s already") for finding in findings)


def test_an_address_without_a_port(tmp_path: Path) -> None:
    (finding,) = wrong(tmp_path, address="127.0.0.1")
    assert finding.found.endswith("address '127.0.0.1': host:port or unix:/path is expected")


def test_a_host_that_is_not_known(tmp_path: Path) -> None:
    findings = wrong(tmp_path, address="nobody.invalid:50051")
    assert findings[0].found == "nobody.invalid:50051: the host's name cannot be resolved"


def test_a_socket_whose_name_is_taken_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("")
    (finding,) = wrong(tmp_path, socket=str(tmp_path / "s"))
    told = f"socket: {tmp_path / 's'} is something else than a socket"
    assert finding == Finding("address", False, told, "remove it, or choose another socket")


def test_a_socket_path_that_is_too_long(tmp_path: Path) -> None:
    (finding,) = wrong(tmp_path, socket=str(tmp_path / ("x" * 120)))
    assert finding.found.endswith("AF_UNIX path too long")


def test_a_group_that_is_none(tmp_path: Path) -> None:
    (finding,) = wrong(tmp_path, socket=str(tmp_path / "s"), socket_group="no-such-group")
    assert finding.advice == "change or remove this setting"


# Root may look into and write to every folder, unless it goes without that right.
AS_USUAL = (
    ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all", "--"] if os.geteuid() == 0 else []
)


@pytest.mark.skipif(bool(AS_USUAL) and shutil.which("setpriv") is None, reason="root without setpriv")
@pytest.mark.parametrize(
    ("mode", "setting", "below", "told"),
    [
        (0o500, "data-dir", "", "cannot be read and written by user"),
        (0o000, "data-dir", "", "cannot be read and written by user"),
        (0o000, "data-dir", "data", "cannot be read and written by user"),
        (0o500, "socket", "s", "cannot be written to by user"),
    ],
)
def test_a_folder_of_another_mode(mode: int, setting: str, below: str, told: str, tmp_path: Path) -> None:
    """Seen to fail with a traceback where the folder may not be looked into."""
    folder = tmp_path / "folder"
    folder.mkdir(mode=mode)
    places = {"--data-dir": str(tmp_path / "data"), f"--{setting}": str(folder / below)}
    given = [part for pair in places.items() for part in pair]
    command = [*AS_USUAL, str(product.COMMAND), "doctor", "--address", "127.0.0.1:0", *given]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    folder.chmod(0o700)
    assert ran.returncode == 1
    assert told in ran.stdout, ran.stderr
    if setting == "data-dir" and not mode:
        assert "schema" not in ran.stdout
        assert "has the folder" not in ran.stdout
    assert "give that user the folder" in ran.stdout


def test_a_folder_that_others_may_look_into(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o755)
    told = [
        (finding.found, finding.advice)
        for finding in found(tmp_path).findings
        if finding.advice and finding.subject == "store"
    ]
    assert told == [(f"other users may look into {tmp_path / 'data'} (mode 0755)", "chmod 0700")]


def test_a_folder_in_which_others_may_replace_it(tmp_path: Path) -> None:
    (tmp_path / "above").mkdir()
    (tmp_path / "above").chmod(0o777)
    told = [finding for finding in found(tmp_path / "above").findings if finding.advice and finding.subject == "store"]
    (finding,) = told
    assert finding.found.endswith(f"{tmp_path / 'above'} has mode 0777")
    assert finding.advice == "chmod o-w that folder, or choose another data_dir"


@pytest.mark.skipif(bool(AS_USUAL) and shutil.which("setpriv") is None, reason="root without setpriv")
async def test_a_store_that_may_not_be_read(tmp_path: Path) -> None:
    """Seen to fail when it is told as one that is damaged."""
    async with running(tmp_path):
        pass
    for name in ("sidemirror.db", "lock"):
        (tmp_path / "data" / name).chmod(0)
    command = [*AS_USUAL, str(product.COMMAND), "doctor", "--address", "127.0.0.1:0", "--json"]
    ran = await asyncio.to_thread(
        subprocess.run, [*command, "--data-dir", str(tmp_path / "data")], check=False, capture_output=True, text=True
    )
    assert ran.returncode == 1
    (finding,) = [one for one in json.loads(ran.stdout)["findings"] if not one["ok"]]
    assert finding["found"] == f"sidemirror.db cannot be read and written by user {os.geteuid()} (permissions)"
    assert "restore" not in finding["advice"]
    assert "schema" not in ran.stdout
    assert "has the folder" not in ran.stdout


def test_files_that_others_may_read(tmp_path: Path) -> None:
    """Seen to fail when the folder alone was looked at."""
    (tmp_path / "data").mkdir(mode=0o700)
    backup = tmp_path / "data" / "sidemirror.db.bak"
    backup.touch(mode=0o600)
    backup.chmod(0o640)
    told = [
        (finding.found, finding.advice)
        for finding in found(tmp_path).findings
        if finding.advice and finding.subject == "store"
    ]
    assert told == [(f"other users may look into {backup} (mode 0640)", "chmod 0600")]


async def test_what_this_command_shows_as_a_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token file that cannot be used is told of, and the rest all the same. Seen to fail when it ended doctor."""
    (tmp_path / "token").write_text("")
    async with Process(tmp_path) as process:
        monkeypatch.setenv("SIDEMIRROR_TOKEN_FILE", str(tmp_path / "token"))
        findings = await asyncio.to_thread(wrong, tmp_path, address=process.address)
    (finding,) = findings
    assert finding.found.startswith(f"{process.address} is taken, and cannot be asked: SIDEMIRROR_TOKEN_FILE: ")
    assert finding.advice == "mend that file, or unset the variable"


async def test_authorities_for_a_server_that_speaks_no_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Certificates(tmp_path / "tls")
    async with Process(tmp_path) as process:
        monkeypatch.setenv("SIDEMIRROR_CA_FILE", str(made.ca))
        (finding,) = await asyncio.to_thread(wrong, tmp_path, address=process.address)
    assert finding.advice.startswith("unset SIDEMIRROR_CA_FILE: ")


async def test_ports_of_a_sidecar_at_work(tmp_path: Path) -> None:
    """Its own are no reason to change anything."""
    async with Process(tmp_path, {"metrics_address": "127.0.0.1:0"}) as process:
        address = metrics_address(process.text())
        examination = await asyncio.to_thread(found_now, tmp_path, address=process.address, metrics_address=address)
    assert examination.ok
    told = [finding.found for finding in examination.findings]
    assert f"metrics_address: something listens at {address}; a sidemirror is at work" in told


@pytest.mark.parametrize("is_made", [True, False])
def test_a_file_system_that_is_read_only(is_made: bool, tmp_path: Path) -> None:
    """Seen to fail with advice to give the user the folder, and to run this as another one."""
    with mounted(tmp_path / "disk", mebibytes=2) as disk:
        if is_made:
            (disk / "data").mkdir(mode=0o700)
            (disk / "data" / "sidemirror.db").touch()
        assert run_tool("mount", "-o", "remount,ro", str(disk)).returncode == 0
        finding, *_ = wrong(disk)
    assert finding == Finding(
        "store",
        False,
        f"{disk / 'data' if is_made else disk} is on a file system that is mounted read-only",
        "mount it so that it can be written to, or choose another data_dir",
    )


def test_a_start_on_a_full_disk_names_the_setting(tmp_path: Path) -> None:
    """Seen to fail with `The store has no room left.` and no word of where."""
    with mounted(tmp_path / "disk", mebibytes=1) as disk:
        (disk / "ballast").write_bytes(b"x" * (1024 * 1024 - 24 * 1024))
        ran = product.run("serve", "--address", "127.0.0.1:0", "--data-dir", str(disk / "data"), cwd=tmp_path)
    assert ran.returncode == exit_codes.FAILED
    assert ran.stderr.startswith("sidemirror: data_dir (SIDEMIRROR_DATA_DIR): The store has no room left.")
