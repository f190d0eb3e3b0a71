"""What a peer's process does: it reads an order a line on its standard input and answers each with a line.

Runs in the peer's own environment, so it knows nothing of ours. Times are taken here: what it costs to ask is left out.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np


class Data:
    """Texts and their vectors, read from a folder that `bench/peers.py` wrote. Odd rows are another scope's."""

    def __init__(self, folder: Path) -> None:
        self.texts: list[str] = json.loads((folder / "texts.json").read_text())
        self.questions: list[str] = json.loads((folder / "questions.json").read_text())
        self.vectors = np.load(folder / "vectors.npy")
        self._meaning: dict[str, list[float]] = {}
        asked = np.load(folder / "question_vectors.npy")
        for text, vector in zip(self.questions, asked, strict=True):
            self._meaning[text] = vector.tolist()

    def prepare(self, first: int, count: int) -> list[int]:
        """Makes vectors of rows ready to be looked up; what was ready before is let go."""
        for text in list(self._meaning)[len(self.questions) :]:
            del self._meaning[text]
        numbers = list(range(first, first + count))
        for number in numbers:
            self._meaning[self.texts[number]] = self.vectors[number].tolist()
        return numbers

    def meaning(self, text: str) -> list[float]:
        """What stands in for an embedding model: a look-up."""
        return self._meaning[text]


def scope_of(number: int) -> str:
    return "default" if number % 2 == 0 else "t1"


class Peer(Protocol):
    """What is measured of a peer."""

    data: Data

    def fill(self, first: int, count: int) -> None:
        """Keeps rows before anything is measured, as fast as it can."""

    def write(self, numbers: list[int], writers: int) -> None:
        """Keeps rows one by one, each with its vector, each durable when it is kept."""

    def search(self, text: str, k: int) -> int:
        """Searches the scope `default`; how many were found."""


def serve(open_peer: Callable[[Data, Path], Peer]) -> None:
    # Libraries print; answers go another way.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    folder = Path(sys.argv[1])
    peer = open_peer(Data(folder), folder / "store")
    for line in sys.stdin:
        cpu = time.process_time()
        took = _done(peer, **json.loads(line))
        answers.write(json.dumps({"took": took, "cpu": time.process_time() - cpu}) + "\n")
        answers.flush()


def _done(peer: Peer, order: str, first: int, count: int, writers: int = 1) -> Any:
    if order == "search":
        return [_searched(peer, text) for text in peer.data.questions[first : first + count]]
    numbers = peer.data.prepare(first, count)
    began = time.perf_counter()
    if order == "fill":
        peer.fill(first, count)
    else:
        peer.write(numbers, writers)
    return time.perf_counter() - began


def _searched(peer: Peer, text: str) -> float:
    began = time.perf_counter()
    if peer.search(text, 5) == 0:
        raise AssertionError(f"nothing found for {text}")
    return time.perf_counter() - began
