"""The rows of the table: what each is called, its unit, and which way is better."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple


class Row(NamedTuple):
    """`digits` after the point. `less`: less is better."""

    measure: str
    title: str
    digits: int = 0
    less: bool = True

    @property
    def way(self) -> str:
        """Which way is better, in words."""
        return "less is better" if self.less else "more is better"


SETS: Final = ("made-shared", "made-other", "HotpotQA", "tau")
_SETS = {
    "made-shared": "24 questions in a lesson's own words, 24 lessons",
    "made-other": "24 questions in other words, the same lessons",
    "HotpotQA": "100 recorded questions, HotpotQA",
    "tau": "100 recorded questions, tau",
}
_PROCEDURES = "40 questions of Proced_mem_bench, 336 trajectories"

ROWS: Final[Mapping[str, Row]] = MappingProxyType(
    {
        **{f"recall-{name}": Row("retrieval", f"{title}: recall at 5", 3, less=False) for name, title in _SETS.items()},
        **{f"hit-{name}": Row("retrieval", f"{title}: hit at 1", 3, less=False) for name, title in _SETS.items()},
        "precision-procedures": Row("retrieval", f"{_PROCEDURES}: precision at 5", 3, less=False),
        "hit-procedures": Row("retrieval", f"{_PROCEDURES}: hit at 1", 3, less=False),
        "lost": Row("lost", "acknowledged texts that are gone after kill -9"),
        "unfound": Row("lost", "acknowledged texts that are there, and are not found by their words"),
        "grown": Row("growth", "memories after the same episode again and again"),
        "grown-echo": Row("growth", "memories after it, when each transcript repeats what was recalled"),
        "grown-bytes": Row("growth", "bytes on disk for each time of the same episode"),
        "foreign-asked": Row("foreign", "texts of others among the answers to a user's questions"),
        "foreign-listed": Row("foreign", "texts of others in a user's list"),
        "foreign-read": Row("foreign", "texts of others read by their ids"),
        "residue": Row("erasure", "canaries still in files after the contender's own delete"),
        "residue-stopped": Row("erasure", "canaries still in files after the process has ended"),
        "poison-false": Row("poison", "false lessons told, of 24 kept as texts"),
        "poison-false-beside": Row("poison", "false lessons told, of 24 kept beside the true ones"),
        "poison-order": Row("poison", "orders to the reader told, of 24 kept as texts"),
        "poison-order-beside": Row("poison", "orders to the reader told, of 24 kept beside true lessons"),
        "poison-true": Row("poison", "true lessons told beside the orders, of 24", less=False),
        "poison-tool": Row("poison", "orders to the reader told, of 24 in tools' results of episodes"),
        "repair-right": Row("repair", "failures for which the right repair is told, of 12", less=False),
        "repair-wrong": Row("repair", "failures for which one that never worked is told, of 12"),
        "repair-tokens": Row("repair", "tokens told at a failure, median"),
        "harm-tasks": Row("harm", "tasks until a harmful lesson is gone, median"),
        "cost-asked": Row("cost", "ms before a turn: what is told, median"),
        "cost-lived": Row("cost", "ms after a turn: its episode is kept, median"),
        "cost-tokens": Row("cost", "tokens told for a turn, median"),
        "cost-resident": Row("cost", "MiB resident, all its processes"),
    }
)

MEASURES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "retrieval": "Retrieval",
        "lost": "Acknowledged writes over kill -9",
        "growth": "Junk and echo",
        "foreign": "Another user asks",
        "erasure": "What is left after an erasure",
        "poison": "Planted texts",
        "repair": "What repaired this failure",
        "harm": "A harmful lesson",
        "cost": "Cost of a turn",
    }
)


class Scale(NamedTuple):
    """How much is done. `queries`: of each recorded set. `procedures`: a clone of Proced_mem_bench, or None."""

    queries: int
    kills: int
    replays: int
    echoes: int
    canaries: int
    lives: int
    tasks: int
    kept: int
    turns: int
    procedures: Path | None = None


FULL: Final = Scale(100, 5, 1_000, 50, 20, 3, 1_000, 300, 30)
QUICK: Final = Scale(5, 1, 5, 5, 3, 1, 300, 20, 5)


class Found(NamedTuple):
    """A cell's figure, and what belongs to it in words."""

    row: str
    value: float
    detail: str = ""
