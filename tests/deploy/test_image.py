"""The image: built without an engine and a registry, started read-only as its own user, and it serves."""

import json
from collections.abc import Iterator

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1 import thinking_pb2_grpc as pb_grpc
from tests.deploy.image import USER, Builder, Image, Running
from tests.faults.figures import show

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    builder = Builder(tmp_path_factory.mktemp("image"))
    yield Image(builder, builder.build())
    builder("umount", "--all")
    builder("rm", "--all")
    builder("rmi", "--all", "--force")


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
    site = next((image.root / "opt/sidemirror/lib").glob("python3*/site-packages"))
    installed = {
        path.name.partition("-")[0].lower().replace("_", "-") for path in site.glob("*.dist-info") if path.is_dir()
    }
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
    whole, own = image.size_bytes(), image.size_bytes("opt", "sidemirror")
    show(
        f"image {whole / 1e6:.0f} MB, of which {own / 1e6:.0f} MB are the sidecar and its packages; "
        f"{resident_mb:.0f} MB resident while it serves"
    )
    assert own < 250e6
    assert resident_mb < 120


def test_nothing_of_it_can_be_written_and_no_shell_started(image: Image) -> None:
    """That the test's own walls stand."""
    python = "/opt/sidemirror/bin/python3"
    told = image.run(python, "-c", "open('/opt/sidemirror/x', 'w')", entrypoint=False)
    assert "Read-only file system" in told.stderr
    told = image.run(python, "-c", "import os; os.execv('/bin/sh', ['sh'])", entrypoint=False)
    assert "Permission denied" in told.stderr
