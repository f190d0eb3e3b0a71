"""Stored policies are read, whoever wrote them: what this version does not know removes nothing and gives no advice."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidemirror_server.policy.record import (
    KEPT_FOR_EVER,
    UNREADABLE,
    Advice,
    AdviceKind,
    Cap,
    DataPolicy,
    RetentionPeriods,
    StoredPolicy,
    policy_body,
    stored_policy,
)

OFF = Advice((AdviceKind.ALL,))
WHOLE = DataPolicy(
    RetentionPeriods(trace_days=5), {"dreaming": Cap(1, None)}, Advice((AdviceKind.LESSONS,), ("m1", "m2"))
)


def test_what_was_stored_is_read() -> None:
    stored = StoredPolicy(WHOLE, 3, "ops", 7)
    assert stored_policy(3, policy_body(stored)) == stored


def test_a_kind_that_a_later_version_stored_turns_all_advice_off() -> None:
    """Seen to fail with the plain enum: ValidationError."""
    body = b'{"policy":{"retention":{"trace_days":5},"advice":{"off":["lessons","critiques"],"silenced":["m1"]}}}'
    advice = Advice((AdviceKind.LESSONS, AdviceKind.ALL), ("m1",))
    assert stored_policy(1, body).policy == DataPolicy(RetentionPeriods(trace_days=5), advice=advice)


def test_fields_that_a_later_version_stored_are_ignored() -> None:
    body = (
        b'{"new":1,"policy":{"new":[],"retention":{"trace_days":5,"new_days":1},"caps":{"new":{"tokens":1,"new":2}},'
        b'"advice":{"new":{}}}}'
    )
    assert stored_policy(1, body).policy == DataPolicy(RetentionPeriods(trace_days=5), {"new": Cap(1, None)})


@pytest.mark.parametrize(
    ("body", "policy"),
    [
        (b'{"policy":{"retention":{"trace_days":"5"},"caps":{}}}', DataPolicy(KEPT_FOR_EVER)),
        (b'{"policy":{"retention":{"trace_days":5},"caps":[]}}', DataPolicy(RetentionPeriods(trace_days=5))),
        (b'{"policy":{"advice":{"off":[7]}}}', DataPolicy(advice=OFF)),
        (b'{"policy":{"advice":{"off":"none"}}}', DataPolicy(advice=OFF)),
        (b'{"policy":[]}', UNREADABLE),
        (b"{}", UNREADABLE),
        (b"not JSON", UNREADABLE),
        (b"", UNREADABLE),
        (b'{"policy":{},"set_by":"\xff"}', UNREADABLE),
    ],
)
def test_a_part_that_cannot_be_read_removes_nothing_and_gives_no_advice(body: bytes, policy: DataPolicy) -> None:
    """Seen to fail when the error of the decoder is let through."""
    assert stored_policy(1, body).policy == policy


@given(st.binary() | st.binary().map(lambda rest: b'{"policy":{"advice":{"off":[' + rest + b"]}}}"))
def test_no_row_raises(body: bytes) -> None:
    stored_policy(1, body)


def test_the_parts_of_a_policy_are_all_read() -> None:
    """A part that is added to `DataPolicy` and not to what is read would be lost."""
    parts = msgspec.json.decode(policy_body(StoredPolicy(WHOLE, 1, "", 0)))["policy"]
    assert set(parts) == set(DataPolicy.__struct_fields__)
