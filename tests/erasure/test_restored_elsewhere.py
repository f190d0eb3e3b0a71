"""A Redis that was restored by its own means: `sidemirror erase --again` applies tombstones to it. The same
for Postgres stands in tests/postgres/test_backup.py.

Seen to fail with a command that looked at the store beside Redis alone."""

from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import sidecar_pb2
from sidemirror_server.cli import main
from tests.erasure.people import Stubs, canary, live, subject
from tests.erasure.test_erase import Store
from tests.redis.server import RedisServer
from tests.wire.sidecar import sidecar

PEOPLE = 2


def test_redis_is_restored_by_itself(
    tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own tombstones are enough: the store beside it has them."""
    store = Store(tmp_path, request, "redis")
    assert store.redis is not None
    word, listed = canary(0), tmp_path / "erased.jsonl"
    with sidecar(tmp_path, settings=store.settings) as server, grpc.insecure_channel(server.address) as channel:
        stubs = Stubs(channel)
        for person in range(PEOPLE):
            live(stubs, person)
        kept = copied(store.redis)
        stubs.sidecar.Erase(sidecar_pb2.EraseRequest(subject_id=subject(0)))
        assert main(["erase", "--list", "--address", server.address]) == 0
        listed.write_text(capsys.readouterr().out)
    store.redis.ask("FLUSHALL")
    put_back(store.redis, kept)
    assert store.holds(word)
    others = store.holds(canary(1))
    command = ["erase", "--again", str(listed), "--data-dir", str(tmp_path / "data")]
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SIDEMIRROR_REDIS_URL", store.redis.url)
        assert main(command) == 0
        assert capsys.readouterr().out == "1 of the records were erased again.\n"
        assert store.holds(word) == {}
        assert store.holds(canary(1)).keys() >= {place for place in others if ":" in place}
        assert main(command) == 0
        assert capsys.readouterr().out == "0 of the records were erased again.\n"


def copied(server: RedisServer) -> dict[bytes, tuple[int, bytes]]:
    """Every key with its time to live in ms (0: none) and its value, as the server serialises it."""
    with client_of(server) as client:
        return {name: (max(0, client.pttl(name)), client.dump(name)) for name in client.scan_iter()}


def put_back(server: RedisServer, kept: dict[bytes, tuple[int, bytes]]) -> None:
    with client_of(server) as client:
        for name, (ttl_ms, value) in kept.items():
            client.restore(name, ttl_ms, value)


def client_of(server: RedisServer) -> Any:
    import redis

    return redis.Redis(unix_socket_path=str(server.socket))
