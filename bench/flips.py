"""`uv run python -m bench.flips`: after how many tasks revisions are withheld, by what the critic does.

Each critic is simulated over many seeds. Of each task an answer is right with a probability of .6, and the critic asks
for its revision with one of .5. A revision flips a right answer to wrong, and a wrong one to right, each with the
critic's own probability. Both outcomes are reported, and the ledger of `critique/flips.py` is asked after each of them
whether revisions are withheld. Once they are, the critic's run ends. `--tasks` bounds a run.
"""

import argparse
import random
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from sidemirror_server.critique.flips import Flips

_RIGHT, _ASKS = 0.6, 0.5
SEEDS, TASKS = 500, 2_000


class Critic(NamedTuple):
    """With which probability a revision makes a right answer wrong, and a wrong one right."""

    name: str
    harms: float
    helps: float


CRITICS = (
    Critic("harms much", 0.30, 0.05),
    Critic("harms", 0.15, 0.05),
    # As many flips of each kind: there are more right answers than wrong ones.
    Critic("does nothing (no flips)", 0.0, 0.0),
    Critic("does nothing (flips even)", 0.10, 0.15),
    Critic("helps a little", 0.05, 0.15),
    Critic("helps", 0.02, 0.30),
)


def stopped_after(critic: Critic, seed: int, tasks: int) -> int | None:
    """The number of tasks until revisions are withheld; None if they never are."""
    chance = random.Random(f"{critic.name} {seed}")
    right_made_wrong = wrong_made_right = 0
    for task in range(1, tasks + 1):
        right, asked, flip = chance.random() < _RIGHT, chance.random() < _ASKS, chance.random()
        if not asked or flip >= (critic.harms if right else critic.helps):
            continue
        right_made_wrong += right
        wrong_made_right += not right
        if Flips(task, wrong_made_right, right_made_wrong).does_harm:
            return task
    return None


def runs(critic: Critic, seeds: int, tasks: int) -> list[int | None]:
    return [stopped_after(critic, seed, tasks) for seed in range(seeds)]


def _told(critic: Critic, found: Sequence[int | None], tasks: int) -> str:
    stopped = sorted(one for one in found if one is not None)
    share = f"{len(stopped) / len(found):.1%}"
    name = f"| {critic.name} | {critic.harms:.2f} | {critic.helps:.2f} | {share} "
    if len(stopped) < 2 or len(stopped) < len(found) / 2:
        return name + "| - | - |"
    # Over all runs, of which those that were not stopped took longer than any.
    p95 = [*stopped, *[tasks + 1] * (len(found) - len(stopped))][-(-95 * len(found) // 100) - 1]
    return name + f"| {statistics.median(stopped):.0f} | {p95 if p95 <= tasks else f'> {tasks}'} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.flips")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--tasks", type=int, default=TASKS)
    given = parser.parse_args()
    print(f"{given.seeds} seeds, at most {given.tasks} tasks each\n")
    print("| critic | right made wrong | wrong made right | stopped | tasks, median | p95 |\n|---|---|---|---|---|---|")
    for critic in CRITICS:
        print(_told(critic, runs(critic, given.seeds, given.tasks), given.tasks))


if __name__ == "__main__":
    main()
