"""The page's programs run as written, and type checkers accept them."""

import sys
import uuid
from pathlib import Path

import pytest
from scripted import stories
from scripted.endpoint import Endpoint
from scripted.page import Page
from scripted.record import Sidecar

FOLDER = Path(__file__).parents[1]
MODEL = "gemini-2.5-flash"


def test_the_program_runs(endpoint: Endpoint, address: str, tmp_path: Path) -> None:
    # The page's table is empty: another number contradicts what its tool returns.
    right = "There are 0 orders."
    endpoint.script(MODEL, [stories.BAD], [stories.GOOD], right)
    printed = Page(FOLDER, tmp_path).run(endpoint, SIDEMIRROR_ADDRESS=address)
    assert printed == f"{right}\n"
    assert "[reflection] " in endpoint.seen[MODEL][1].request.text


def test_an_answer_that_contradicts_is_asked_for_again(endpoint: Endpoint, address: str, tmp_path: Path) -> None:
    endpoint.script(MODEL, [stories.BAD], "The query worked.", stories.RIGHT)
    assert Page(FOLDER, tmp_path).run(endpoint, SIDEMIRROR_ADDRESS=address) == f"{stories.RIGHT}\n"


def test_adk_runs_the_app(endpoint: Endpoint, address: str, tmp_path: Path) -> None:
    """The app's page has no project of the test's own, so that the turn is found by its task."""
    task = f"How many orders has {uuid.uuid4().hex}?"
    endpoint.script(MODEL, stories.RIGHT)
    app = Page(FOLDER, tmp_path, 1, "shop/agent.py")
    adk = (sys.executable, "-m", "google.adk.cli", "run", str(tmp_path / "shop"))
    assert stories.RIGHT in app.run(endpoint, adk, f"{task}\nexit\n", SIDEMIRROR_ADDRESS=address)
    assert Sidecar(address, "").turn_of(task).session_id


@pytest.mark.parametrize("number", [0, 1])
def test_type_checkers_accept_it(tmp_path: Path, number: int) -> None:
    Page(FOLDER, tmp_path, number).check_types()
