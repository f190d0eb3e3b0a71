"""`sidemirror serve` with what a test puts in its place. Its own arguments come before those of serve:

--model never   a model that never answers
--grace S       a turn that was finished waits so long for what is being made for it
--days-ahead N  the machine's clock is so many days ahead
--switch        the store is behind a switch: SIGUSR1 takes it away, SIGUSR2 gives it back
"""

import argparse
import signal
import sys
from functools import partial
from typing import Any

from sidemirror_server import assembly, cli
from sidemirror_server.assembly import stores as opened
from sidemirror_server.operations import serve
from sidemirror_server.turns.limits import TurnLimits
from tests.faults.clocks import Shifted
from tests.faults.models import NeverAnswers
from tests.faults.stores import Fault, Switch, behind


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--model", choices=["rules", "never"], default="rules")
    parser.add_argument("--grace", type=float)
    parser.add_argument("--days-ahead", type=int)
    parser.add_argument("--switch", action="store_true")
    options, rest = parser.parse_known_args(arguments)
    given: dict[str, Any] = {}
    if options.model == "never":
        given["model"] = NeverAnswers()
    if options.grace is not None:
        given["turn_limits"] = TurnLimits(finish_grace_s=options.grace)
    if options.days_ahead is not None:
        given["clock"] = Shifted(options.days_ahead)
    vars(serve)["assemble"] = partial(assembly.assemble, **given)
    if options.switch:
        switch = Switch()
        vars(opened)["_embedded"] = behind(switch, opened._embedded)
        signal.signal(signal.SIGUSR1, lambda *_: switch.turn(Fault.AWAY))
        signal.signal(signal.SIGUSR2, lambda *_: switch.turn(Fault.NONE))
    return cli.main(["serve", *rest])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
