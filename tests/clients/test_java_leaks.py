"""What 2,000 turns leave behind in the Java client: nothing. And how long `report` takes there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.harness import sidecar
from tests.clients.languages import LANGUAGES, ready

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
_LEAKS = 'exec java -Xmx512m -cp "target/classes:target/test-classes:$(cat target/classpath)" Leaks'


def test_nothing_grows(tmp_path: Path) -> None:
    """Seen to fail, by the memory, when a turn that is over stays with its client."""
    (java,) = [language for language in LANGUAGES if language.name == "java"]
    ready(java)
    with sidecar(tmp_path) as beside:
        known = {**os.environ, "SIDEMIRROR_ADDRESS": beside.address}
        ran = subprocess.run(
            ("sh", "-c", _LEAKS), cwd=java.folder, env=known, capture_output=True, text=True, check=False, timeout=600
        )
    assert ran.returncode == 0, ran.stderr[-4000:]
    sys.stdout.write(ran.stdout)
    grown = json.loads(ran.stdout)
    assert grown["lost"] == 0
    assert grown["threads"] <= 2
    assert grown["bytes"] < 16 * 2**20
    assert grown["report_p99_ms"] < 1
