"""How long an agent takes from the answer of the model to its next request, as the endpoint sees it.

`bench/adapters.py` runs it in an adapter's folder, and says in the environment which sidecar there is:
SIDEMIRROR_ADDRESS (without it the agent runs without the adapter), SIDECAR_PID (that process is stopped meanwhile).
It says `ready` when it is, and again after as many runs as a line of its input asks for. When its input ends it prints
the times as JSON.
"""

import asyncio
import itertools
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from scripted.apart import Times, apart
from scripted.endpoint import Endpoint
from sidemirror_client import connect

# Of a process's first runs none is counted.
_WARMING = 3


async def measured(run: Callable[[Endpoint, str], Awaitable[None]]) -> Times:
    """The times of as many runs of an agent, with a model of this name, as the input asks for."""
    with apart() as there:
        names = (f"m{number}" for number in itertools.count())
        for _ in range(_WARMING):
            await run(there.endpoint, next(names))
        if "SIDECAR_PID" in os.environ:
            os.kill(int(os.environ["SIDECAR_PID"]), signal.SIGSTOP)
            # Until it is known to be away, which takes two seconds, runs wait as long as they are set to.
            await asyncio.sleep(5)
        _say("ready")
        while asked := await asyncio.to_thread(sys.stdin.readline):
            for _ in range(int(asked)):
                await run(there.endpoint, next(names))
            _say("ready")
    took: Times = {"works": [], "fails": []}
    for of_run in there.times[_WARMING:]:
        for tool, times in of_run.items():
            took[tool] += times
    return took


async def times() -> Times:
    """As `measured` has them, of the adapter for Python in whose folder this runs."""
    from tests.timed import run

    client = connect(on_away=lambda _: None) if "SIDEMIRROR_ADDRESS" in os.environ else None
    took = await measured(lambda endpoint, model: run(endpoint, model, client))
    if client is not None:
        await client.close(0)
    return took


def printed(times_of: Callable[[], Coroutine[Any, Any, Times]]) -> None:
    """Prints the times, as JSON."""
    _say(json.dumps(asyncio.run(times_of())))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    printed(times)
