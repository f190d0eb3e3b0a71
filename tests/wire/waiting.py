"""Waiting for a condition, with a deadline, beside a sidecar in a thread."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from tests.wire.sidecar import PATIENCE_S

T = TypeVar("T")


def until(condition: Callable[[], bool], within_s: float = PATIENCE_S, every_s: float = 0.05) -> float:
    """Returns how many seconds it took until `condition` held; fails when it does not hold in time."""
    began_s = time.monotonic()
    pause = threading.Event()
    while not condition():
        assert time.monotonic() - began_s < within_s, f"not within {within_s} s"
        pause.wait(every_s)
    return time.monotonic() - began_s


def until_found(look: Callable[[], T]) -> T:
    """What `look` finds, once it finds anything."""
    ends_s = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < ends_s, "it did not come"
        time.sleep(0.01)
    return found
