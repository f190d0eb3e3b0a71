"""What an idle sidecar holds in memory, by what it is set up with: `uv run python -m bench.resident`.

Nobody asks it anything, and no provider is called: the key is none. It is looked at `--after` seconds after it serves,
since a model's package is imported behind the first answer.
"""

import argparse
import asyncio
import os
import tempfile
from pathlib import Path

from bench.processes import Servers, free_port

_LOCAL = ("--model--provider", "openai_compatible", "--model--name", "m", "--model--base-url", "http://127.0.0.1:1/v1")
# Each as flags, and whether there is a key of Anthropic's.
SET_UP: dict[str, tuple[tuple[str, ...], bool]] = {
    "rules": ((), False),
    "rules, metrics": (("--metrics-address", ""), False),
    "Anthropic's models, metrics": (("--metrics-address", ""), True),
    "openai_compatible, metrics": (("--metrics-address", "", *_LOCAL), False),
}


async def measure(after_s: float, folder: Path) -> dict[str, float]:
    """MB resident of each."""
    found: dict[str, float] = {}
    for name, (flags, has_key) in SET_UP.items():
        os.environ.pop("ANTHROPIC_API_KEY", None)
        if has_key:
            os.environ["ANTHROPIC_API_KEY"] = "none"
        own = [one or f"127.0.0.1:{free_port()}" for one in flags]
        own_folder = folder / str(len(found))
        own_folder.mkdir()
        with Servers(own_folder) as servers:
            server = await servers.sidecar(*own)
            await asyncio.sleep(after_s)
            await server.quiet()
            found[name] = server.resident_mb()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--after", type=float, default=20.0, help="seconds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, megabytes in asyncio.run(measure(options.after, Path(folder))).items():
            print(f"{name}: {megabytes:.0f} MB")


if __name__ == "__main__":
    main()
