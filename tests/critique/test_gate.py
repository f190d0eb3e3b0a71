"""The gate, exactly as in seed response-critique, "When to reflect"."""

import pytest

from sidemirror_server.critique.gate import GateReason, should_critique

ERROR, LONG, MANY = GateReason.TOOL_ERROR, GateReason.LONG_RESPONSE, GateReason.MANY_TOOL_RESULTS


@pytest.mark.parametrize(
    ("failed", "length", "reasons"),
    [
        ((), 0, ()),
        ((), 2000, ()),
        ((), 2001, (LONG,)),
        ((False, False), 2000, ()),
        ((False, False, False), 0, (MANY,)),
        ((True,), 0, (ERROR,)),
        ((False, True), 2000, (ERROR,)),
        ((True, False, False), 2001, (ERROR, LONG, MANY)),
    ],
)
def test_each_condition_and_its_boundary(
    failed: tuple[bool, ...], length: int, reasons: tuple[GateReason, ...]
) -> None:
    decision = should_critique(failed, length)
    assert decision.reasons == reasons
    assert decision.should_critique is bool(reasons)
