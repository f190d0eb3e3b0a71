"""A store of another package: the example keeps its clauses, and a sidecar serves with it."""

import os
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import goal_reflection_pb2 as goal_pb
from sidemirror.v1 import sidecar_pb2
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.assembly.custom_stores import check, opener_of
from sidemirror_server.assembly.stores import PORTS
from sidemirror_server.settings import BadSettings
from tests.architecture.repository import ROOT
from tests.wire.calls import TIMEOUT_S
from tests.wire.goals import failed_goal, goals, reflections, report, reports
from tests.wire.sidecar import sidecar
from tests.wire.waiting import until_found

EXAMPLE = ROOT / "examples" / "custom-store"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder to import from: the example with its entry point, and the suites as a package."""
    subprocess.run([sys.executable, ROOT / "tools" / "conformance", tmp_path / "made"], check=True)
    place = tmp_path / "made"
    (place / "sidemirror_dict_store").symlink_to(EXAMPLE / "sidemirror_dict_store")
    about = place / "sidemirror_dict_store-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: sidemirror-dict-store\nVersion: 0.1.0\n")
    (about / "entry_points.txt").write_text("[sidemirror.stores]\ndict = sidemirror_dict_store:opened\n")
    return place


def test_the_example_keeps_every_clause(installed: Path) -> None:
    """Run as its own package would, without our tests on its path. Seen to fail when the example keeps four
    reflections of a goal."""
    options = ("-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "--rootdir", EXAMPLE, "-c", os.devnull)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, EXAMPLE / "tests"],
        cwd=installed, env={**os.environ, "PYTHONPATH": str(installed)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    assert "12 passed" in ran.stdout


def test_a_sidecar_serves_with_it(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reflections are in the package's store, and the main store has none of them."""
    monkeypatch.syspath_prepend(str(installed))
    with (
        sidecar(tmp_path / "data", settings={"store": "dict"}) as server,
        goals(server) as stub,
        grpc.insecure_channel(server.address) as channel,
    ):
        report(stub, failed_goal("acme"))
        # Until then its job could be done again, by the second sidecar.
        assert until_found(lambda: reports(stub, "acme", report_state=goal_pb.GOAL_REPORT_STATE_DONE))
        assert reflections(stub, "acme")
        info = SidecarServiceStub(channel).GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=TIMEOUT_S)
        told = [(store.kind, store.holds) for store in info.stores]
        assert told == [("sqlite", "everything"), ("dict", "goal reflections")]
    with sidecar(tmp_path / "data") as server, goals(server) as stub:
        assert reflections(stub, "acme") == []


@pytest.mark.parametrize(
    ("ports", "why"),
    [
        (
            ("memories",),
            "'mine' offers memories without .*memory_search.*; only goal_reflections and memory_search can",
        ),
        (("goal_reflections", "prices"), "'mine' offers prices; there is no such port"),
        ((), "'mine' offers no port"),
    ],
)
def test_ports_that_cannot_stand_alone_are_refused(ports: tuple[str, ...], why: str) -> None:
    with pytest.raises(BadSettings, match=why):
        check("mine", ports, PORTS)


def test_ports_that_can() -> None:
    check("mine", PORTS, PORTS)
    check("mine", ("goal_reflections",), PORTS)
    check("mine", ("memory_search",), PORTS)


def test_an_unknown_store_is_named(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(installed))
    with pytest.raises(
        BadSettings, match=r"store \(SIDEMIRROR_STORE\): there is no 'cockatoo'; there are dict, qdrant"
    ):
        opener_of("cockatoo")
