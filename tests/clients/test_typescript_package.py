"""The npm packages of the TypeScript client, built by one command and used by a project outside the repository."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.acceptance.product import environment
from tests.clients.harness import ROOT, sidecar
from tests.clients.languages import LANGUAGES, ready
from tests.clients.test_readmes import first_block

pytestmark = [pytest.mark.slow("the TypeScript client is built, packed and installed"), pytest.mark.timeout(600)]
PROJECT = '{"name": "outside", "private": true, "type": "module"}\n'
COMPILER = ROOT / "node_modules/typescript/bin/tsc"
# As the README asks for it.
ASKED = ("--types", "node", "--module", "nodenext", "--lib", "es2023,esnext.disposable", "--skipLibCheck")
STRICT = ("--strict", "--noEmit", "--target", "es2023", "--typeRoots", str(ROOT / "node_modules/@types"), *ASKED)


def run(command: Sequence[str], cwd: Path, **settings: str) -> str:
    """What it prints; it has to end well."""
    known = environment(**settings)
    ran = subprocess.run(command, cwd=cwd, env=known, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, f"{' '.join(command)}\n{(ran.stdout + ran.stderr)[-6000:]}"
    return ran.stdout


def test_a_project_outside_uses_the_packages(tmp_path: Path) -> None:
    """Seen to fail when a public name is not exported."""
    (typescript,) = [language for language in LANGUAGES if language.name == "typescript"]
    ready(typescript)
    run(("npm", "run", "--silent", "pack"), typescript.folder)
    packages = sorted((typescript.folder / "dist").glob("*.tgz"))
    assert [package.name.rpartition("-")[0] for package in packages] == ["sidemirror-api", "sidemirror-client"]
    project = tmp_path / "outside"
    project.mkdir()
    (project / "package.json").write_text(PROJECT)
    (project / "agent.ts").write_text(first_block("typescript"))
    (project / "agent.mjs").write_text(first_block("typescript"))
    shutil.copy(Path(__file__).with_name("every_public_name.ts"), project)
    quiet = ("--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
    run(("npm", "install", *quiet, *map(str, packages)), project)
    installed = project / "node_modules/@sidemirror/client"
    assert installed.is_dir()
    assert not installed.is_symlink()
    # By this npm resolves the page's relative links.
    repository = json.loads((installed / "package.json").read_text())["repository"]
    there = "git+https://github.com/sidemirror/sidemirror.git"
    assert (repository["url"], repository["directory"]) == (there, "clients/typescript")
    run(("node", str(COMPILER), *STRICT, "agent.ts", "every_public_name.ts"), project)
    with sidecar(tmp_path) as beside:
        printed = run(("node", "agent.mjs"), project, SIDEMIRROR_ADDRESS=beside.address)
    assert "[reflection] " in printed, printed
