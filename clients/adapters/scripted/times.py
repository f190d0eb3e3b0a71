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

from scripted.endpoint import Endpoint, serving
from scripted.wire import Answer, Call, Request
from sidemirror_client import Sidemirror, connect

CALLS = 10


def _answer(request: Request) -> Answer:
    """Calls that succeed and fail by turns, each with arguments of its own."""
    if request.number == CALLS:
        return "Done."
    name = "works" if request.number % 2 == 0 else "fails"
    return [Call(name, {"key": f"{request.model}-{request.number}"})]


def _gaps_ms(endpoint: Endpoint, model: str, took: dict[str, list[float]]) -> None:
    exchanges = endpoint.seen[model]
    for one, after in itertools.pairwise(exchanges):
        name = one.answer[0].name if isinstance(one.answer, list) else ""
        took[name].append((after.came_s - one.answered_s) * 1000)


async def measured(runs: int) -> dict[str, list[float]]:
    """The times of so many runs, in milliseconds, by the tool that was called. The first three are not counted."""
    from tests.timed import run

    took: dict[str, list[float]] = {"works": [], "fails": []}
    client: Sidemirror | None = connect(on_away=lambda _: None) if "SIDEMIRROR_ADDRESS" in os.environ else None
    with serving() as endpoint:
        for number in range(runs + 3):
            model = f"m{number}"
            endpoint.scripts[model] = _answer
            await run(endpoint, model, client)
            if number == 2 and "SIDECAR_PID" in os.environ:
                os.kill(int(os.environ["SIDECAR_PID"]), signal.SIGSTOP)
                # Until it is known to be away, which takes two seconds, runs wait as long as they are set to.
                await asyncio.sleep(5)
            if number >= 3:
                _gaps_ms(endpoint, model, took)
    if client is not None:
        await client.close(0)
    return took


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(measured(int(sys.argv[1])))) + "\n")
