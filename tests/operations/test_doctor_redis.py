"""What `sidemirror doctor` says of the Redis that the lessons of goals are published in."""

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import product
from tests.operations.test_doctor import found, wrong
from tests.redis.server import RedisServer


def told(folder: Path, **flags: Any) -> list[tuple[str, str]]:
    """What was found of it that is well, and what could be changed."""
    findings = found(folder, **flags).findings
    return [(one.found, one.advice) for one in findings if one.found.startswith("Redis") and one.ok]


def test_one_that_keeps_everything(own_server: RedisServer, tmp_path: Path) -> None:
    said = "Redis: an OK survives a crash of Redis and of its machine (appendfsync always)"
    assert told(tmp_path, redis_url=own_server.url) == [(said, "")]
    assert own_server.ask("DBSIZE") == 0, "it looks and changes nothing"


def test_one_that_may_forget(own_server: RedisServer, tmp_path: Path) -> None:
    """It serves all the same: what is lost comes back from finished reports."""
    for name, value in (("appendonly", "no"), ("maxmemory", "20mb"), ("maxmemory-policy", "allkeys-lru")):
        own_server.ask("CONFIG", "SET", name, value)
    (evicts, first), (forgets, second) = told(tmp_path, redis_url=own_server.url)
    assert "maxmemory-policy allkeys-lru" in evicts
    assert first.startswith("set maxmemory-policy to noeviction")
    assert "appendonly no" in forgets
    assert second.startswith("set appendonly to yes")
    assert wrong(tmp_path, redis_url=own_server.url) == []


def test_the_log_is_no_part_of_the_findings(own_server: RedisServer, tmp_path: Path) -> None:
    """Seen to fail with a first line `store_not_durable`, without mark or meaning, and with `store_away`."""
    own_server.ask("CONFIG", "SET", "appendonly", "no")
    for url in (own_server.url, f"unix://{tmp_path}/none"):
        ran = product.run("doctor", "--address", "127.0.0.1:0", cwd=tmp_path, SIDEMIRROR_REDIS_URL=url)
        assert "store: Redis" in ran.stdout
        assert ran.stderr == ""


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("unix://user:hunter2@/nowhere/at/all?db=1", "unix:/nowhere/at/all"),
        ("redis://user:hunter2@127.0.0.1:1/2", "127.0.0.1:1"),
        ("redis://127.0.0.1:1?password=hunter2", "127.0.0.1:1"),
        ("redis://[::1]:1", "[::1]:1"),
    ],
)
def test_one_that_is_away(url: str, place: str, tmp_path: Path) -> None:
    """Seen to fail when the doctor does not look at redis_url, and without the place."""
    examination = found(tmp_path, redis_url=url)
    (away,) = [one for one in examination.findings if not one.ok]
    assert away.found == f"Redis {place}: it does not answer"
    assert away.advice == "start it, or change SIDEMIRROR_REDIS_URL"
    assert "hunter2" not in repr(examination)


def test_one_that_can_never_be_used(tmp_path: Path) -> None:
    """Seen to fail when the doctor does not look at redis_url."""
    (refused,) = wrong(tmp_path, redis_url="http://:hunter2@somewhere")
    assert refused.found.startswith("Redis: its URL is not one of")
    assert refused.advice == "change SIDEMIRROR_REDIS_URL, or that server"
    assert "hunter2" not in repr(refused)
