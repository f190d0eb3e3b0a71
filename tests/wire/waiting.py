"""Waiting for a condition, with a deadline, beside a sidecar in a thread."""

import threading
import time
from collections.abc import Callable

from tests.wire.sidecar import PATIENCE_S


def until(condition: Callable[[], bool], within_s: float = PATIENCE_S, every_s: float = 0.05) -> float:
    """Returns how many seconds it took until `condition` held; fails when it does not hold in time."""
    began_s = time.monotonic()
    pause = threading.Event()
    while not condition():
        assert time.monotonic() - began_s < within_s, f"not within {within_s} s"
        pause.wait(every_s)
    return time.monotonic() - began_s
