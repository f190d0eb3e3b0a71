"""Who gets through the HTTP door: tokens, the Host and the page that a request names, and what connections may cost."""

import http.client
import json
import logging
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server import cli
from sidemirror_server.http import listener
from sidemirror_server.http.connect import bodies
from sidemirror_server.operations.parsers.serving import HTTP_ADDRESS
from sidemirror_server.settings import BadSettings
from tests.http.callers import Refused, bearing, framed, refused, request
from tests.http.sidecars import door, token_of
from tests.wire.access import ACME, EXPIRED, INTRUDER, UNKNOWN, write_access
from tests.wire.calls import called
from tests.wire.sidecar import SidecarThread, sidecar, thinking
from tests.wire.waiting import until

FILE = "http-token"
LIST = "/sidemirror.v1.ThinkingService/ListTurns"
UNAUTHENTICATED = Refused("unauthenticated", "UNAUTHENTICATED")
DENIED = Refused("permission_denied", "SCOPE_NOT_PERMITTED")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with door(tmp_path_factory.mktemp("door")) as running:
        yield running


@pytest.fixture(scope="module")
def token(server: SidecarThread) -> str:
    return token_of(server.folder / "data")


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="none"),
        pytest.param(bearing(UNKNOWN), id="unknown"),
        pytest.param(bearing(""), id="empty"),
        pytest.param({"authorization": f"Basic {UNKNOWN}"}, id="another scheme"),
        pytest.param({"cookie": f"token={UNKNOWN}"}, id="a cookie"),
    ],
)
@pytest.mark.parametrize("path", [LIST, "/", "/nothing", "/../http-token"])
def test_without_the_token_nothing_is_answered(server: SidecarThread, headers: dict[str, str], path: str) -> None:
    """On loopback and without an access file too. Seen to fail when `Door` asks for a token only if `identity.asks`
    and the identity is gRPC's."""
    for method in ("POST", "GET", "OPTIONS", "HEAD"):
        answer = request(server.http_port, path, b"{}", headers, method=method)
        assert (answer.status, answer.headers["connection"]) == (401, "close")
        if method != "HEAD":
            assert refused(answer.json) == UNAUTHENTICATED


def test_the_token_is_its_owners_alone_and_stays(tmp_path: Path) -> None:
    file = tmp_path / "data" / FILE
    for _ in range(2):
        with door(tmp_path) as server:
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            made = token_of(tmp_path / "data")
            assert len(made) == 64
            assert request(server.http_port, LIST, b"{}", bearing(made)).status == 200
        assert token_of(tmp_path / "data") == made
    assert [path.name for path in file.parent.iterdir() if path.name.startswith(FILE)] == [FILE]


@pytest.mark.parametrize(("mode", "content"), [(0o644, "a" * 64), (0o600, "short"), (0o600, "")])
def test_a_token_that_is_no_secret_ends_the_start(mode: int, content: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    file = tmp_path / "data" / FILE
    file.write_text(content)
    file.chmod(mode)
    with pytest.raises(BadSettings, match=FILE), door(tmp_path):
        pass


def test_a_new_token_counts_without_a_restart(tmp_path: Path) -> None:
    with door(tmp_path) as server:
        file, old = tmp_path / "data" / FILE, token_of(tmp_path / "data")
        new = file.with_suffix(".new")
        new.touch(mode=0o600)
        new.write_text(UNKNOWN)
        new.replace(file)
        until(lambda: request(server.http_port, LIST, b"{}", bearing(UNKNOWN)).status == 200)
        assert request(server.http_port, LIST, b"{}", bearing(old)).status == 401


def test_tokens_of_the_access_file_count_for_http_too(tmp_path: Path) -> None:
    """The tenant is the token's, and there is no other token."""
    access = write_access(tmp_path / "access.json")
    with door(tmp_path, {"access_file": str(access)}) as server:
        assert not (tmp_path / "data" / FILE).exists()

        def listed(token: str, tenant: str) -> Refused | None:
            answer = request(server.http_port, LIST, json.dumps({"tenantId": tenant}).encode(), bearing(token))
            return None if answer.status == 200 else refused(answer.json)

        assert listed(ACME, "acme") is None
        assert listed(INTRUDER, "acme") == DENIED
        assert listed(EXPIRED, "acme") == UNAUTHENTICATED


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"host": "evil.test"}, id="a name that was made to point here"),
        pytest.param({"host": "127.0.0.1"}, id="no port"),
        pytest.param({"host": "127.0.0.1:1"}, id="another port"),
        pytest.param({"origin": "https://evil.test"}, id="another site"),
        pytest.param({"origin": "null"}, id="a page without an origin"),
        pytest.param({"origin": "http://127.0.0.1:1"}, id="another page of this machine"),
        pytest.param({"origin": "https://localhost"}, id="another scheme"),
        pytest.param({"sec-fetch-site": "cross-site"}, id="sent from another site"),
        pytest.param({"sec-fetch-site": "same-site"}, id="sent from a page of another port"),
    ],
)
def test_another_host_or_site_is_refused_even_with_the_token(
    server: SidecarThread, token: str, headers: dict[str, str]
) -> None:
    answer = request(server.http_port, LIST, b"{}", {**bearing(token), **headers})
    assert (answer.status, refused(answer.json)) == (403, DENIED)


def test_a_form_of_another_site_changes_nothing(server: SidecarThread) -> None:
    """What a page can send without asking first: a form, and plain text that is JSON."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        headers = {"content-type": kind, "origin": "https://evil.test", "sec-fetch-site": "cross-site"}
        start = "/sidemirror.v1.ThinkingService/StartTurn"
        assert request(server.http_port, start, b'{"turnId": "forged"}', headers).status == 403
        del headers["origin"], headers["sec-fetch-site"]
        assert request(server.http_port, start, b'{"turnId": "forged"}', headers).status == 401
    with thinking(server) as stub:
        assert "forged" not in [turn.turn_id for turn in stub.ListTurns(pb.ListTurnsRequest(), timeout=60).turns]


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "LOCALHOST"])
def test_a_page_of_the_door_itself_is_served(server: SidecarThread, token: str, name: str) -> None:
    here = f"{name}:{server.http_port}"
    headers = {**bearing(token), "host": here, "origin": f"http://{here}", "sec-fetch-site": "same-origin"}
    assert request(server.http_port, LIST, b"{}", headers).status == 200


def test_a_preflight_is_answered_without_leave(server: SidecarThread) -> None:
    headers = {"origin": "https://evil.test", "access-control-request-method": "POST"}
    answer = request(server.http_port, LIST, headers=headers, method="OPTIONS")
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_refusals_are_logged_without_the_token(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with door(tmp_path) as server:
        request(server.http_port, LIST, b'{"turnId": "canary"}', bearing(UNKNOWN))
    assert UNKNOWN not in caplog.text
    assert "canary" not in caplog.text
    (line,) = [record for record in caplog.records if record.getMessage() == "call_refused"]
    assert vars(line)["method"] == LIST[1:]


def test_a_taken_port_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with door(tmp_path, {"http_address": address}) as server, thinking(server) as stub:
            stub.ListTurns(pb.ListTurnsRequest(), timeout=60)
            assert server.http_port == 0
    (line,) = [record for record in caplog.records if record.getMessage() == "http_not_served"]
    assert (line.levelno, vars(line)["address"]) == (logging.WARNING, address)


@pytest.mark.parametrize("address", ["0.0.0.0:0", "192.0.2.7:80", "unix:/tmp/s", "nowhere"])
def test_another_address_than_loopback_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="http_address"), door(tmp_path, {"http_address": address}):
        pass


def test_the_short_flag_names_a_place_on_loopback() -> None:
    parsed = cli.command_line().parse_args(["serve", "--http"])
    assert parsed.setting_http_address == HTTP_ADDRESS == "127.0.0.1:50080"


def test_without_a_door_nothing_listens(tmp_path: Path) -> None:
    with sidecar(tmp_path) as server:
        assert server.http_port == 0
        assert not (tmp_path / "data" / FILE).exists()


# --- what connections may cost


def test_connections_over_the_limit_are_refused_and_the_others_served(tmp_path: Path) -> None:
    """1,000 that say nothing. Seen to fail when `connection_made` does not count."""
    with door(tmp_path, {"limits__http_connections": "50"}) as server, ExitStack() as stack:
        token = token_of(tmp_path / "data")
        first = stack.enter_context(socket.create_connection(("127.0.0.1", server.http_port), 60))
        refusals = 0
        for number in range(1_000):
            opened = stack.enter_context(socket.create_connection(("127.0.0.1", server.http_port), 60))
            opened.settimeout(60)
            if number >= 49:
                refusals += opened.recv(100).startswith(b"HTTP/1.1 503 ")
        assert refusals == 951
        head = f"POST {LIST} HTTP/1.1\r\nhost: 127.0.0.1:{server.http_port}\r\nauthorization: Bearer {token}\r\n"
        first.sendall(f"{head}content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}".encode())
        assert first.recv(100).startswith(b"HTTP/1.1 200 ")
        with thinking(server) as stub:
            stub.ListTurns(pb.ListTurnsRequest(), timeout=60)


HEAD = "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"


@pytest.mark.parametrize(
    ("begins", "drips"),
    [
        pytest.param("", "", id="nothing at all"),
        pytest.param(HEAD, "x: y\r\n", id="a head that never ends"),
        pytest.param(
            HEAD + "authorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: 100000"
            "\r\n\r\n{{",
            " ",
            id="a body that comes slowly",
        ),
    ],
)
def test_who_is_slow_is_cut_off(begins: str, drips: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail without the timer of `_await_head` (the first two) and without that of `read_body`."""
    monkeypatch.setattr(listener, "_HEAD_S", 0.3)
    monkeypatch.setattr(bodies, "_BODY_S", 0.3)
    with door(tmp_path) as server:
        known = {"path": LIST, "port": server.http_port, "token": token_of(tmp_path / "data")}
        with socket.create_connection(("127.0.0.1", server.http_port), 60) as slow:
            slow.sendall(begins.format(**known).encode())
            slow.settimeout(0.05)
            ends_s = time.monotonic() + 30
            said = b""
            while time.monotonic() < ends_s:
                try:
                    slow.sendall(drips.encode())
                    if not (part := slow.recv(10_000)):
                        break
                    said += part
                except TimeoutError:
                    continue
                except (ConnectionResetError, BrokenPipeError):
                    break
            else:
                pytest.fail("it is still connected")
        assert said == b"" or b"deadline_exceeded" in said


def test_who_does_not_read_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail without the timer of `pause_writing`."""
    monkeypatch.setattr(listener, "_STALL_S", 0.3)
    with door(tmp_path) as server, thinking(server) as stub, ExitStack() as stack:
        assert server.door is not None
        connections = server.door._listener._state.connections
        stub.StartTurn(pb.StartTurnRequest(turn_id="t"), timeout=60)
        # More than the kernel's buffers hold, and compression does not make it small.
        for _ in range(60):
            events = [called("look", os.urandom(100_000).hex())]
            stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=events), timeout=60)
        body = framed(b'{"follow": false}')
        kind = "application/connect+json"
        told = {**bearing(token_of(tmp_path / "data"), kind), "host": f"127.0.0.1:{server.http_port}"}
        lines = [f"{name}: {value}" for name, value in told.items()]
        path = "/sidemirror.v1.ThinkingService/WatchTurns"
        head = [f"POST {path} HTTP/1.1", *lines, f"content-length: {len(body)}\r\n\r\n"]
        for _ in range(3):
            deaf = stack.enter_context(socket.socket())
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            deaf.connect(("127.0.0.1", server.http_port))
            deaf.sendall("\r\n".join(head).encode() + body)
        until(lambda: len(connections) == 3)
        until(lambda: len(connections) == 0)


def test_a_connection_that_was_used_before_answers_at_once(server: SidecarThread, token: str) -> None:
    """Best of tries. Seen to fail while the body of an answer waited until the caller had confirmed its head."""
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=60)
    took_s = []
    for _ in range(20):
        began_s = time.perf_counter()
        connection.request("POST", LIST, b"{}", bearing(token))
        answer = connection.getresponse()
        assert (answer.status, bool(answer.read())) == (200, True)
        took_s.append(time.perf_counter() - began_s)
    connection.close()
    assert min(took_s[1:]) < 0.03
