"""What the process of a contender does: it reads an order a line on its standard input and answers each with a line.

Runs in the contender's own environment, so it knows nothing of ours. An order names a verb of the adapter and its
arguments. The answer has what the verb returned, or why the contender cannot do it, and how long it took here.
"""

import json
import os
import sys
import time
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
