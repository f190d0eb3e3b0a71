"""What every client takes of an agent's time while its sidecar is there: `report`, and `advice` after a call that
succeeded and after one that failed, with a call of the sidecar that does next to nothing beside them. Before a turn and
before the call that fails the agent works for 50 ms, less than any does: the sidecar has then learned from what was
before, and is as idle as the machine. The first hundred turns have figures of their own, which nothing is wanted of:
Java compiles while they last.

`uv run pytest -m long -s tests/clients/test_times.py` prints a line for each. Needs an idle machine. `bench/client.py`
measures the same for Python in one process, beside a bare echo.
"""

import json
import sys
import time
from pathlib import Path

import pytest

from tests.clients.faults import rounds
from tests.clients.harness import Sidecar, run_scenario, running
from tests.clients.languages import LANGUAGES, Language, ready

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
FIRST, TURNS = 100, 300
WORKS_S = 0.05
# Of a hundred uses all but one.
MOST_MS = {"report": 1.0, "advice after a success": 10.0, "advice after a failure": 15.0}


class Worked(Sidecar):
    """A sidecar beside an agent that works now and then."""

    def do(self, what: str) -> None:
        if what == "work":
            time.sleep(WORKS_S)
        else:
            super().do(what)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_what_an_agent_waits_for(language: Language, tmp_path: Path) -> None:
    steps = rounds("advice_times.json", FIRST + TURNS, tmp_path / "steps.json", first_apart=FIRST)
    with running(Worked(tmp_path)) as beside:
        ran = run_scenario(ready(language), str(steps), beside, language.folder)
    timed = json.loads(ran.printed("timed"))
    sys.stdout.write(f"\n{language.name + ', milliseconds':34} {'times':>6} {'p50':>8} {'p99':>8} {'most':>8}\n")
    for name, took in timed.items():
        figures = f"{took['p50_ms']:8.3f} {took['p99_ms']:8.3f} {took['most_ms']:8.3f}"
        sys.stdout.write(f"  {name:32} {took['count']:6} {figures}\n")
    assert {name: timed[name]["count"] for name in MOST_MS} == {
        "report": 6 * TURNS,
        "advice after a success": 2 * TURNS,
        "advice after a failure": TURNS,
    }
    assert [name for name, most_ms in MOST_MS.items() if timed[name]["p99_ms"] > most_ms] == []
