"""`sidemirror serve` whose recorder has a defect."""

import sys
from typing import Any

from sidemirror_server import cli
from sidemirror_server.turns.recorder import Recorder

CONTENT = "a value of the agent"


async def _broken(*_: Any) -> bool:
    raise AttributeError(CONTENT)


def main(arguments: list[str]) -> int:
    vars(sys.modules[Recorder.__module__])["Recorder"]._append = _broken
    return cli.main(["serve", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
