"""What the console costs whoever does not use it: `uv run python -m bench.console`.

Starts sidecars in turn from the package as it is and from a copy without the console, without an HTTP door, and from
the package as it is with one. Prints the wheel's size, the CPU time of a start until the sidecar is quiet, and what it
then holds in memory: medians of `--starts`, with the lower and the upper quartile in brackets. A difference that lies
within them is none that this run shows. The wheel is built as a release builds it.
"""

import argparse
import asyncio
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.figures import median, share
from bench.processes import Servers

_ROOT = Path(__file__).parent.parent
_PACKAGE = "sidemirror_server"
# What is left out of the copy, below the package.
_CONSOLE = "http/console"


class Cost(NamedTuple):
    """Of one way to start a sidecar."""

    name: str
    wheel_bytes: int
    starts_cpu_ms: tuple[float, ...]
    resident_mb: tuple[float, ...]


def wheels_bytes(folder: Path) -> tuple[int, int]:
    """The size of the server's wheel, and of the same one without the console's files."""
    build = ("uv", "build", "--quiet", "--wheel", "--package", "sidemirror-server", "--out-dir", str(folder))
    subprocess.run(build, cwd=_ROOT, check=True)
    (wheel,) = folder.glob("*.whl")
    less = folder / "less.zip"
    with zipfile.ZipFile(wheel) as given, zipfile.ZipFile(less, "w") as made:
        for member in given.infolist():
            if not member.filename.startswith(f"{_PACKAGE}/{_CONSOLE}/"):
                made.writestr(member, given.read(member), zipfile.ZIP_DEFLATED)
    return wheel.stat().st_size, less.stat().st_size


def without_console(folder: Path) -> Path:
    """A folder with a copy of the server's package that has no console."""

    def left_out(path: str, names: list[str]) -> set[str]:
        is_http = path.endswith(f"{_PACKAGE}/http")
        return {name for name in names if name == "__pycache__" or (is_http and name == "console")}

    shutil.copytree(_ROOT / "server" / _PACKAGE, folder / _PACKAGE, ignore=left_out)
    assert not (folder / _PACKAGE / _CONSOLE).exists()
    return folder


async def measure(folder: Path, starts: int) -> list[Cost]:
    """The cost of each way to start, each as often, in turn."""
    whole, less = wheels_bytes(folder / "wheels")
    build = without_console(folder / "without")
    found: dict[str, list[tuple[float, float]]] = {}
    for place in ("a", "b"):
        (folder / place).mkdir()
    with Servers(folder / "a") as servers, Servers(folder / "b", build) as others:
        ways = (
            ("without the console's files", less, others, ()),
            ("with them", whole, servers, ()),
            ("with them, and the HTTP door", whole, servers, ("--http-address", "127.0.0.1:0")),
        )
        for round_ in range(starts + 1):
            for name, _, own, flags in ways:
                server = await own.sidecar(*flags)
                await server.quiet(0.1)
                if round_:  # the first compiles
                    found.setdefault(name, []).append((1_000 * server.cpu_s(), server.resident_mb()))
                own.stop(server)
    costs = []
    for name, size, _, _ in ways:
        cpu_ms, resident_mb = zip(*found[name], strict=True)
        costs.append(Cost(name, size, cpu_ms, resident_mb))
    return costs


def table(costs: list[Cost]) -> str:
    lines = ["| sidecar | wheel, KB | start, ms of CPU | memory, MB |", "|---|---|---|---|"]
    for name, size, cpu_ms, resident_mb in costs:
        lines.append(f"| {name} | {size / 1e3:,.0f} | {_spread(cpu_ms, 0)} | {_spread(resident_mb, 1)} |")
    return "\n".join(lines)


def _spread(values: Sequence[float], digits: int) -> str:
    """The median, and the quartiles beside it."""
    low, high = share(values, 0.25), share(values, 0.75)
    return f"{median(values):.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(table(asyncio.run(measure(Path(folder), options.starts))))


if __name__ == "__main__":
    main()
