"""The Go client as a project outside the repository gets it: from the module that one command makes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.product import environment
from tests.clients.harness import ROOT, sidecar
from tests.clients.languages import CLIENTS, LANGUAGES, ready

pytestmark = [pytest.mark.slow("the Go client is packed and built elsewhere"), pytest.mark.timeout(600)]


def done(*command: str, cwd: Path, env: dict[str, str]) -> str:
    ran = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{' '.join(command)}\n{ran.stderr[-4000:]}"
    return ran.stdout


def test_a_project_elsewhere_uses_the_package(tmp_path: Path) -> None:
    """The whole example, built from the packed module alone, and then a module that is packed again. Seen to fail when
    the contract is not packed beside it, and when what is packed again has the same version."""
    ready(next(language for language in LANGUAGES if language.name == "go"))
    proxy, project = tmp_path / "proxy", tmp_path / "project"
    project.mkdir()
    pack = (sys.executable, str(ROOT / "tools/package-go"), str(proxy))
    done(*pack, cwd=ROOT, env=environment())
    (project / "main.go").write_bytes((CLIENTS / "go/examples/agent/main.go").read_bytes())
    # What the client needs of others is here since it was built: nothing is fetched.
    (project / "go.sum").write_bytes((CLIENTS / "go/go.sum").read_bytes())
    fetched, usual = done("go", "env", "GOMODCACHE", "GOPROXY", cwd=project, env=environment()).splitlines()
    env = environment(
        GOPROXY=f"{proxy.as_uri()},{(Path(fetched) / 'cache/download').as_uri()},{usual}",
        GONOSUMDB="github.com/sidemirror/sidemirror",
        GOMODCACHE=str(tmp_path / "modules"),
        GOFLAGS=f"{os.environ.get('GOFLAGS', '')} -modcacherw",
    )
    done("go", "mod", "init", "example.com/agent", cwd=project, env=env)
    get = ("go", "get", "github.com/sidemirror/sidemirror/clients/go@latest")
    done(*get, cwd=project, env=env)
    done("go", "build", "-o", "agent", ".", cwd=project, env=env)
    assert "replace" not in (project / "go.mod").read_text()
    with sidecar(tmp_path) as beside:
        printed = done("./agent", cwd=project, env={**env, "SIDEMIRROR_ADDRESS": beside.address})
    assert "[reflection] " in printed
    assert printed.endswith("1 of the tool calls failed\n")
    used = (project / "go.mod").read_text()
    done(*pack, cwd=ROOT, env=environment())
    done(*get, cwd=project, env=env)
    assert (project / "go.mod").read_text() != used
