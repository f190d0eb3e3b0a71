"""Facts about a Redis server: whether it can be used at all, and whether it may lose data.

They are read at start, after an outage and at each probe, because an operator may change them while the server runs.
"""

from collections.abc import Awaitable, Callable, Mapping

import msgspec
import redis.exceptions as raised

from sidemirror_server.vocabulary.errors import StoreRefused

Ask = Callable[..., Awaitable[object]]


class RedisFacts(msgspec.Struct, frozen=True):
    """Facts about one Redis server. A field is None if the server does not report it, as hosted servers often do not.

    `run_id` changes at each start. `evicted_keys` counts since the start. `policy` and `memory_limit_bytes` (0: no
    limit) decide what happens when memory is full. `is_logging` (the append-only file), `fsync` (always, everysec, no)
    and `has_snapshots` decide which data survives a crash. `marker` changes when the server was flushed; empty if
    unknown.
    """

    run_id: str = ""
    evicted_keys: int = 0
    policy: str | None = None
    memory_limit_bytes: int | None = None
    is_logging: bool | None = None
    fsync: str | None = None
    has_snapshots: bool | None = None
    marker: str = ""

    @property
    def risks(self) -> tuple[str, ...]:
        """How acknowledged writes may be lost, as sentences; empty if they cannot."""
        return (*self.memory_risks, *self.restart_risks)

    @property
    def memory_risks(self) -> tuple[str, ...]:
        """Those of a memory that is full."""
        if self.policy is None or self.memory_limit_bytes is None:
            return ("whether it evicts when its memory is full is not known",)
        if self.policy != "noeviction" and self.memory_limit_bytes:
            return (f"it may evict when its memory is full (maxmemory-policy {self.policy})",)
        return ()

    @property
    def restart_risks(self) -> tuple[str, ...]:
        """Those of a restart."""
        if self.is_logging is None:
            return ("whether it keeps anything over a restart is not known",)
        if self.is_logging:
            # With fsync everysec or no, only a crash of the machine loses writes; `durability` reports that.
            return ()
        if self.has_snapshots is None:
            return ("what it keeps over a restart is not known (appendonly no)",)
        if self.has_snapshots:
            return ("a restart may forget what came since its last snapshot (appendonly no)",)
        return ("a restart forgets everything (appendonly no, no snapshots)",)

    @property
    def durability(self) -> str:
        """Which crashes an acknowledged write survives, as a sentence for people."""
        if self.risks:
            return f"{'; '.join(self.risks)}; what is lost within 7 days is published again from finished reports"
        survives = {
            "always": "an OK survives a crash of Redis and of its machine (appendfsync always)",
            "everysec": "an OK survives a crash of Redis; one of its machine may take the last second with it "
            "(appendfsync everysec)",
        }
        return survives.get(self.fsync or "", "an OK survives a crash of Redis, not always one of its machine")


async def examine(ask: Ask) -> RedisFacts:
    """The facts about the server that `ask` sends commands to.

    Raises StoreRefused for a server that cannot be used, and the errors of `ask`.
    """
    try:
        told = _facts(await ask("INFO"))
    except raised.NoPermissionError:
        told = {}
    if told.get("cluster_enabled") == "1" or told.get("redis_mode") == "cluster":
        reason = "it is a Redis Cluster, which keeps keys apart that are written together here; use one without Cluster"
        raise StoreRefused(store="redis", reason=reason)
    if told.get("redis_mode") == "sentinel":
        raise StoreRefused(store="redis", reason="it is a Sentinel, which keeps no data; name the primary itself")
    set_to = await _settings(ask)
    logging, limit = told.get("aof_enabled"), told.get("maxmemory")
    return RedisFacts(
        run_id=told.get("run_id", ""),
        evicted_keys=int(told.get("evicted_keys", "0")),
        policy=told.get("maxmemory_policy") or set_to.get("maxmemory-policy"),
        memory_limit_bytes=int(limit) if limit is not None else None,
        is_logging=None if logging is None else logging == "1",
        fsync=set_to.get("appendfsync"),
        has_snapshots=bool(set_to["save"]) if "save" in set_to else None,
    )


async def _settings(ask: Ask) -> Mapping[str, str]:
    """The settings that CONFIG GET returns; empty if the command is forbidden."""
    found: dict[str, str] = {}
    for name in ("maxmemory-policy", "appendfsync", "save"):  # before Redis 7 CONFIG GET takes one name
        try:
            answer = await ask("CONFIG", "GET", name)
        except raised.ResponseError:
            return found
        if isinstance(answer, list) and len(answer) == 2:
            found[name] = answer[1].decode()
    return found


def _facts(info: object) -> Mapping[str, str]:
    """The `name:value` lines of an INFO answer."""
    lines = info.decode(errors="replace").splitlines() if isinstance(info, bytes) else []
    return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))
