"""The scripted endpoint in a process of its own, where a model is: it takes nothing of an agent's interpreter.

Every model calls tools that succeed and fail by turns, then says that it is done. A process that runs this prints the
endpoint's address. When its input ends it prints, for each model in order, how long the agent took from each answer to
its next request.
"""

import itertools
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from scripted.endpoint import Endpoint, Exchange, serving
from scripted.wire import Answer, Call, Request

CALLS = 10
# What a model takes to answer, in seconds; any real one takes longer.
MODEL_S = 0.02
# In milliseconds, by the tool that was called.
Times = dict[str, list[float]]


class Apart:
    """An endpoint elsewhere. `times`: of each run, once it has ended."""

    def __init__(self, url: str) -> None:
        self.endpoint = Endpoint()
        self.endpoint.url = url
        self.times: list[Times] = []


def _answer(request: Request) -> Answer:
    """Each call has arguments of its own."""
    if request.number == CALLS:
        return "Done."
    name = "works" if request.number % 2 == 0 else "fails"
    return [Call(name, {"key": f"{request.model}-{request.number}"})]


def _gaps_ms(exchanges: list[Exchange]) -> Times:
    took: Times = {"works": [], "fails": []}
    for one, after in itertools.pairwise(exchanges):
        name = one.answer[0].name if isinstance(one.answer, list) else ""
        took[name].append((after.came_s - one.answered_s) * 1000)
    return took


@contextmanager
def apart() -> Iterator[Apart]:
    """The endpoint's process, which has ended when this is left."""
    command = (sys.executable, "-m", "scripted.apart")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        there = Apart(process.stdout.readline().strip())
        yield there
        process.stdin.close()
        there.times = json.loads(process.stdout.readline())


def main() -> None:
    """Serves until its input ends."""
    with serving() as endpoint:
        endpoint.scripts = defaultdict(lambda: _answer)
        endpoint.model_s = MODEL_S
        sys.stdout.write(f"{endpoint.url}\n")
        sys.stdout.flush()
        sys.stdin.read()
        sys.stdout.write(json.dumps([_gaps_ms(exchanges) for exchanges in endpoint.seen.values()]) + "\n")


if __name__ == "__main__":
    main()
