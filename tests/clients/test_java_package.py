"""The Java package: built by one command into a Maven repository, and used from there by a project elsewhere."""

import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.acceptance.product import environment
from tests.clients.harness import ROOT, sidecar
from tests.clients.languages import LANGUAGES, ready
from tests.clients.test_readmes import first_block

pytestmark = [pytest.mark.slow("the Java client is packaged"), pytest.mark.timeout(600)]
# The repository's own, for projects elsewhere too.
_MACHINE = (ROOT / ".mvn/jvm.config").read_text().strip()
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId>
  <artifactId>agent</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <repositories>
    <repository><id>made</id><url>{repository}</url></repository>
  </repositories>
  <dependencies>
{dependency}
  </dependencies>
  <build>
    <plugins>
      <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.14.1</version></plugin>
      <plugin><artifactId>maven-dependency-plugin</artifactId><version>3.8.1</version></plugin>
    </plugins>
  </build>
</project>
"""


def run(command: Sequence[str], folder: Path, **settings: str) -> str:
    """What it prints; it has to end well."""
    known = environment(MAVEN_OPTS=_MACHINE, **settings)
    ran = subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-6000:]
    return ran.stdout


def repository(folder: Path, known: Path) -> Path:
    """A Maven repository of its own, with everything that the user's holds but what is ours."""
    (folder / "dev").mkdir(parents=True)
    for place in known.iterdir():
        if place.name != "dev":
            (folder / place.name).symlink_to(place)
    if (known / "dev").exists():
        for place in (known / "dev").iterdir():
            if place.name != "sidemirror":
                (folder / "dev" / place.name).symlink_to(place)
    return folder


# Where Maven keeps what it has, unless its user says otherwise.
_KNOWN = Path.home() / ".m2/repository"
_INSTALLED = ("sidemirror-api", "sidemirror-client")
_MAVEN = ("mvn", "-q", "-B")
_CLIENT = "dev/sidemirror/sidemirror-client/0.1.0/sidemirror-client-0.1.0"
_CONTRACT = "dev/sidemirror/sidemirror-api/0.1.0/sidemirror-api-0.1.0"


def uses(maven: Sequence[str], made: Path, built: Path, tmp_path: Path) -> None:
    """A project of the README's first lines beside a sidecar. It has our packages from the repository `made`, or from
    `built`, that of Maven's user."""
    project = tmp_path / "project"
    sources = project / "src/main/java"
    sources.mkdir(parents=True)
    pom = POM.format(dependency=first_block("java", "xml"), repository=made.as_uri())
    (project / "pom.xml").write_text(pom)
    (sources / "FirstLines.java").write_text(first_block("java"))
    # What a project needs beside ours, Maven may have to fetch.
    run((*maven, "compile", "dependency:build-classpath", "-Dmdep.outputFile=classpath"), project)
    classpath = (project / "classpath").read_text()
    assert f"{built}/dev/sidemirror/sidemirror-client/" in classpath
    with sidecar(tmp_path) as beside:
        printed = run(
            ("java", "-cp", f"target/classes:{classpath}", "FirstLines"), project, SIDEMIRROR_ADDRESS=beside.address
        )
    assert "[reflection] " in printed


def test_a_project_elsewhere(tmp_path: Path) -> None:
    """Into the repository of Maven's user: with another one Maven compiles the whole contract anew, and so does who
    builds it next. Seen to fail when the client's POM does not name the contract."""
    (java,) = [language for language in LANGUAGES if language.name == "java"]
    ready(java)
    places = [_KNOWN / f"dev/sidemirror/{name}/maven-metadata-local.xml" for name in _INSTALLED]
    for place in places:
        place.unlink(missing_ok=True)  # what the last installation says of itself
    run((*_MAVEN, "-o", "-f", "with-contract", "install", "-DskipTests"), java.folder)
    assert [place for place in places if not place.exists()] == []
    uses(_MAVEN, _KNOWN, _KNOWN, tmp_path)


def deployed(folder: Path) -> None:
    """As `tools/release` does, but for the contract's documentation and sources, which take most of its time."""
    for project, profile in (("generated/java", ()), ("clients/java", ("-Prelease",))):
        target = f"-DaltDeploymentRepository=release::default::{folder.as_uri()}"
        run((*_MAVEN, "-f", project, *profile, "deploy", "-DskipTests", target), ROOT)


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)], ids=["client", "release"])
def test_what_is_published(whole: bool, tmp_path: Path) -> None:
    """What a release uploads, with sources and documentation. Seen to fail, by the contract, where a module's name
    would be its file's."""
    (java,) = [language for language in LANGUAGES if language.name == "java"]
    ready(java)
    published = tmp_path / "release/java"
    if whole:
        run((sys.executable, str(ROOT / "tools/release"), str(tmp_path / "release"), "java"), ROOT)
    else:
        deployed(published)
    for kind in (".jar", ".pom", "-sources.jar", "-javadoc.jar"):
        for name in (_CLIENT, _CONTRACT) if whole else (_CLIENT,):
            assert (published / f"{name}{kind}").exists(), kind
    for name, module in ((_CLIENT, "dev.sidemirror.client"), (_CONTRACT, "dev.sidemirror.api")):
        with zipfile.ZipFile(published / f"{name}.jar") as jar:
            assert f"Automatic-Module-Name: {module}\r\n" in jar.read("META-INF/MANIFEST.MF").decode()
    built = repository(tmp_path / "repository", _KNOWN)
    uses((*_MAVEN, f"-Dmaven.repo.local={built}"), published, built, tmp_path)
