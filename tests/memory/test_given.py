"""What a failed call was given is no part of the failure, so that one is recognised in the next task."""

import json

import pytest

from sidemirror_server.memory.kin.given import Given, without_given
from sidemirror_server.memory.recoveries.asked import asked
from sidemirror_server.memory.recoveries.observation import Observation
from sidemirror_server.memory.recoveries.signed import failure_signature
from tests.architecture.test_linear_patterns import PIECES, growth
from tests.memory.trails import Call, observed


def signed(tool: str, arguments: object, error: str) -> str:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return failure_signature(asked(tool, given), error)


# Two calls of one tool, each with its arguments and its error: the same failure.
ALIKE = [
    ({"customer": "ACME 12"}, "invoice not found: ACME 12", {"customer": "Globex 7"}, "invoice not found: Globex 7"),
    ({"customer": "acme"}, "no invoice of ACME exists", {"customer": "Globex"}, "no invoice of globex exists"),
    ({"q": "Jane Miller"}, "nobody called Miller, Jane", {"q": "Ann Lee"}, "nobody called Lee, Ann"),
    ({"path": "/in/acme/may"}, "cannot parse acme/may", {"path": "/in/globex/june"}, "cannot parse globex/june"),
    (
        {"order": {"lines": [{"sku": "oak-table"}]}},
        "oak-table is out of stock",
        {"order": {"lines": [{"sku": "pine-chair"}, {"sku": "elm-desk"}]}},
        "pine-chair is out of stock",
    ),
    ({"plan": "gold plus"}, "plan `gold plus` has ended", {"plan": "silver"}, "plan silver has ended"),
    ({"city": "Zürich"}, "no depot near ZÜRICH", {"city": "Köln"}, "no depot near Köln"),
    ({"rate": 12.5}, "rate 12.5 rejected by bank", {"rate": 3}, "rate 3 rejected by bank"),
    ({"user": "error corp"}, "account of Error Corp is locked", {"user": "Initech"}, "account of Initech is locked"),
    # What a value says is no cause.
    ({"list": "timeout report"}, "no list called timeout report", {"list": "minutes"}, "no list called minutes"),
    (
        {"text": "Please send the invoice of Globex to Berlin and tell them that it is due on Monday"},
        "Globex has no address in Berlin",
        {"text": "Please send the reminder of Initech to Lisbon and tell them that it is due on Friday"},
        "Initech has no address in Lisbon",
    ),
    ("billing invoice --customer 'ACME 12'", "invoice not found: ACME 12",
     "billing invoice --customer=Globex", "invoice not found: Globex"),
    ("git branch -d feature-login", "error: branch feature-login not found",
     "git branch -d old-cart", "error: branch old-cart not found"),
    ("SELECT refund('ACME 12')", "ERROR: refund of ACME 12 was paid", "SELECT refund('Globex')",
     "ERROR: refund of Globex was paid"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "error", "other", "other_error"), ALIKE)
def test_the_same_failure_of_another_task(one: object, error: str, other: object, other_error: str) -> None:
    assert signed("get_invoice", one, error) == signed("get_invoice", other, other_error) != ""


@pytest.mark.parametrize("error", ["error: invoice true is not found", "a request failed: error in invoice, try again"])
@pytest.mark.parametrize("value", [True, "true", "a", "error", "not found", "invoice", "7", "", None, "is", "request"])
def test_a_common_value_eats_no_error(error: str, value: object) -> None:
    """Words of errors stay, and those that name the tool or an argument."""
    assert signed("get_invoice", {"key": value}, error) == signed("get_invoice", {}, error) != ""


def test_the_longest_value_goes_first_whatever_their_order() -> None:
    text = "no depot for Oak Table Berlin, nor for oak"
    for values in (("oak", "Oak Table", "Oak Table Berlin"), ("Oak Table Berlin", "oak", "Oak Table")):
        assert without_given(text, Given(values)) == "no depot for <given>, nor for <given>"


def test_what_is_missing_is_told_apart_by_its_name() -> None:
    assert signed("run", {"program": "jq"}, "sh: 1: jq: not found") == "run|not_found|missing_command jq"
    assert signed("shell", "pip install leftpad", "No matching distribution found for leftpad").endswith(
        "|missing_package leftpad"
    )


def test_what_a_call_does_is_told_apart() -> None:
    """`git push` and `git branch` fail in words of their own, though the command has them."""
    push = signed("shell", "git push origin main", "error: failed to push some refs to 'origin'")
    assert push.endswith("|push ref")


def test_an_error_that_says_no_more_than_the_value_has_no_signature() -> None:
    assert signed("get", {"key": "ACME"}, "ACME failed") == ""


def test_what_is_learned_of_one_customer_is_learned_of_all() -> None:
    """Seen to fail when the customer was part of the failure: there was a signature for each."""
    found: list[Observation] = []
    for number, name in enumerate(("ACME 12", "Globex 7", "Initech"), 1):
        failed = Call("get_invoice", json.dumps({"customer": name}), f"invoice not found: {name}", failed=True)
        again = Call("get_invoice", json.dumps({"customer": f"c-{number}"}))
        found += observed(failed, Call("list_customers", "{}", f"c-{number}"), again, number=number)
    assert {row.signature for row in found} == {"get_invoice|not_found|absent invoic"}
    assert len(found) == 3


@pytest.mark.parametrize("piece", PIECES[:8])
def test_masking_takes_linear_time(piece: str) -> None:
    given = Given(tuple(f"{piece}{number} some words" for number in range(100)), ("tool",))
    assert growth(lambda text: without_given(text, given), piece) == ""
