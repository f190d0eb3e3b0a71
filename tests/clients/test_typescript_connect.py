"""connect-es, which pages and scripts use, streams WatchTurns from the HTTP door."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.clients.languages import LANGUAGES, ready
from tests.http.sidecars import door, token_of

pytestmark = [pytest.mark.slow("the TypeScript client is built"), pytest.mark.timeout(600)]
ENTRIES = 2


def test_a_watch_in_json_and_in_protobuf(tmp_path: Path) -> None:
    (typescript,) = [language for language in LANGUAGES if language.name == "typescript"]
    ready(typescript)
    with door(tmp_path) as server:
        url, token = f"http://127.0.0.1:{server.http_port}", token_of(tmp_path / "data")
        command = ("node", "dist/test/watchOverHttp.js", url, token, str(ENTRIES))
        ran = subprocess.run(command, cwd=typescript.folder, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(told) == 2 * ENTRIES
    # A watch from the start: the second one is told the first one's turn again.
    assert [entry["turnId"] for entry in told] == ["in json"] * 2 * ENTRIES
    assert told[:ENTRIES] == told[ENTRIES:]
