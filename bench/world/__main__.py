"""`uv run python -m bench.world`: what an agent learns in a made-up organisation with a sidecar, and without one.

40 seeds live 200 episodes in four arms; `--unseen` lives 10 others that nobody looked at while building. Figures are
printed, and the plot is written beside this file unless `--plot` names another one. `--rules` takes the product's
rules without a sidecar and without templates: minutes instead of an hour. With `--keep FOLDER` parts that are
done stay there, and a run that was broken off goes on; the folder is of one state of the code.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.world.conventions import EPISODES
from bench.world.figures import goals, table_of_arms, table_of_conventions
from bench.world.lives import live_all
from bench.world.plot import svg
from bench.world.running import Arm

SEEDS: Final = range(1, 41)
UNSEEN: Final = range(41, 51)
_PLOTS: Final = Path(__file__).parent


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.world")
    parser.add_argument("--unseen", action="store_true", help="live the seeds that are for the end")
    parser.add_argument("--rules", action="store_true", help="the rules alone, without a sidecar")
    parser.add_argument("--seeds", type=int, default=0, help="only the first so many seeds")
    parser.add_argument("--template-seeds", type=int, default=0, help="only so many of them with templates alone")
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args(arguments)
    every = UNSEEN if options.unseen else SEEDS
    seeds = every[: options.seeds or None]
    arms = {arm: seeds[: options.template_seeds or None] if arm is Arm.TEMPLATES else seeds for arm in Arm}
    if options.rules:
        del arms[Arm.TEMPLATES]
    lives = live_all(arms, options.episodes, options.processes, options.keep, by_rules=options.rules)
    print("\n".join(table_of_arms(lives)) + "\n")
    print("\n".join(table_of_conventions(lives[Arm.RECOVERIES].met)) + "\n")
    print("\n".join(goals(lives)))
    plot = options.plot or _PLOTS / ("learned-by-rules.svg" if options.rules else "learned.svg")
    plot.write_text(svg(lives))


if __name__ == "__main__":
    main()
