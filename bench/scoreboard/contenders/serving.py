"""What the process of a contender does: it reads an order a line on its standard input and answers each with a line.

Runs in the contender's own environment, so it knows nothing of ours. An order names a verb of the adapter and its
arguments. The answer has what the verb returned, or why the contender cannot do it, and how long it took here.
"""

import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

K = 5
"""How many memories an agent is given."""
AT_A_FAILURE = 1
"""How many episodes it is given when a call fails: the nearest of those that went well."""


class Cannot(Exception):  # an answer, not a fault
    """The contender has no way to do this; the reason is for people."""


class Embedding:
    """The endpoint of the sentence model that every contender may use: vectors of texts, by OpenAI's protocol."""

    name, dimensions = "all-MiniLM-L6-v2", 384

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, texts: list[str]) -> list[list[float]]:
        import urllib.request

        body = json.dumps({"model": self.name, "input": texts}).encode()
        asked = urllib.request.Request(f"{self.url}/embeddings", body, {"content-type": "application/json"})
        with urllib.request.urlopen(asked, timeout=120) as answer:
            return [one["embedding"] for one in json.load(answer)["data"]]


def transcript(task: str, steps: list[dict[str, Any]], outcome: str) -> str:
    """An episode as one text, for whoever keeps texts."""
    told = [f"{step['tool']}({step['arguments']}) -> {'ERROR ' if step['failed'] else ''}{step['result']}"
            for step in steps]  # fmt: skip
    return "\n".join([f"Task: {task}", *told, f"Outcome: {outcome}"])


class Texts(ABC):
    """A contender that keeps texts and finds the nearest ones. An episode is one text, with its outcome beside it."""

    @abstractmethod
    def keep(self, user: str, texts: list[str], outcome: str = "") -> list[str]:
        """Keeps texts, and returns their ids. `outcome`: how the episode ended, where each text is one."""

    @abstractmethod
    def find(self, user: str, text: str, k: int, outcome: str = "") -> list[list[str]]:
        """The id and the text of each of the k nearest; with an outcome, of the episodes that have ended so."""

    def told(self, user: str, task: str) -> str:
        return "\n".join(text for _, text in self.find(user, task, K))

    def live(self, user: str, task: str, steps: list[dict[str, Any]], outcome: str) -> None:
        self.keep(user, [transcript(task, steps, outcome)], outcome)

    def repair(self, user: str, task: str, step: dict[str, Any]) -> str:
        query = f"{task}\n{step['tool']}({step['arguments']}) -> ERROR {step['result']}"
        return "\n".join(text for _, text in self.find(user, query, AT_A_FAILURE, "success"))

    def settle(self, user: str) -> str:  # noqa: ARG002 - whoever is not done with its answer waits for that user
        return ""

    def advised(self, **_asked: Any) -> None:
        raise Cannot("takes no outcomes")


def serve(open_contender: Callable[..., Any]) -> None:
    """Answers until the standard input ends. Libraries print; answers go another way. A contender is opened with its
    folder, the sentence model, and the interpreter of the environment beside its own, if it has one."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    contender = open_contender(Path(sys.argv[1]), Embedding(sys.argv[2]), *sys.argv[3:])
    for line in sys.stdin:
        order = json.loads(line)
        began = time.perf_counter()
        try:
            answer = {"value": getattr(contender, order.pop("do"))(**order)}
        except Cannot as error:
            answer = {"cannot": str(error)}
        answer["took_s"] = time.perf_counter() - began
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    contender.close()
