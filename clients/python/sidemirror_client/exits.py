"""The end of a process that `os._exit` ends: nothing of `atexit` runs there.

So end children that `multiprocessing` has forked, once they have run the finalizers of `multiprocessing.util`, and
Celery's prefork workers, once they have sent a signal of Celery's.
"""

import sys
from collections.abc import Callable


def at_the_end_of_a_child(end: Callable[[], None]) -> None:
    """Has `end` called in this process then, if it is one of these. It may be called twice."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(None, end, exitpriority=0)
    signals = sys.modules.get("celery.signals")
    if signals is not None:
        signals.worker_process_shutdown.connect(lambda **_: end(), weak=False)
