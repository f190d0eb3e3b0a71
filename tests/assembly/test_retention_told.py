"""What the log says while a clock in doubt keeps retention from removing anything."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from sidemirror_server.assembly.retention import KeptFor
from tests.faults.clocks import SetClock


def test_it_is_told_when_it_stops_and_when_it_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """With how long it was, which is what the search for the ends of outages looks for. Seen to fail without."""
    caplog.set_level(logging.INFO)
    clock = SetClock(0)
    stores: Any = SimpleNamespace(clock=SimpleNamespace(doubt="", monotonic_s=clock.monotonic_s))
    nobodys: Any = None
    kept = KeptFor(nobodys, nobodys, stores)
    for doubt in ("", "3 days off", "3 days off", "", ""):
        stores.clock.doubt = doubt
        clock.advance(30.0)
        assert kept._is_in_doubt() == bool(doubt)
    stopped, goes_on = map(vars, caplog.records)
    assert (stopped["levelname"], stopped["message"], stopped["reason"]) == (
        "ERROR", "retention_stopped", "3 days off",
    )  # fmt: skip
    assert (goes_on["levelname"], goes_on["message"], goes_on["lasted_s"]) == ("INFO", "retention_goes_on", 60.0)
