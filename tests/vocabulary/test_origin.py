import itertools

import pytest

from sidemirror_server.vocabulary.origin import Origin, least


def test_origins_are_ordered_by_trust() -> None:
    assert sorted(Origin) == [Origin.TOOL, Origin.AGENT, Origin.USER, Origin.OPERATOR]


def test_the_stored_numbers_stay() -> None:
    assert [int(origin) for origin in Origin] == [10, 20, 30, 40]


@pytest.mark.parametrize("pair", list(itertools.product(Origin, Origin)))
def test_what_is_made_of_two_is_trusted_as_the_lesser(pair: tuple[Origin, Origin]) -> None:
    assert least(pair) == sorted(pair)[0]


def test_nothing_vouches_for_what_has_no_source() -> None:
    assert least([]) is Origin.TOOL
