"""`sidemirror serve` whose looks follow each other at once, to be killed in the middle of them. Leases are short, and a
project is due as soon as it has something to dream about, also after a pass that changed nothing."""

import sys

from sidemirror_server import cli
from sidemirror_server.assembly import assembled, upkeep
from sidemirror_server.memory.dreams import dreams
from sidemirror_server.work.worker import Pace


def main(arguments: list[str]) -> int:
    for pause in ("SWEEP_EVERY_S", "JOBS_EVERY_S", "DREAMS_EVERY_S"):
        vars(upkeep)[pause] = 0.02
    vars(assembled)["_PACE"] = Pace(lease_s=1.0)
    vars(dreams)["QUIET_US"] = vars(dreams)["FIRST_REST_US"] = 0
    return cli.main(["serve", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
