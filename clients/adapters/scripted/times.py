"""How long an agent takes from the answer of the model to its next request, as the endpoint sees it.

`bench/adapters.py` runs it in an adapter's folder, and says in the environment which sidecar there is:
SIDEMIRROR_ADDRESS (without it the agent runs without the adapter), SIDECAR_PID (that process is stopped meanwhile).
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from scripted.apart import Times, apart
from scripted.endpoint import Endpoint
from sidemirror_client import connect


async def measured(runs: int, run: Callable[[Endpoint, str], Awaitable[None]]) -> Times:
    """The times of so many runs of an agent with a model of this name. The first three are not counted."""
    with apart() as there:
        for number in range(runs + 3):
            await run(there.endpoint, f"m{number}")
            if number == 2 and "SIDECAR_PID" in os.environ:
                os.kill(int(os.environ["SIDECAR_PID"]), signal.SIGSTOP)
                # Until it is known to be away, which takes two seconds, runs wait as long as they are set to.
                await asyncio.sleep(5)
    took: Times = {"works": [], "fails": []}
    for of_run in there.times[3:]:
        for tool, times in of_run.items():
            took[tool] += times
    return took


async def times(runs: int) -> Times:
    """As `measured` has them, of the adapter for Python in whose folder this runs."""
    from tests.timed import run

    client = connect(on_away=lambda _: None) if "SIDEMIRROR_ADDRESS" in os.environ else None
    took = await measured(runs, lambda endpoint, model: run(endpoint, model, client))
    if client is not None:
        await client.close(0)
    return took


def printed(times_of: Callable[[int], Coroutine[Any, Any, Times]]) -> None:
    """Prints the times of as many runs as the command says, as JSON."""
    sys.stdout.write(json.dumps(asyncio.run(times_of(int(sys.argv[1])))) + "\n")


if __name__ == "__main__":
    printed(times)
