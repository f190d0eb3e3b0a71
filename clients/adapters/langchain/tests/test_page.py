"""The page's program runs as written, and type checkers accept it."""

from pathlib import Path

from scripted import stories
from scripted.endpoint import Endpoint
from scripted.page import Page

FOLDER = Path(__file__).parents[1]


def test_the_program_runs(endpoint: Endpoint, address: str, tmp_path: Path) -> None:
    # The page's table is empty: another number contradicts what its tool returns.
    right = "There are 0 orders."
    endpoint.script("gpt-5", [stories.BAD], [stories.GOOD], right)
    printed = Page(FOLDER, tmp_path).run(endpoint, SIDEMIRROR_ADDRESS=address)
    assert printed == f"{right}\n"
    assert "[reflection] " in endpoint.seen["gpt-5"][1].request.text


def test_type_checkers_accept_it(tmp_path: Path) -> None:
    Page(FOLDER, tmp_path).check_types()
