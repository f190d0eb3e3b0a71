"""How long an agent takes from the answer of the model to its next request, as the endpoint sees it.

`bench/adapters.py` runs it in an adapter's folder, and says in the environment which sidecar there is:
SIDEMIRROR_ADDRESS (without it the agent runs without the adapter), SIDECAR_PID (that process is stopped meanwhile).
"""

import asyncio
import itertools
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from scripted.endpoint import Endpoint, serving
from scripted.wire import Answer, Call, Request
from sidemirror_client import connect

CALLS = 10
# In milliseconds, by the tool that was called.
Times = dict[str, list[float]]


def _answer(request: Request) -> Answer:
    """Calls that succeed and fail by turns, each with arguments of its own."""
    if request.number == CALLS:
        return "Done."
    name = "works" if request.number % 2 == 0 else "fails"
    return [Call(name, {"key": f"{request.model}-{request.number}"})]


def _gaps_ms(endpoint: Endpoint, model: str, took: Times) -> None:
    exchanges = endpoint.seen[model]
    for one, after in itertools.pairwise(exchanges):
        name = one.answer[0].name if isinstance(one.answer, list) else ""
        took[name].append((after.came_s - one.answered_s) * 1000)


async def measured(runs: int, run: Callable[[Endpoint, str], Awaitable[None]]) -> Times:
    """The times of so many runs of an agent with a model of this name. The first three are not counted."""
    took: Times = {"works": [], "fails": []}
    with serving() as endpoint:
        for number in range(runs + 3):
            model = f"m{number}"
            endpoint.scripts[model] = _answer
            await run(endpoint, model)
            if number == 2 and "SIDECAR_PID" in os.environ:
                os.kill(int(os.environ["SIDECAR_PID"]), signal.SIGSTOP)
                # Until it is known to be away, which takes two seconds, runs wait as long as they are set to.
                await asyncio.sleep(5)
            if number >= 3:
                _gaps_ms(endpoint, model, took)
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
