"""A newcomer's first steps from the packages that a release publishes, with no clone: install, serve, report a turn,
and see it in the console. What is published is whole and says one version."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.acceptance.product import Serving, environment, ran
from tests.architecture.repository import ROOT
from tests.clients.test_readmes import first_block
from tests.http.callers import bearing, request

pytestmark = [pytest.mark.slow("packages are built and installed"), pytest.mark.timeout(300)]
_AT_THE_TAG = r"https://github\.com/sidemirror/sidemirror/(?:blob|tree)/v0\.1\.0/([^#]+)"
_TOOL = str(ROOT / "tools/release")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `tools/release` makes of Python."""
    folder = tmp_path_factory.mktemp("release")
    done = ran([sys.executable, _TOOL, str(folder), "python"], environment(), ROOT, 200)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def installed(release: Path, tmp_path: Path) -> Path:
    """The programs of an environment that has the server and the client, each from its wheel."""
    place = tmp_path / "installed"
    # An environment's own variables would lead back to this one.
    env = {name: value for name, value in environment().items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    wheels = sorted(str(wheel) for wheel in (release / "python").glob("sidemirror_*.whl"))
    ours = [wheel for wheel in wheels if re.search(r"_(server|api|client)-", wheel)]
    assert len(ours) == 3
    for command in (
        ["uv", "venv", "--quiet", "--python", sys.executable, str(place)],
        ["uv", "pip", "install", "--quiet", "--python", str(place), *ours],
    ):
        done = ran(command, env, tmp_path, 200)
        assert done.returncode == 0, done.stderr
    found = ran([str(place / "bin/python"), "-c", "import sidemirror_server as s; print(s.__file__)"], env, tmp_path)
    assert found.stdout.startswith(str(place)), found
    return place / "bin"


def test_a_newcomers_first_steps(installed: Path, tmp_path: Path) -> None:
    """Seen to fail when the wheel lacks the console's files."""
    env = {**environment(), "PATH": f"{installed}{os.pathsep}{os.environ['PATH']}"}
    command = [str(installed / "sidemirror"), "serve", "--address", "127.0.0.1:0", "--http-address", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=env) as process:
        try:
            served = Serving(process)
            served.wait_until_serving()
            http = re.search(r"serves HTTP at http://([\d.]+):(\d+)", served.log)
            assert http is not None, served.log
            (tmp_path / "agent.py").write_text(first_block("python"))
            agent = ran(
                [str(installed / "python"), "agent.py"], {**env, "SIDEMIRROR_ADDRESS": served.address}, tmp_path
            )
            assert agent.returncode == 0, agent.stderr
            assert "order" in agent.stdout

            told = ran(
                [str(installed / "sidemirror"), "console", "--http-address", f"{http[1]}:{http[2]}"], env, tmp_path
            )
            assert told.returncode == 0, told.stderr
            link = re.fullmatch(r"http://[^/]+(/console/)#(\S+)", told.stdout.strip())
            assert link is not None, told.stdout
            port = int(http[2])
            assert request(port, link[1], method="GET").status == 200
            page = request(port, "/console/open", b"", bearing(link[2])).json["token"]
            rpc = "/sidemirror.v1.ThinkingService/"
            (turn,) = request(port, f"{rpc}ListTurns", b"{}", bearing(page)).json["turns"]
            asked = json.dumps({"turnId": turn["turnId"]}).encode()
            assert b"no such table: order" in request(port, f"{rpc}GetTurn", asked, bearing(page)).body
        finally:
            process.kill()


def test_what_is_published_is_whole(release: Path) -> None:
    files = sorted(path for path in (release / "python").iterdir())
    kinds = {path.name.removesuffix(".tar.gz").partition("-0")[0]: set[str]() for path in files}
    for path in files:
        kinds[path.name.removesuffix(".tar.gz").partition("-0")[0]].add("wheel" if path.suffix == ".whl" else "source")
    assert set(kinds) >= {"sidemirror_server", "sidemirror_api", "sidemirror_client"}
    assert {name: sorted(found) for name, found in kinds.items() if found != {"wheel", "source"}} == {}
    for wheel in (release / "python").glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            names = packed.namelist()
        assert any(name.endswith(("/LICENSE", "/licenses/LICENSE")) for name in names), wheel.name
        assert not [name for name in names if name.startswith(("tests/", "bench/")) or "__pycache__" in name]
    for line in (release / "SHA256SUMS").read_text().splitlines():
        digest, _, name = line.partition("  ")
        assert hashlib.sha256((release / name).read_bytes()).hexdigest() == digest


def ours_in(described: str) -> list[str]:
    """What the links of a description lead to, of those into the repository: all to the release's tag."""
    # Code has none.
    prose = re.sub(r"(?ms)^ *```.*?^ *```$", "", described)
    links = re.findall(r"\]\(([^)]+)\)", prose)
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    ours = [found[1] for link in links if (found := re.match(_AT_THE_TAG, link))]
    assert [path for path in ours if not (ROOT / path).exists()] == []
    return ours


def test_each_link_of_a_description_leads_to_the_releases_tag(release: Path) -> None:
    """PyPI resolves no relative link. Seen to fail when the packages are built of the pages as they are."""
    counts = {}
    for wheel in (release / "python").glob("*.whl"):
        name = wheel.name.partition("-")[0]
        with zipfile.ZipFile(wheel) as packed:
            (metadata,) = (each for each in packed.namelist() if each.endswith(".dist-info/METADATA"))
            described = packed.read(metadata).decode().partition("\n\n")[2]
        with tarfile.open(release / "python" / f"{name}-0.1.0.tar.gz") as source:
            info = source.extractfile(f"{name}-0.1.0/PKG-INFO")
            assert info is not None
            assert info.read().decode().partition("\n\n")[2] == described
        counts[name] = len(ours_in(described))
    assert counts["sidemirror_client"] >= 4
    assert counts["sidemirror_server"] >= 20


@pytest.mark.parametrize(("part", "form", "needs"), [("typescript", "tgz", "npm"), ("rust", "crate", "cargo")])
def test_so_does_each_link_in_other_registries(part: str, form: str, needs: str, tmp_path: Path) -> None:
    """npm and crates.io would resolve relative links, to the newest commit."""
    if shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed")
    done = ran([sys.executable, _TOOL, str(tmp_path), part], environment(), ROOT, 250)
    assert done.returncode == 0, done.stderr
    counts = {}
    for path in (tmp_path / part).glob(f"*.{form}"):
        with tarfile.open(path) as packed:
            (page,) = (one for one in packed.getnames() if one.count("/") == 1 and one.endswith("/README.md"))
            readme = packed.extractfile(page)
            assert readme is not None
            counts[path.name] = len(ours_in(readme.read().decode()))
    assert len(counts) == 2
    assert counts[f"sidemirror-client-0.1.0.{form}"] >= 4


def test_a_version_that_differs_stops_it(tmp_path: Path) -> None:
    """In a copy of what the command reads first."""
    for name in ran(["git", "ls-files"], environment(), ROOT).stdout.splitlines():
        if re.search(
            r"(pyproject\.toml|package\.json|Cargo\.toml|pom\.xml|go\.mod|Chart\.yaml|CHANGELOG\.md|tools/release)$",
            name,
        ):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    ran(["git", "init", "--quiet"], environment(), tmp_path)
    author = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    ran(["git", *author, "commit", "--quiet", "--allow-empty", "-m", "x"], environment(), tmp_path)
    chart = tmp_path / "deploy/helm/sidemirror/Chart.yaml"
    chart.write_text(re.sub(r"(?m)^version: .*$", "version: 9.9.9", chart.read_text()))
    done = ran([sys.executable, str(tmp_path / "tools/release"), str(tmp_path / "dist"), "go"], environment(), tmp_path)
    assert done.returncode == 1
    assert "deploy/helm/sidemirror/Chart.yaml says 9.9.9" in done.stderr
    chart.write_text(chart.read_text().replace("9.9.9", "0.1.0"))
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n")
    done = ran([sys.executable, str(tmp_path / "tools/release"), str(tmp_path / "dist"), "go"], environment(), tmp_path)
    assert "CHANGELOG.md has no section for 0.1.0" in done.stderr
