"""`sidemirror doctor`: what it finds, and what it says to change."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any

import grpc
import pytest

from sidemirror_server.operations import address_check, clock_check
from sidemirror_server.operations.doctor import examine
from sidemirror_server.operations.doctor_report import show
from sidemirror_server.operations.finding import Examination, Finding
from sidemirror_server.vocabulary.clock import SystemClock
from tests.acceptance import product
from tests.architecture.repository import ROOT
from tests.faults.clocks import SetClock
from tests.faults.process import Process
from tests.faults.sidecars import running
from tests.operations.scrape import metrics_address

NOW_US = 1_800_000_000_000_000


def found(folder: Path, *, clock_us: int = NOW_US, environment: dict[str, str] | None = None, **flags: str) -> Any:
    given = {"address": "127.0.0.1:0", "data_dir": str(folder / "data"), **flags}
    return examine(given, SetClock(clock_us), environment or {})


def wrong(folder: Path, **more: Any) -> list[Finding]:
    return [finding for finding in found(folder, **more).findings if not finding.ok]


def found_now(folder: Path, **flags: Any) -> Any:
    """With the clock of a sidecar that runs."""
    return found(folder, clock_us=SystemClock().now_us(), **flags)


def wrong_now(folder: Path, **flags: Any) -> list[Finding]:
    return [finding for finding in found_now(folder, **flags).findings if not finding.ok]


def test_a_folder_that_is_not_made_yet_is_well_and_stays_unmade(tmp_path: Path) -> None:
    examination = found(tmp_path)
    assert examination.ok
    assert [(finding.subject, finding.ok) for finding in examination.findings] == [
        ("store", True),
        ("store", True),
        ("address", True),
        ("store", True),
        ("clock", True),
        ("serves", True),
        ("access", True),
    ]
    assert "not made yet, schema 0 of " in examination.findings[0].found
    assert examination.findings[2].found == "127.0.0.1:0 is free: no sidecar runs there"
    assert list(tmp_path.iterdir()) == []


def test_a_slow_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 0.1 s on, where SidemirrorStoreSlow fires; and it is timed without leaving anything. Seen to fail when a
    quarter of a second is asked for."""
    (tmp_path / "data").mkdir(mode=0o700)
    assert wrong(tmp_path) == []
    keeps = os.fsync

    def slowly(file: int) -> None:
        time.sleep(0.11)
        keeps(file)

    monkeypatch.setattr("sidemirror_server.storage.sqlite.examine.os.fsync", slowly)
    (slow,) = wrong(tmp_path)
    assert slow.subject == "store"
    assert slow.found.startswith("the disk takes 1")
    assert list((tmp_path / "data").iterdir()) == []


def test_settings_and_where_they_come_from(tmp_path: Path) -> None:
    environment = {"SIDEMIRROR_HEARTBEAT_S": "7", "SIDEMIRROR_GRACE_S": "8", "ANTHROPIC_API_KEY": "sk-very-secret"}
    examination = found(tmp_path, environment=environment, grace_s="9")
    told = {setting.name: (setting.value, setting.source) for setting in examination.settings}
    assert told["heartbeat_s"] == (7.0, "environment")
    assert told["grace_s"] == (9.0, "flag")
    assert told["tenant_id"] == ("default", "default")
    assert "sk-very-secret" not in repr(examination)
    url = "https://me:hunter2@models.test/v1"
    examination = found(tmp_path, environment={"SIDEMIRROR_MODEL__BASE_URL": url, "SIDEMIRROR_MODEL__NAME": "m"})
    told = {setting.name: (setting.value, setting.source) for setting in examination.settings}
    assert told["model__base_url"] == ("https://me:[redacted:url_password]@models.test/v1", "environment")
    assert "hunter2" not in repr(examination)


def test_the_table_names_the_variable_of_a_providers_sdk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    environment = {"ANTHROPIC_API_KEY": "sk-x", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "SIDEMIRROR_GRACE_S": "8"}
    show(found(tmp_path, environment=environment))
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    for row in (
        ["model__base_url", "http://127.0.0.1:1", "ANTHROPIC_BASE_URL"],
        ["model__api_key", "[secret]", "ANTHROPIC_API_KEY"],
        ["grace_s", "8.0", "environment"],
    ):
        assert row in rows


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("SIDEMIRROR_DATADIR", "did you mean SIDEMIRROR_DATA_DIR?"),
        ("SIDEMIRROR_LIMITS_MESSAGE_BYTES", "did you mean SIDEMIRROR_LIMITS__MESSAGE_BYTES?"),
        ("SIDEMIRROR_TOKEN", "did you mean SIDEMIRROR_TOKEN_FILE?"),
        ("SIDEMIRROR_CA", "did you mean SIDEMIRROR_CA_FILE?"),
        ("SIDEMIRROR_QQQ", "remove it, or look for its name in the table of settings"),
    ],
)
def test_misspelt_names(name: str, advice: str, tmp_path: Path) -> None:
    """Seen to fail: SIDEMIRROR_STORE was said to be meant, since what clients read was not among the names."""
    (finding,) = wrong(tmp_path, environment={name: "1"})
    assert finding == Finding("settings", False, f"{name} is no setting of this server and does nothing", advice)


def test_settings_that_cannot_be_read(tmp_path: Path) -> None:
    """Seen to fail with both in one finding."""
    examination = found(tmp_path, heartbeat_s="soon", grace_s="x")
    assert (examination.ok, examination.settings) == (False, ())
    assert [one.found.partition(":")[0] for one in examination.findings] == [
        "heartbeat_s (SIDEMIRROR_HEARTBEAT_S)",
        "grace_s (SIDEMIRROR_GRACE_S)",
    ]


def test_an_address_that_is_not_loopback(tmp_path: Path) -> None:
    (finding,) = wrong(tmp_path, address="0.0.0.0:0")
    assert finding.advice == "choose an address on loopback or a socket, or set up TLS and tokens"


def test_an_address_where_nobody_listens_and_that_cannot_be_had(tmp_path: Path) -> None:
    """As a port below 1024 without the right to it."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{holder.getsockname()[1]}"
        (finding,) = wrong(tmp_path, address=address)
    assert (finding.found, finding.advice) == (f"address '{address}': it is in use", "choose another address")


def test_an_address_that_something_else_has(tmp_path: Path) -> None:
    """A gRPC server without our service, and a server of HTTP/1: their answers prove it."""
    other = grpc.server(ThreadPoolExecutor(1))
    port = other.add_insecure_port("127.0.0.1:0")
    other.start()
    try:
        (finding,) = wrong(tmp_path, address=f"127.0.0.1:{port}")
    finally:
        other.stop(None)
    assert finding.found == f"127.0.0.1:{port} is taken by something that is no sidemirror (UNIMPLEMENTED)"

    class Refuses(StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

    with ThreadingTCPServer(("127.0.0.1", 0), Refuses) as web:
        port = web.server_address[1]
        serving = threading.Thread(target=web.serve_forever)
        serving.start()
        try:
            (finding,) = wrong(tmp_path, address=f"127.0.0.1:{port}")
        finally:
            web.shutdown()
            serving.join()
    assert finding.found == f"127.0.0.1:{port} is taken by something that is no sidemirror (UNAVAILABLE)"


def test_an_address_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail when a deadline proves that it is no sidemirror, with the advice to stop it."""
    monkeypatch.setattr(address_check, "_ANSWERS_S", (0.2, 0.3))
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        examination = found(tmp_path, address=address, metrics_address=address)
    (finding,) = [one for one in examination.findings if not one.ok and "metrics_address" not in one.found]
    assert finding.found == f"{address}: something listens, and did not answer in 0.5 s (DEADLINE_EXCEEDED)"
    assert "do not stop it for this" in finding.advice


def test_an_address_that_takes_no_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a process that stands still, once its queue is full. Seen to fail with the advice to choose another
    address."""
    monkeypatch.setattr(address_check, "_ANSWERS_S", (0.2, 0.3))
    with socket.create_server(("127.0.0.1", 0), backlog=0) as other, contextlib.ExitStack() as waiting:
        place = other.getsockname()
        with contextlib.suppress(TimeoutError):
            while True:
                waiting.enter_context(socket.create_connection(place, 0.2))
        (finding,) = wrong(tmp_path, address=f"127.0.0.1:{place[1]}")
    assert finding.found == f"127.0.0.1:{place[1]} took no connection in 0.2 s"
    assert "do not stop it for this" in finding.advice


async def test_a_sidecar_that_stands_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process has the folder and listens; nothing says to stop it, or what listens at its metrics. Seen to fail
    with "stop that process" and "stop what listens there"."""
    monkeypatch.setattr(address_check, "_ANSWERS_S", (0.2, 0.3))
    async with Process(tmp_path, {"metrics_address": "127.0.0.1:0"}) as process:
        metrics = metrics_address(process.text())
        process.signal(signal.SIGSTOP)
        try:
            examination = await asyncio.to_thread(found_now, tmp_path, address=process.address, metrics_address=metrics)
        finally:
            process.signal(signal.SIGCONT)
    (silent,) = [one for one in examination.findings if not one.ok]
    assert silent.found.startswith(f"{process.address}: something listens, and did not answer in 0.5 s")
    told = [one.found for one in examination.findings]
    assert f"process {process.pid} has the folder, and is what listens there: a sidecar, busy or hung" in told
    assert f"metrics_address: something listens at {metrics}; whose it is is not known" in told
    for one in examination.findings:
        assert "stop that process" not in one.advice
        assert "stop what" not in one.advice


async def test_a_sidecar_that_answers_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked again. Seen to fail when it is asked once."""
    monkeypatch.setattr(address_check, "_ANSWERS_S", (0.000_001, 30.0))
    async with Process(tmp_path) as process:
        examination = await asyncio.to_thread(found_now, tmp_path, address=process.address)
    assert examination.ok
    assert f"{process.address} is served by sidemirror 0.1.0, which was slow to answer" in [
        one.found for one in examination.findings
    ]


async def test_a_sidecar_at_work_is_well(tmp_path: Path) -> None:
    async with Process(tmp_path) as process:
        examination = await asyncio.to_thread(found_now, tmp_path, address=process.address)
        told = [finding.found for finding in examination.findings]
        assert examination.ok
        assert f"{process.address} is served by sidemirror 0.1.0" in told
        assert f"process {process.pid} has the folder" in told
        elsewhere = await asyncio.to_thread(wrong, tmp_path, address="127.0.0.1:0")
        assert [finding.found for finding in elsewhere] == [
            f"process {process.pid} has the folder, and no sidemirror answers at the address"
        ]
        other = await asyncio.to_thread(wrong_now, tmp_path / "other", address=process.address)
        (finding,) = other
        assert finding.advice.startswith("choose another address, or that server's data_dir; ")
        async with Process(tmp_path / "second") as second:
            both = await asyncio.to_thread(wrong_now, tmp_path / "second", address=process.address)
            assert [finding.found for finding in both] == [
                f"process {second.pid} has the folder, and the sidemirror at the address is another process"
            ]
        assert process.running
    assert (await asyncio.to_thread(found, tmp_path)).ok


async def make_store(folder: Path) -> Path:
    async with running(folder):
        pass
    return folder / "data" / "sidemirror.db"


async def test_a_damaged_file(tmp_path: Path) -> None:
    """Seen to fail without the quick check."""
    file = await make_store(tmp_path)
    raw = bytearray(file.read_bytes())
    raw[4096 * 3 : 4096 * 6] = b"\xff" * 4096 * 3
    file.write_bytes(raw)
    findings = wrong(tmp_path)
    assert findings
    assert {finding.advice for finding in findings} == {
        "stop the server, keep a copy of the folder, and restore a backup"
    }


async def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    file = await make_store(tmp_path)
    file.write_bytes(b"nothing of the kind" * 1_000)
    (finding,) = wrong(tmp_path)
    assert finding.found == "sidemirror.db cannot be read: file is not a database"
    assert "schema" not in repr(found(tmp_path).findings)


async def test_a_newer_schema(tmp_path: Path) -> None:
    file = await make_store(tmp_path)
    with sqlite3.connect(file) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (999, 'later', 'x', 0)")
    connection.close()
    (finding,) = wrong(tmp_path)
    assert "migration 0999_later is newer than this server" in finding.found
    assert finding.advice == "use the server that has migrated this store, or another store"


def test_a_folder_that_cannot_be_one(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    (finding,) = wrong(tmp_path)
    assert finding == Finding("store", False, f"{tmp_path / 'data'} is no folder", "choose another data_dir")
    # Seen to fail with a store that is not made yet, free room and nobody who has it.
    assert [one for one in found(tmp_path).findings if one.subject == "store" and one.ok] == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert [finding.found for finding in wrong(tmp_path)] == [
        f"{tmp_path} cannot be read and written by user {os.geteuid()}"
    ]


async def test_clocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has set a wrong clock is not told to set it again. Seen to fail with the order to set it alone."""
    from sidemirror.v1 import thinking_pb2 as pb

    (finding,) = wrong(tmp_path, clock_us=1_000_000)
    assert finding.found == "the clock is before 2026"
    async with running(tmp_path, clock=SetClock(NOW_US)) as served:
        await served.stub.StartTurn(pb.StartTurnRequest(turn_id="t"))
    assert wrong(tmp_path, clock_us=NOW_US - 5_000_000) == []
    told = "the newest record is 60 s ahead of the clock, which says 2027-01-15 07:59:00 UTC: "
    goes = "this sentence goes at 2027-01-15 08:00:00 UTC"
    monkeypatch.setattr(clock_check, "is_in_step", lambda: False)
    (finding,) = wrong(tmp_path, clock_us=NOW_US - 60_000_000)
    assert finding.found == f"{told}it was wrong when that was written, or is now"
    assert finding.advice.startswith("hold it against `date --utc` of a machine that is right: ")
    assert finding.advice.endswith(goes)
    monkeypatch.setattr(clock_check, "is_in_step", lambda: True)
    (finding,) = [one for one in found(tmp_path, clock_us=NOW_US - 60_000_000).findings if one.subject == "clock"]
    assert finding.ok
    kept = "something keeps it in step (NTP), so it was wrong when that was written"
    assert finding.found == f"{told}{kept}; {goes}"


def test_what_has_to_be_changed_comes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail with the findings in the order of the examination."""
    well, wrong_one = (
        Finding("store", ok=True, found="there"),
        Finding("clock", ok=False, found="wrong", advice="set it"),
    )
    show(Examination(ok=False, settings=(), findings=(well, wrong_one)))
    assert capsys.readouterr().out.splitlines() == [
        "!!   clock: wrong",
        "     → set it",
        "ok   store: there",
        "1 line says what to change.",
    ]


def test_the_reference_has_each_field_of_a_finding() -> None:
    """Seen to fail without `about`, `served` and `is_silent`, which no page named."""
    page = (ROOT / "docs" / "reference.md").read_text("utf-8")
    rows = page.partition("| field of a finding |")[2].partition("\n\n")[0].splitlines()[2:]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert named == list(address_check.AddressAnswer.__struct_fields__)


def test_the_command(tmp_path: Path) -> None:
    ran = product.run("doctor", "--address", "127.0.0.1:0", "--ask-models", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = ran.stdout.splitlines()
    # `??` is of a machine whose clock nothing keeps in step. That no sidecar runs was seen to be called ok.
    told = [line for line in lines if not line.startswith(("??   clock: ", "     "))]
    assert told[0] == "--   address: 127.0.0.1:0 is free: no sidecar runs there"
    assert told[1].startswith("ok   ")
    verdict = next(number for number, line in enumerate(lines) if line.startswith("Nothing to change"))
    assert lines[verdict - 1].startswith("ok   model: rules ")
    assert [line.split()[1] for line in lines[verdict:] if line.startswith("│ ")] == ["address"]
    assert lines[-1] == "All other settings have their defaults: --all shows them."
    ran = product.run("doctor", "--address", "127.0.0.1:0", "--all", cwd=tmp_path)
    assert "│ data_dir" in ran.stdout
    assert list(tmp_path.iterdir()) == []
    ran = product.run("doctor", "--address", "127.0.0.1:0", "--json", cwd=tmp_path, SIDEMIRROR_ADRESS="x")
    told = json.loads(ran.stdout)
    assert ran.returncode == 1
    assert told["ok"] is False
    assert told["findings"][0]["advice"] == "did you mean SIDEMIRROR_ADDRESS?"
    assert {"name": "address", "value": "127.0.0.1:0", "source": "flag"} in told["settings"]
