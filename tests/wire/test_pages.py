"""How much is on a page."""

import pytest

from sidemirror_server.rpc.boundary.pages import PAGE_BYTES, fitting


@pytest.mark.parametrize(
    ("sizes", "shown"),
    [([], []), ([3, 3], [3, 3]), ([3, 3, 1], [3, 3]), ([3, 4, 1], [3]), ([7, 1], [7])],
)
def test_a_page_holds_what_has_room_and_at_least_one(sizes: list[int], shown: list[int]) -> None:
    assert fitting(sizes, int, 6) == shown


def test_an_answer_may_hold_nothing() -> None:
    assert fitting([7, 1], int, 6, at_least=0) == []


def test_a_page_fits_into_a_message() -> None:
    assert PAGE_BYTES == 2 * 1024 * 1024
