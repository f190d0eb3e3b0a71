"""PgBouncer before a cluster, in transaction mode, with so few connections behind it that sidecars must share them."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from tests.postgres.cluster import PATIENCE_S, Cluster, as_nobody

_SETTINGS = """
[databases]
* = host={socket} user=sidecar

[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = {clients}
; Each test has a database of its own: those of ended tests leave their connections to the ones that come.
server_idle_timeout = 5
logfile = {folder}/log
pidfile = {folder}/pid
"""


def found() -> str | None:
    """Where PgBouncer is, if it is installed."""
    return shutil.which("pgbouncer", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))


# Where CI is set, its set-up (.ci/run) has installed it, or should have.
needs_pgbouncer = pytest.mark.skipif(
    found() is None and not os.environ.get("CI"), reason="PgBouncer is not installed (apt-get install pgbouncer)"
)


class Pooler:
    """One PgBouncer. Its clients are all the role `sidecar` behind it, whoever they say they are."""

    def __init__(self, cluster: Cluster, connections: int, clients: int = 500) -> None:
        """`connections`: to each database, at most. `clients`: connections that it takes."""
        program = found()
        assert program is not None
        self.folder = Path(tempfile.mkdtemp(prefix="sidemirror-pgbouncer-"))
        settings = self.folder / "pgbouncer.ini"
        settings.write_text(
            _SETTINGS.format(socket=cluster.socket, folder=self.folder, connections=connections, clients=clients)
        )
        command = [program, str(settings)]
        if os.geteuid() == 0:  # it refuses to be root
            shutil.chown(self.folder, "nobody")
            self.folder.chmod(0o755)
            command = as_nobody(*command)
        self._popen = subprocess.Popen(
            command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + PATIENCE_S
        while not self._takes_connections():
            assert self._popen.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)

    def _takes_connections(self) -> bool:
        """Its socket is there a moment before it listens."""
        with socket.socket(socket.AF_UNIX) as knock:
            return knock.connect_ex(str(self.folder / ".s.PGSQL.6432")) == 0

    @property
    def pid(self) -> int:
        return self._popen.pid

    def url(self, database: str) -> str:
        return f"postgresql://sidecar:hunter2@/{database}?host={self.folder}&port=6432"

    def log(self) -> str:
        log = self.folder / "log"
        return log.read_text(errors="replace")[-3000:] if log.exists() else "no log"

    def remove(self) -> None:
        self._popen.send_signal(signal.SIGTERM)
        self._popen.wait(PATIENCE_S)
        shutil.rmtree(self.folder)
