"""`sidemirror serve` with a model that takes its time. Its own arguments come before those of serve:

--takes SECONDS   how long an answer takes: between nothing and twice that
--fails RATIO     how many of the calls fail
--calls FILE      where each call is noted, as a line, before it is answered
"""

import argparse
import asyncio
import itertools
import os
import random
import sys
from functools import partial
from pathlib import Path

from sidemirror_server import assembly, cli
from sidemirror_server.models.answers import GoalAnswer
from sidemirror_server.models.language_model import AnswerT, Ask, Completion
from sidemirror_server.operations import serve
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage


class TakesItsTime:
    """No two of its answers are the same, so that one that was told twice shows."""

    provider = "test"
    name = "takes-its-time"

    def __init__(self, takes_s: float, fails: float = 0.0, calls: Path | None = None) -> None:
        self.calls = 0
        self._takes_s = takes_s
        self._fails = fails
        self._noted = calls
        self._chance = random.Random()
        self._numbers = itertools.count(1)

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        self.calls += 1
        if self._noted is not None:
            with self._noted.open("a") as file:
                file.write("call\n")
        if self._takes_s:
            await asyncio.sleep(self._takes_s * self._chance.uniform(0, 2))
        if self._chance.random() < self._fails:
            raise ModelFailed(ResultStatus.FAILED_MODEL, "as told", retryable=False)
        answer = GoalAnswer(insight=f"Answer {next(self._numbers)} of process {os.getpid()}.")
        assert isinstance(answer, ask.answer_type)
        return Completion(answer, Usage(self.provider, self.name))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--takes", type=float, default=0.0)
    parser.add_argument("--fails", type=float, default=0.0)
    parser.add_argument("--calls", type=Path)
    options, rest = parser.parse_known_args(arguments)
    model = TakesItsTime(options.takes, options.fails, options.calls)
    vars(serve)["assemble"] = partial(assembly.assemble, model=model)
    return cli.main(["serve", *rest])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
