"""Each package that `tools/release` builds, installed on a machine that has its language and nothing else, and used.

No clone is there, no compiler but the language's own, and none of this machine's caches. The image is built and
started in `tests/deploy/test_image.py`.
"""

import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.bare import Bare, bare
from tests.acceptance.product import Serving, environment, ran
from tests.architecture.repository import ROOT
from tests.clients.harness import Sidecar, sidecar
from tests.clients.languages import CLIENTS
from tests.clients.test_java_package import POM
from tests.clients.test_readmes import RUST, first_block
from tests.deploy.lacking import need
from tests.deploy.tools import tool

pytestmark = pytest.mark.timeout(1800)
_VERSION = "0.1.0"
_MODULES = "github.com/sidemirror/sidemirror"


def released(part: str, folder: Path) -> Path:
    """What `tools/release` makes of one part."""
    done = ran([sys.executable, str(ROOT / "tools/release"), str(folder), part], environment(), ROOT, 900)
    assert done.returncode == 0, done.stderr
    return folder / part


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Sidecar]:
    with sidecar(tmp_path) as running:
        yield running


def with_only(machine: Bare, *programs: str) -> None:
    """Of the programs that build or fetch anything, it has these alone."""
    every = ("git", "uv", "gcc", "python3", "node", "java", "mvn", "go", "cargo")
    assert [name for name in every if machine.has(name)] == list(programs)


@pytest.mark.long
def test_the_wheels_serve_and_a_turn_is_told_of(tmp_path: Path) -> None:
    """What a wheel needs and does not name is there on a developer's machine, and is not here."""
    dist = released("python", tmp_path / "dist")
    with bare(tmp_path, "python3", "python3-venv") as machine:
        with_only(machine, "python3")
        machine.copy(dist, "/dist")
        ours = [f"/dist/{one.name}" for one in dist.glob("*.whl") if re.search(r"_(server|api|client)-", one.name)]
        assert len(ours) == 3
        machine.run("python3", "-m", "venv", "/opt/agent")
        machine.run("/opt/agent/bin/pip", "install", "--quiet", "--disable-pip-version-check", *ours)
        machine.put("/root/agent.py", first_block("python"))
        command = machine.command("/opt/agent/bin/sidemirror", "serve", "--address", "127.0.0.1:0")
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=machine.environment()) as process:
            try:
                served = Serving(process)
                served.wait_until_serving()
                at = served.address
                printed = machine.run("/opt/agent/bin/python", "agent.py", SIDEMIRROR_ADDRESS=at)
                assert "[reflection] " in printed
                told = machine.run("/opt/agent/bin/sidemirror", "turns", "list", SIDEMIRROR_ADDRESS=at)
                assert "count the orders" in told, told
            finally:
                code = served.stop()
    assert code == 0, served.log


@pytest.mark.long
def test_the_npm_packages(beside: Sidecar, tmp_path: Path) -> None:
    need("node", "npm")
    dist = released("typescript", tmp_path / "dist")
    with bare(tmp_path) as machine:
        with_only(machine)
        # Debian's Node.js is too old. Its runtime is one program, and npm a package of itself.
        npm = Path(shutil.which("npm") or "").resolve().parents[1]
        machine.copy(Path(shutil.which("node") or "").resolve(), "/usr/local/bin/node")
        machine.copy(npm, "/usr/local/lib/node_modules/npm")
        (machine.root / "usr/local/bin/npm").symlink_to("../lib/node_modules/npm/bin/npm-cli.js")
        machine.copy(dist, "/dist")
        machine.put("/root/agent/package.json", '{"name": "agent", "private": true, "type": "module"}\n')
        machine.put("/root/agent/agent.mjs", first_block("typescript"))
        packed = sorted(f"/dist/{one.name}" for one in dist.glob("*.tgz"))
        machine.run("npm", "install", "--silent", "--no-audit", "--no-fund", *packed, folder="/root/agent")
        printed = machine.run("node", "agent.mjs", folder="/root/agent", SIDEMIRROR_ADDRESS=beside.address)
    assert "[reflection] " in printed


@pytest.mark.long
def test_the_go_modules(beside: Sidecar, tmp_path: Path) -> None:
    need("go")
    dist = released("go", tmp_path / "dist")
    place = Path(ran(["go", "env", "GOROOT"], environment()).stdout.strip())
    usual = ran(["go", "env", "GOPROXY"], environment()).stdout.strip()
    with bare(tmp_path, mounted={"/usr/local/go": place}) as machine:
        with_only(machine)
        machine.copy(dist, "/dist")
        machine.put("/root/agent/main.go", first_block("go"))
        settings = {"GOPROXY": f"file:///dist,{usual}", "GONOSUMDB": _MODULES, "GOTOOLCHAIN": "local"}

        def go(*arguments: str) -> None:
            machine.run("go", *arguments, folder="/root/agent", timeout_s=900, **settings)

        go("mod", "init", "example.com/agent")
        go("get", f"{_MODULES}/clients/go@v{_VERSION}")
        go("build", "-o", "agent", ".")
        printed = machine.run("/root/agent/agent", SIDEMIRROR_ADDRESS=beside.address)
    assert "[reflection] " in printed


@pytest.mark.long
def test_the_crates(beside: Sidecar, tmp_path: Path) -> None:
    """Until they are on crates.io, whoever has the files unpacks them and names their places."""
    need("cargo", "rustc")
    dist = released("rust", tmp_path / "dist")
    place = Path(ran(["rustc", "--print", "sysroot"], environment()).stdout.strip())
    # Rust's own linker is a C compiler's.
    with bare(tmp_path, "gcc", "libc6-dev", mounted={"/opt/rust": place}) as machine:
        with_only(machine, "gcc")
        names = [f"{name}-{_VERSION}" for name in ("sidemirror-api", "sidemirror-client")]
        for name in names:
            with tarfile.open(dist / f"{name}.crate") as files:
                files.extractall(machine.root / "root", filter="data")
        dependencies = first_block("rust", "toml").replace('{ path = "../sidemirror/clients/rust" }', f'"{_VERSION}"')
        places = "".join(f'{name.rpartition("-")[0]} = {{ path = "/root/{name}" }}\n' for name in names)
        machine.put("/root/agent/Cargo.toml", f"{RUST}{dependencies}[patch.crates-io]\n{places}")
        machine.put("/root/agent/src/main.rs", first_block("rust"))
        machine.copy(CLIENTS / "rust/Cargo.lock", "/root/agent/Cargo.lock")
        machine.run("cargo", "build", "--quiet", folder="/root/agent", timeout_s=1200)
        printed = machine.run("/root/agent/target/debug/readme", SIDEMIRROR_ADDRESS=beside.address)
    assert "[reflection] " in printed


@pytest.mark.long
def test_the_maven_repository(beside: Sidecar, tmp_path: Path) -> None:
    need("mvn", "java")
    dist = released("java", tmp_path / "dist")
    with bare(tmp_path, "openjdk-17-jdk-headless", "maven") as machine:
        with_only(machine, "java", "mvn")
        machine.copy(dist, "/dist")
        pom = POM.format(dependency=first_block("java", "xml"), repository="file:///dist")
        machine.put("/root/agent/pom.xml", pom)
        machine.put("/root/agent/src/main/java/FirstLines.java", first_block("java"))
        maven = ("mvn", "-q", "-B", "compile", "dependency:build-classpath", "-Dmdep.outputFile=classpath")
        machine.run(*maven, folder="/root/agent", timeout_s=900)
        classpath = (machine.root / "root/agent/classpath").read_text()
        assert f"/root/.m2/repository/dev/sidemirror/sidemirror-client/{_VERSION}/" in classpath
        printed = machine.run(
            "java", "-cp", f"target/classes:{classpath}", "FirstLines",
            folder="/root/agent", SIDEMIRROR_ADDRESS=beside.address,
        )  # fmt: skip
    assert "[reflection] " in printed


@pytest.mark.long
def test_the_chart(tmp_path: Path) -> None:
    """The example's chart, with the packed one in the place of the folder beside it, and helm alone."""
    helm = tool("helm")
    dist = released("chart", tmp_path / "dist")
    with bare(tmp_path) as machine:
        with_only(machine)
        machine.copy(Path(helm), "/usr/local/bin/helm")
        machine.copy(ROOT / "deploy/helm/example", "/root/example")
        shutil.rmtree(machine.root / "root/example/charts", ignore_errors=True)
        machine.copy(dist / f"sidemirror-{_VERSION}.tgz", f"/root/example/charts/sidemirror-{_VERSION}.tgz")
        rendered = machine.run("helm", "template", "agent", "/root/example", "--kube-version", "1.31")
    assert re.search(r"image: \S*sidemirror:", rendered), rendered[-2000:]
    assert "name: sidemirror\n" in rendered
