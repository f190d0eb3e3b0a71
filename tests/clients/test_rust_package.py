"""The Rust client as a project outside the repository gets it: from the crates that one command makes."""

import json
import subprocess
import tarfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.acceptance.product import environment
from tests.clients.harness import ROOT, sidecar
from tests.clients.languages import CLIENTS, LANGUAGES, ready
from tests.clients.test_readmes import RUST, first_block

pytestmark = [pytest.mark.slow("the Rust client is packed and built elsewhere"), pytest.mark.timeout(600)]
CRATES = ("sidemirror-api-0.1.0", "sidemirror-client-0.1.0")


def done(command: Sequence[str], cwd: Path, **settings: str) -> str:
    """What it prints; it has to end well."""
    ran = subprocess.run(command, cwd=cwd, env=environment(**settings), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{' '.join(command)}\n{ran.stderr[-4000:]}"
    return ran.stdout


def test_a_project_elsewhere_uses_the_crates(tmp_path: Path) -> None:
    """The README's first lines, with the crates in the place of the checkout. Seen to fail when the contract is not
    packed."""
    ready(next(language for language in LANGUAGES if language.name == "rust"))
    packed, project = tmp_path / "packed", tmp_path / "project"
    done((str(ROOT / "tools/package-rust"), str(packed)), tmp_path)
    assert sorted(file.name for file in packed.iterdir()) == [f"{crate}.crate" for crate in CRATES]
    for crate in CRATES:
        with tarfile.open(packed / f"{crate}.crate") as files:
            files.extractall(tmp_path, filter="data")
    # By these two crates.io resolves the page's relative links.
    packed_from = json.loads((tmp_path / CRATES[1] / ".cargo_vcs_info.json").read_text())["path_in_vcs"]
    manifest = tomllib.loads((tmp_path / CRATES[1] / "Cargo.toml").read_text())["package"]
    assert (manifest["repository"], packed_from) == ("https://github.com/sidemirror/sidemirror", "clients/rust")
    (project / "src").mkdir(parents=True)
    (project / "src/main.rs").write_text(first_block("rust"))
    dependencies = first_block("rust", "toml")
    assert '{ path = "../sidemirror/clients/rust" }' in dependencies
    dependencies = dependencies.replace('{ path = "../sidemirror/clients/rust" }', '"0.1.0"')
    places = "".join(f'{crate.rpartition("-")[0]} = {{ path = "{tmp_path / crate}" }}\n' for crate in CRATES)
    own = RUST.replace("readme", "outside")
    (project / "Cargo.toml").write_text(f"{own}{dependencies}[patch.crates-io]\n{places}")
    # What the crates need of others is here since the client was built: nothing of that is compiled again.
    (project / "Cargo.lock").write_bytes((CLIENTS / "rust/Cargo.lock").read_bytes())
    target = str(CLIENTS / "rust/target")
    done(("cargo", "build", "--quiet", "--target-dir", target), project)
    with sidecar(tmp_path) as beside:
        printed = done((f"{target}/debug/outside",), project, SIDEMIRROR_ADDRESS=beside.address)
    assert "[reflection] " in printed
