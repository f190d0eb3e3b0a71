"""`sidemirror serve` with a model that dreams slowly. Its own arguments come before those of serve:

--takes SECONDS   how long an answer takes
--calls FILE      where each call is noted, as a line with the first memory it is about, before it is answered
--lease SECONDS   how long the job of a killed process waits for the next
"""

import argparse
import asyncio
import sys
from functools import partial
from pathlib import Path

from sidemirror_server import assembly, cli
from sidemirror_server.models.language_model import AnswerT, Ask, Completion
from sidemirror_server.operations import serve
from sidemirror_server.vocabulary.status import Usage
from sidemirror_server.work.worker import Pace
from tests.memory.dreamers import understands


class Dreams:
    """Says of each cluster what its memories have in common."""

    provider = "test"
    name = "dreams"

    def __init__(self, takes_s: float, calls: Path) -> None:
        self._takes_s = takes_s
        self._calls = calls

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        with self._calls.open("a") as file:
            file.write(f"{ask.evidence.steps[0].name}\n")
        await asyncio.sleep(self._takes_s)
        answer = understands(ask)
        assert isinstance(answer, ask.answer_type)
        return Completion(answer, Usage(self.provider, self.name, input_tokens=10, cost_usd=0.01))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--takes", type=float, default=0.0)
    parser.add_argument("--calls", type=Path, required=True)
    parser.add_argument("--lease", type=float, default=1.0)
    options, rest = parser.parse_known_args(arguments)
    model, pace = Dreams(options.takes, options.calls), Pace(lease_s=options.lease)
    vars(serve)["assemble"] = partial(assembly.assemble, model=model, pace=pace)
    return cli.main(["serve", *rest])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
