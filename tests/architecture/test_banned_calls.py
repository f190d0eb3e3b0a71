"""What ruff is set up to refuse in the server, and the places where each is allowed (pyproject.toml)."""

import pytest

from tests.architecture.repository import run_tool

ENVIRONMENT = "import os\n\nHOME = os.environ.get('HOME')\n"
GETENV = "from os import getenv\n\nHOME = getenv('HOME')\n"
CLOCK = "import time\n\nSTARTED = time.time()\n"
CLOCK_NS = "import time\n\nSTARTED = time.time_ns()\n"
DATETIME = "from datetime import UTC, datetime\n\nSTARTED = datetime.now(UTC)\n"
BROAD_EXCEPT = "try:\n    pass\nexcept Exception:\n    X = 1\n"


def refused(file: str, code: str) -> bool:
    """Whether ruff would refuse this code in that file of the server, by one of the two rules under test."""
    result = run_tool(
        *("ruff", "check", "--no-cache", "--select", "TID251,BLE001", "--output-format", "concise"),
        *("--stdin-filename", f"server/sidemirror_server/{file}", "-"),
        given=code.encode(),
    )
    assert result.returncode in (0, 1), result.stderr
    return result.returncode == 1


@pytest.mark.parametrize("code", [ENVIRONMENT, GETENV, CLOCK, CLOCK_NS, DATETIME, BROAD_EXCEPT])
@pytest.mark.parametrize("file", ["turns/conduct.py", "storage/sqlite/turn_log.py", "cli.py", "vocabulary/budget.py"])
def test_refused(file: str, code: str) -> None:
    assert refused(file, code)


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("settings/reading.py", ENVIRONMENT),
        ("vocabulary/clock.py", CLOCK_NS),
        ("rpc/boundary/interceptors.py", BROAD_EXCEPT),
        ("work/worker.py", BROAD_EXCEPT),
    ],
)
def test_allowed_where_it_belongs(file: str, code: str) -> None:
    assert not refused(file, code)
