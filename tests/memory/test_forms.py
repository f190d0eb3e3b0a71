"""The form that a value is told to be written in: no letter and no digit of the value is in it."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidemirror_server.memory.recoveries.forms import MOST_PARTS, form_of, written


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("77812", "ORD-77812", "capital letters, a hyphen and digits"),
        ("77812", "ORD-0077812", "capital letters, a hyphen and 7 digits with zeros in front"),
        # The zeros were there before.
        ("0077812", "ORD-0077812", "capital letters, a hyphen and digits"),
        ("W77", "#W77", "a number sign, capital letters and digits"),
        ("#W77", "W77", "capital letters and digits"),
        ("Oslo", "OSLO", "capital letters"),
        ("Oslo", "oslo", "small letters"),
        ("OSLO", "Oslo", "a capitalised word"),
        ("gil eanes", "Gil Eanes", "a capitalised word, a blank and a capitalised word"),
        ("iphone", "iPhone", "letters"),
        ("0055482", "55482", "digits without zeros in front"),
        ("20261130", "2026-11-30", "YYYY-MM-DD"),
        ("978-0-306", "9780306", "digits"),
        ("new york", "new_york", "small letters and underscores"),
        ("a_B", "a@B", "small letters, an at sign and capital letters"),
        ("7", "07", "2 digits with zeros in front"),
        ("45", "45s", "digits and small letters"),
        (
            "S1E2",
            "S01E02",
            "capital letters, 2 digits with zeros in front, capital letters and 2 digits with zeros in front",
        ),
        # Of a code the order is chance, and of what is long only the kinds are told.
        ("zfa04y", "ZFA04Y", "capital letters and digits"),
        ("00ff00", "#00ff00", "a number sign, small letters and digits"),
        ("c0ffee", "#c0ffee", "a number sign, small letters and digits"),
        ("7F2B8C1A-12AB-4C3D", "7f2b8c1a-12ab-4c3d-9e8f-00aa11", "small letters, digits and hyphens"),
        ("a b c d e", "a_b_c_d_e", "small letters and underscores"),
        (r"C:\\tmp\\Plan.txt", "C:/tmp/Plan.txt", "letters, slashes, dots and colons"),
    ],
)
def test_the_form_of_a_value(old: str, new: str, told: str) -> None:
    assert written(form_of(json.dumps(old), json.dumps(new))) == told


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("100", 100, "a number"),
        ("1,000", 1000, "a number"),
        ("#77812", 77812, "a number"),
        (100, "100", "a string"),
        ("True", True, "a boolean"),
        ("true", True, "a boolean"),
        ("null", None, "null"),
        (False, "false", "a string"),
        (640.0, 640, "a whole number"),
    ],
)
def test_the_form_of_a_value_of_another_type(old: object, new: object, told: str) -> None:
    assert written(form_of(json.dumps(old), json.dumps(new))) == told


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Of both forms the same would be told.
        ("osLO", "oSLO"),
        ("7", "0" * 20 + "7"),
        ("tromso", "tromsø"),
        (5, 5.0),
        ("W77", "W77!"),
        ("W77", "W\n77"),
    ],
)
def test_a_form_that_is_not_told(old: object, new: object) -> None:
    assert form_of(json.dumps(old), json.dumps(new)) == ()


@pytest.mark.parametrize(
    "form", [("rm",), ("digits", "`rm`"), ("0 digits",), ("21 digits",), ("9٣ digits",), ("digits",) * 8, ("",)]
)
def test_parts_that_are_none(form: tuple[str, ...]) -> None:
    """Rows may come from another's export."""
    assert written(form) == ""


@given(
    st.text(max_size=9),
    st.from_regex(r"[A-Za-z0-9#/_ -]{0,6}", fullmatch=True),
    st.sampled_from(["", "00", "#", "ID-"]),
)
def test_no_part_of_a_value_is_told(odd: str, usual: str, prefix: str) -> None:
    old, new = (odd, prefix + odd) if odd > usual else (usual, prefix + usual.upper())
    form = form_of(json.dumps(old), json.dumps(new))
    assert len(form) <= MOST_PARTS
    words = "capital|capitalised|word|small|single|value|list|letters|digits|number|string|boolean|null|whole|sign|and"
    signs = "zeros in front|with|without|(?:hyphen|underscore|dot|colon|comma|at|plus|blank|sign|slashe)s?|slash"
    dates = "YYYYMMDD|[YMD]+-[YMD]+-[YMD]+|YYYY|MM|DD"
    assert re.fullmatch(rf"(?:(?:an?|{words}|{signs}|{dates}|1?\d|20)(?:,? |\Z))*", written(form))
    assert bool(form) == bool(written(form))
