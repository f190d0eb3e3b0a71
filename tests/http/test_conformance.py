"""Connect's own conformance suite, on the Connect layer of the HTTP door: every case that `conformance.yaml` selects.

The runner is built by Go, and its contract compiled, from the module at a pinned version.
"""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import grpc_tools
import pytest
from grpc_tools import protoc

from tests.acceptance.product import ran
from tests.architecture.repository import ROOT
from tests.faults.figures import show

pytestmark = [pytest.mark.slow("the suite's runner is built"), pytest.mark.timeout(700)]

MODULE, VERSION = "connectrpc.com/conformance", "v1.0.7"
CONFIG = Path(__file__).with_name("conformance.yaml")
# Of version 1.0.7 with that configuration: a case that is no longer selected would not be missed otherwise.
CASES = 290


@pytest.fixture(scope="module")
def suite(request: pytest.FixtureRequest) -> Path:
    """A folder with the runner and the compiled contract; made once and kept in pytest's cache."""
    assert request.config.cache is not None
    folder = request.config.cache.mkdir(f"connectconformance-{VERSION}")
    if not (folder / "contract.bin").exists():
        if shutil.which("go") is None:
            if os.environ.get("CI"):
                pytest.fail("the suite cannot be built: Go is not installed")
            pytest.skip("the suite cannot be built: Go is not installed")
        go = {**os.environ, "GOBIN": str(folder), "GOFLAGS": "-mod=mod"}
        built = ran(["go", "install", f"{MODULE}/cmd/connectconformance@{VERSION}"], go, timeout_s=600)
        assert built.returncode == 0, built.stderr
        found = ran(["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"], go, folder, timeout_s=600)
        assert found.returncode == 0, found.stderr
        _compile(Path(json.loads(found.stdout)["Dir"]) / "proto", folder / "contract.bin")
    return folder


def _compile(protos: Path, into: Path) -> None:
    own = Path(grpc_tools.__file__).parent / "_proto"
    files = [f"connectrpc/conformance/v1/{name}.proto" for name in ("service", "server_compat")]
    flags = [f"-I{protos}", f"-I{own}", "--include_imports", f"--descriptor_set_out={into}"]
    assert protoc.main(["protoc", *flags, *files]) == 0


def test_every_selected_case_passes(suite: Path) -> None:
    """Seen to fail when a stream's errors have another HTTP status than 200, and when `decompressed` sets no limit."""
    serve = [sys.executable, "-m", "tests.http.conformance_server", str(suite / "contract.bin")]
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = [str(suite / "connectconformance"), "--conf", str(CONFIG), "--mode", "server", "--", *serve]
    told = ran(run, known, ROOT, timeout_s=300)
    show(told.stdout[-300:])
    assert told.returncode == 0, f"{told.stdout[-20_000:]}{told.stderr[-5_000:]}"
    (passed, failed) = re.findall(r"(\d+) passed, (\d+) failed", told.stdout)[0]
    assert (int(passed), int(failed)) == (CASES, 0)
