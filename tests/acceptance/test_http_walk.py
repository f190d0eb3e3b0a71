"""What docs/http.md tells a reader to type is done here as written, and what it shows must come out."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.acceptance.documents import blocks, section
from tests.acceptance.product import environment, ran, serving
from tests.acceptance.test_readme import assert_shows, steps_of

pytestmark = pytest.mark.slow("the walk waits as a reader does")

WALK = "A whole turn with curl"
SERVE = "uv run sidemirror serve --http"
PLACE = "127.0.0.1:50080"


def test_the_walk_goes_as_written(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    function = next(block.text for block in blocks(WALK) if block.text.startswith("call() {"))
    called: list[str] = []
    compared = 0
    with serving(tmp_path, "--http-address", "127.0.0.1:0") as server:
        line = next(line for line in server.log.splitlines() if line.startswith("sidemirror serves HTTP at "))
        *_, port, tokens = re.split(r"http://127.0.0.1:|; every call needs a token, from ", line)
        assert tokens == "sidemirror-data/http-token"
        here = function.replace(PLACE, f"127.0.0.1:{port}")
        assert here != function
        for commands, shown in steps_of(WALK):
            printed = ""
            for command in commands:
                if command.startswith("call "):
                    told = ran(["bash", "-euc", f"{here}\n{command}"], environment(), tmp_path)
                    assert told.returncode == 0, f"{command}\n{told.stdout}{told.stderr}"
                    printed = told.stdout
                    called += re.findall(r"ThinkingService/(\w+)", command)
                else:
                    assert command == SERVE or command in function
            if shown is not None:
                assert_shows(json.loads(shown.text), json.loads(printed))
                compared += 1
    assert called == ["StartTurn", "ReportEvents", "Reflect", "FinishTurn", "GetTurn", "GetTurn"]
    assert compared == 5


def test_the_page_names_the_settings_of_http() -> None:
    told = section("What HTTP may cost")
    assert {"SIDEMIRROR_LIMITS__HTTP_CONNECTIONS", "SIDEMIRROR_LIMITS__HTTP_REQUESTS_PER_SECOND"} <= set(
        re.findall(r"`(SIDEMIRROR_\w+)`", told)
    )
