"""`uv run python -m bench.world`: what an agent learns in a made-up organisation with a sidecar, and without one.

40 seeds live 200 episodes in four arms; `--unseen` lives 10 others, on which nothing was tuned. Figures are printed,
and the plot is written beside this file unless `--plot` names another one. `--rules` takes the product's rules without
a sidecar and without templates: minutes instead of an hour. With `--keep FOLDER` parts that are done stay there, and a
run that was broken off goes on; the folder is of one state of the code.

`--process` takes a sidecar in a process of its own, as it is installed, over gRPC (`process.py`), beside no sidecar: by
default 5 seeds, 60 episodes and 5 minutes for every 5 seeds. `--full` lives all seeds and episodes, however long that
takes.
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.world.conventions import EPISODES
from bench.world.figures import goals, table_of_arms, table_of_conventions
from bench.world.lives import Hosted, live_all
from bench.world.plot import svg
from bench.world.running import Arm

SEEDS: Final = range(1, 41)
UNSEEN: Final = range(41, 51)
_PLOTS: Final = Path(__file__).parent
# What `--process` lives unless it is told more. Chosen here: most of what is told is told by then.
_FEWER_SEEDS: Final = 5
_FEWER_EPISODES: Final = 60
_SHORT_S: Final = 300.0


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.world")
    parser.add_argument("--unseen", action="store_true", help="live the seeds that are for the end")
    parser.add_argument("--rules", action="store_true", help="the rules alone, without a sidecar")
    parser.add_argument("--process", action="store_true", help="a sidecar in a process of its own")
    parser.add_argument("--full", action="store_true", help="with --process: all seeds and episodes")
    parser.add_argument("--within-s", type=float, help="with --process: seconds for every 5 seeds")
    parser.add_argument("--seeds", type=int, default=0, help="only the first so many seeds")
    parser.add_argument("--template-seeds", type=int, default=0, help="only so many of them with templates alone")
    parser.add_argument("--episodes", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args(arguments)
    every = UNSEEN if options.unseen else SEEDS
    is_short = options.process and not options.full
    seeds = every[: options.seeds or (_FEWER_SEEDS if is_short else None)]
    episodes = options.episodes or (_FEWER_EPISODES if is_short else EPISODES)
    within_s = options.within_s or (_SHORT_S if is_short else math.inf)
    arms = {arm: seeds[: options.template_seeds or None] if arm is Arm.TEMPLATES else seeds for arm in Arm}
    host = Hosted.RULES if options.rules else Hosted.PROCESS if options.process else Hosted.HERE
    if host is Hosted.RULES:
        del arms[Arm.TEMPLATES]
    if host is Hosted.PROCESS:
        arms = dict.fromkeys((Arm.NONE, Arm.WITHHELD), seeds)
    lives = live_all(arms, episodes, options.processes, options.keep, host=host, within_s=within_s)
    told = Arm.WITHHELD if host is Hosted.PROCESS else Arm.RECOVERIES
    lived = max(one.episode for one in lives[told].met) + 1
    print(f"{lived} episodes of {episodes}\n")
    print("\n".join(table_of_arms(lives)) + "\n")
    print("\n".join(table_of_conventions(lives[told].met)) + "\n")
    print("\n".join(goals(lives, told)))
    name = {Hosted.RULES: "learned-by-rules.svg", Hosted.HERE: "learned.svg", Hosted.PROCESS: ""}[host]
    plot = options.plot or (_PLOTS / name if name else None)
    if plot is not None:
        plot.write_text(svg(lives))


if __name__ == "__main__":
    main()
