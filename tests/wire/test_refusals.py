"""What the log says of refused calls: who it was, and not more than anybody can read."""

import asyncio
import itertools
import logging
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.rpc.boundary import refusals
from sidemirror_server.rpc.boundary.refusals import Refusals, host_of
from sidemirror_server.rpc.listening import server as listening
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.scope import Scope
from tests.wire.access import ACME, EXPIRED, UNKNOWN, bearer, write_access
from tests.wire.sidecar import PATIENCE_S, SidecarThread, sidecar
from tests.wire.waiting import until


def refuse(address: str, token: str, times: int) -> None:
    with grpc.insecure_channel(address) as channel:
        stub = ThinkingServiceStub(channel)
        for _ in range(times):
            with pytest.raises(grpc.RpcError):
                stub.ListSessions(pb.ListSessionsRequest(), timeout=PATIENCE_S, metadata=bearer(token))


def lines(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    return [vars(record) for record in caplog.records if record.message == event]


def test_the_bounds() -> None:
    assert (refusals.PERIOD_S, refusals.LINES_OF_ONE, refusals.LINES) == (60.0, 20, 200)


def guess(address: str, times: int, first: int = 0) -> None:
    """Calls with another token each time, from that number on."""
    with grpc.insecure_channel(address) as channel:
        stub = ThinkingServiceStub(channel)
        for number in range(first, first + times):
            token = bearer(f"{number:064x}")
            with pytest.raises(grpc.RpcError):
                stub.ListSessions(pb.ListSessionsRequest(), timeout=PATIENCE_S, metadata=token)


def test_a_flood_of_guesses_leaves_few_lines_and_their_number(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Another one's line, and that of a token that is known, are not hidden by it. Seen to fail when `tell_stranger`
    does not look at how many there were (90 lines), and when it counts all peers together (no line of the others)."""
    begun_s = time.monotonic()
    file = write_access(tmp_path / "access.json")
    server = SidecarThread(tmp_path, settings={"access_file": str(file)})
    server.start()
    guess(server.address, 90)
    refuse(server.address, EXPIRED, 2)
    refuse(f"127.0.0.1:{server.port}", UNKNOWN, 1)
    server.stop()
    told = [(line["peer"].split(":")[0], line["token"]) for line in lines(caplog, "call_refused")]
    assert told == [("unix", "")] * 20 + [("unix", "old"), ("ipv4", "")]
    (more,) = lines(caplog, "more_calls_refused")
    assert more["count"] == 70
    assert (more["peers"], more["tokens"]) == ({"unix:": 70}, {})
    assert 0 <= more["seconds"] <= time.monotonic() - begun_s  # a fast machine takes no tenth of one


def test_their_number_is_told_while_they_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And then there are lines again. Seen to fail when `tell` starts no timer."""
    monkeypatch.setattr(refusals, "PERIOD_S", 0.3)
    tries = itertools.count()
    file = write_access(tmp_path / "access.json")
    with sidecar(tmp_path, settings={"access_file": str(file)}) as server:
        refuse(server.address, UNKNOWN, 1)

        def told_twice() -> bool:
            guess(server.address, 40, 40 * next(tries))
            return len(lines(caplog, "more_calls_refused")) >= 2

        until(told_twice)
        first, second = (caplog.text.index(text) for text in ("more_calls_refused", "call_refused"))
        assert first > second
    told = len(lines(caplog, "call_refused"))
    assert told > 20
    counted = sum(line["count"] for line in lines(caplog, "more_calls_refused"))
    assert (told + counted - 1) % 40 == 0


def test_who_is_over_a_limit_is_told_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Seen to fail when `_abort` tells of strangers only."""
    file = write_access(tmp_path / "access.json")
    given = {"access_file": str(file), "limits__requests_per_second": "1"}
    with sidecar(tmp_path, settings=given) as server, grpc.insecure_channel(server.address) as channel:
        stub = ThinkingServiceStub(channel)

        def refused() -> bool:
            try:
                stub.ListSessions(pb.ListSessionsRequest(tenant_id="acme"), timeout=PATIENCE_S, metadata=bearer(ACME))
            except grpc.RpcError:
                return True
            return False

        until(refused)
    line = lines(caplog, "call_refused")[0]
    assert line["peer"].startswith("unix:")
    assert (line["limit"], line["subject"]) == ("requests_per_second", "tenant acme")
    assert line["token"] == "acme"
    assert line["method"] == "sidemirror.v1.ThinkingService/ListSessions"


def test_many_strangers_take_little_memory(caplog: pytest.LogCaptureFixture) -> None:
    """A peer may have as many addresses as it likes. Seen to fail when `tell` knows no `others`."""

    async def tell() -> None:
        told = Refusals(SystemClock())
        for number in range(5_000):
            told.tell(f"ipv6:%5B2001:db8::{number:x}%5D:50051")
        assert len(told._of_one) <= 1_001
        told.close()

    with caplog.at_level(logging.WARNING):
        asyncio.run(tell())
    assert len(lines(caplog, "call_refused")) == 200
    (more,) = lines(caplog, "more_calls_refused")
    assert more["count"] == 4_800
    assert len(more["peers"]) == 10
    assert more["peers"]["others"] == 4_000


def test_the_rest_is_counted_by_token_too(caplog: pytest.LogCaptureFixture) -> None:
    """All of the HTTP door have one peer. Seen to fail when the summary names peers alone."""

    async def tell() -> None:
        told = Refusals(SystemClock())
        for number in range(90):
            told.tell("ipv4:127.0.0.1:50080", token="loud" if number % 3 else "", reason=f"limit {number}")
        told.close()

    asyncio.run(tell())
    (more,) = lines(caplog, "more_calls_refused")
    assert (more["peers"], more["tokens"]) == ({"ipv4:127.0.0.1": 50}, {"loud": 40})


def test_equal_refusals_have_one_line_and_hide_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """Seen to fail with a line for each up to twenty, behind which another limit of the same token had none."""

    async def tell() -> None:
        told = Refusals(SystemClock())
        for port in range(50):
            told.tell(f"ipv4:127.0.0.1:{port}", token="loud", limit="agent_calls")
        told.tell("ipv4:127.0.0.1:1", token="loud", limit="agent_streams")
        told.close()
        told.tell("ipv4:127.0.0.1:1", token="loud", limit="agent_calls")
        told.close()

    asyncio.run(tell())
    assert [line["limit"] for line in lines(caplog, "call_refused")] == ["agent_calls", "agent_streams", "agent_calls"]
    (more,) = lines(caplog, "more_calls_refused")
    assert more["tokens"] == {"loud": 49}


def test_a_call_that_fails_again_and_again_leaves_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    """Seen to fail when `tell_failure` writes every line."""

    async def tell() -> None:
        told = Refusals(SystemClock())
        for _ in range(50):
            told.tell_failure("a/B", ValueError("a defect"), Scope("acme", "shop"), token="checkout")
        told.tell_failure("a/C", ValueError("another one"))
        told.close()

    asyncio.run(tell())
    assert [line["method"] for line in lines(caplog, "call_failed")] == ["a/B"] * 20 + ["a/C"]
    first = lines(caplog, "call_failed")[0]
    assert (first["tenant_id"], first["project_id"], first["token"]) == ("acme", "shop", "checkout")
    (more,) = lines(caplog, "more_calls_failed")
    assert (more["count"], more["methods"]) == (30, {"a/B": 30})


def test_a_connection_that_says_nothing_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail without the channel argument."""
    assert listening.HANDSHAKE_MS == 10_000
    monkeypatch.setattr(listening, "HANDSHAKE_MS", 300)
    with sidecar(tmp_path) as server, socket.create_connection(("127.0.0.1", server.port)) as silent:
        silent.settimeout(PATIENCE_S)
        while silent.recv(4_096):
            pass  # the server's own greeting


def test_a_sidecar_may_open_as_many_files_as_it_is_allowed() -> None:
    """Seen to fail when the limit stays as it was."""
    lines = [
        "import resource",
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))",
        "from sidemirror_server.operations import serve",
        "serve._allow_descriptors()",
        "assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)",
    ]
    subprocess.run([sys.executable, "-c", "; ".join(lines)], check=True, timeout=PATIENCE_S)


@pytest.mark.parametrize(
    ("peer", "host"),
    [
        ("ipv4:10.0.0.7:41234", "ipv4:10.0.0.7"),
        ("ipv6:%5B::1%5D:41234", "ipv6:%5B::1%5D"),
        ("unix:", "unix:"),
        ("unix:/run/sidemirror.sock", "unix:/run/sidemirror.sock"),
    ],
)
def test_a_peer_without_its_port(peer: str, host: str) -> None:
    assert host_of(peer) == host


@pytest.fixture(autouse=True)
def _all_levels(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.INFO):
        yield
