"""The image: built without an engine and a registry, started read-only as its own user, and it serves."""

import json
import re
from collections.abc import Iterator

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1 import thinking_pb2_grpc as pb_grpc
from tests.architecture.repository import ROOT
from tests.deploy.image import USER, Builder, Image, Running
from tests.deploy.tools import ran
from tests.faults.figures import show

pytestmark = [pytest.mark.long, pytest.mark.timeout(2400)]


EXTRAS = ("embeddings", "mcp", "openai", "qdrant", "telemetry")


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    made = Builder(tmp_path_factory.mktemp("image"))
    yield made
    made("umount", "--all")
    made("rm", "--all")
    made("rmi", "--all", "--force")


@pytest.fixture(scope="module")
def image(builder: Builder) -> Image:
    return Image(builder, builder.build())


def packages_with(*extras: str) -> set[str]:
    """The distributions that uv.lock names for the server with these extras."""
    chosen = [part for extra in extras for part in ("--extra", extra)]
    form = ("--locked", "--no-dev", "--no-emit-project", "--no-hashes", "--no-annotate", "--no-header", "--quiet")
    listed = ran("uv", "export", *form, *chosen, cwd=ROOT)
    return {found.lower() for found in re.findall(r"^([\w.-]+)==", listed, re.MULTILINE)}


def test_it_says_how_it_is_run(image: Image) -> None:
    config = image.config
    assert config["User"] == f"{USER}:{USER}"
    assert config["Entrypoint"] == ["/opt/sidemirror/bin/sidemirror"]
    assert config["Cmd"] == ["serve"]
    # Without a shell: the list form.
    assert config["Healthcheck"]["Test"] == ["CMD", "/opt/sidemirror/bin/sidemirror", "health"]
    labels = {name.rpartition(".")[2] for name in config["Labels"] if name.startswith("org.opencontainers.image.")}
    assert labels >= {"title", "description", "licenses", "source", "version", "revision"}


def test_it_says_what_is_in_it(image: Image) -> None:
    sbom = json.loads((image.root / "opt/sidemirror/sbom.cdx.json").read_text())
    assert sbom["bomFormat"] == "CycloneDX"
    listed = {component["name"].lower().replace("_", "-") for component in sbom["components"]}
    assert listed >= {"grpcio", "protobuf", "asyncpg", "redis", "anthropic", "openai", "opentelemetry-sdk"}
    site, installed = image.site, set(image.packages())
    ours = {"sidemirror-server", "sidemirror-api", "sidemirror-client"}
    assert installed - listed <= ours
    assert not {"pytest", "mypy", "ruff", "grpcio-tools"} & installed
    # Code that would run at every start of Python, whoever brought it: one line of virtualenv's is all.
    assert {path.name for path in site.glob("*.pth")} <= {"_virtualenv.pth", "distutils-precedence.pth"}


def test_a_named_volume_for_the_socket_belongs_to_the_sidecar(image: Image) -> None:
    """An engine gives a new volume the owner and the mode of the folder that it is mounted on. Seen to fail with an
    image without the folder: root's volume, in which no socket can be made."""
    found = (image.root / "run" / "sidemirror").stat()
    assert (found.st_uid, found.st_gid) == (USER, USER)
    assert found.st_mode & 0o050 == 0o050
    assert (image.root / "data").stat().st_uid == USER


def test_every_setting_works_in_it(image: Image) -> None:
    """No package is missing, whatever is chosen."""
    told = image.run(
        *("doctor", "--json", "--address", "127.0.0.1:0", "--tracing", "true", "--metrics", "true"),
        *("--model--base-url", "http://127.0.0.1:1/v1", "--model--name", "x"),
        *("--embedding--name", "x", "--embedding--base-url", "http://127.0.0.1:1/v1"),
    )
    assert [one for one in json.loads(told.stdout)["findings"] if not one.get("ok")] == [], told.stdout


def test_it_serves_read_only_as_its_own_user_without_a_shell(image: Image) -> None:
    running = Running(image, {"SIDEMIRROR_ADDRESS": "127.0.0.1:0"})
    try:
        running.wait()
        assert set(running.status("Uid")) == {str(USER)}
        assert running.status("CapEff") == ["0000000000000000"]
        with grpc.insecure_channel(running.address) as channel:
            stub = pb_grpc.ThinkingServiceStub(channel)
            plan = stub.StartTurn(pb.StartTurnRequest(task="look"), timeout=60).plan
            assert stub.GetTurn(pb.GetTurnRequest(turn_id=plan.turn_id), timeout=60).turn.turn_id == plan.turn_id
        told = image.run("health", SIDEMIRROR_ADDRESS=running.address)
        assert (told.returncode, told.stdout) == (0, "SERVING\n"), told.stderr
        resident_mb = int(running.status("VmRSS")[0]) / 1024
    finally:
        code = running.stop()
    assert code == 0
    assert "Traceback" not in "".join(running.log)
    show(f"{resident_mb:.0f} MB resident while it serves")
    assert resident_mb < 120


def test_it_has_what_it_needs_and_nothing_else(image: Image) -> None:
    """Also that the test's own walls stand: nothing can be written."""
    for program in ("sh", "bash", "dash", "apt", "dpkg", "perl", "pip", "uv", "gcc"):
        assert [path for path in image.files() if path.name == program] == []
    python = "/opt/sidemirror/bin/python3"
    told = image.run(python, "-c", "open('/opt/sidemirror/x', 'w')", entrypoint=False)
    assert "Read-only file system" in told.stderr
    # Authorities, names of hosts, bytecode, and every module of the standard library that there is.
    told = image.run(python, "-c", _USES, entrypoint=False)
    assert (told.returncode, told.stdout) == (0, "127.0.0.1 True sidemirror True\n"), told.stderr
    debian = {path.name for path in (image.root / "var/lib/dpkg/status.d").iterdir()}
    assert debian >= {"libc6", "libssl3"}
    assert (image.root / "usr/share/doc/libc6/copyright").is_file()


_USES = """
import importlib, os, pkgutil, pwd, socket, ssl, sys, sysconfig
for found in pkgutil.iter_modules([sysconfig.get_path("stdlib"), sysconfig.get_path("stdlib") + "/lib-dynload"]):
    if found.name not in ("antigravity", "this", "idlelib", "msilib", "nt"):
        importlib.import_module(found.name)
(name, *_), = [one[4] for one in socket.getaddrinfo("localhost", 1, socket.AF_INET, socket.SOCK_STREAM)]
print(name, ssl.create_default_context().cert_store_stats()["x509_ca"] > 50, pwd.getpwuid(os.getuid()).pw_name,
      os.path.exists(importlib.util.cache_from_source(os.__file__)))
"""


def of_extras(image: Image) -> set[str]:
    """The packages of an image that are there for extras alone. Some that the lock names are for other systems."""
    return (packages_with(*EXTRAS) - packages_with()) & set(image.packages())


def test_what_it_weighs(image: Image) -> None:
    """Prints what each extra adds: the packages that are there for it alone or for it and other extras."""
    whole, of = image.size_bytes(), image.packages()
    without = whole - sum(of[one] for one in of_extras(image))
    added = {extra: packages_with(extra) - packages_with() for extra in EXTRAS}
    lines = [f"{extra} adds {sum(of.get(one, 0) for one in added[extra]) / 1e6:.0f} MB" for extra in EXTRAS]
    show(f"image without extras {without / 1e6:.0f} MB; with all extras {whole / 1e6:.0f} MB: {', '.join(lines)}")
    assert without <= 200e6


def test_it_serves_without_extras(builder: Builder, image: Image) -> None:
    """A second build, which `.ci/run` leaves out."""
    bare = Image(builder, builder.build("EXTRAS="))
    running = Running(bare, {"SIDEMIRROR_ADDRESS": "127.0.0.1:0"})
    try:
        running.wait()
    finally:
        assert running.stop() == 0
    of = image.packages()
    extra = of_extras(image)
    assert set(of) - set(bare.packages()) == extra
    without = bare.size_bytes()
    show(f"built without extras {without / 1e6:.0f} MB")
    assert abs(image.size_bytes() - sum(of[one] for one in extra) - without) < 5e6
