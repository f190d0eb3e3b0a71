"""From exec to the first answer, and what an empty server holds in memory."""

from bench.figures import Figure, Scale, median
from bench.processes import Servers


async def start(servers: Servers, scale: Scale) -> list[Figure]:
    took: dict[str, list[float]] = {"floor": [], "own": []}
    resident: dict[str, list[float]] = {"floor": [], "own": []}
    for round_ in range(scale.starts + 1):
        for name, begin in (("floor", servers.floor), ("own", servers.sidecar)):
            server = await begin()
            await server.quiet(0.1)
            if round_:  # the first compiles
                took[name].append(server.started_s)
                resident[name].append(server.resident_mb())
            servers.stop(server)
    own, bare = median(took["own"]), median(took["floor"])
    held, least = median(resident["own"]), median(resident["floor"])
    return [
        Figure("start to SERVING / a bare server's", own / bare, 4, True, "×",
               f"{own * 1e3:.0f} ms against {bare * 1e3:.0f} ms"),
        Figure("resident memory when empty / a bare server's", held / least, 2, True, "×",
               f"{held:.1f} MB against {least:.1f} MB"),
    ]  # fmt: skip
