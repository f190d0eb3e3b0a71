"""What Connect's own suite does not ask: our messages, our errors, their limits, and who leaves early."""

import gzip
import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.message_factory import GetMessageClass

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.http.connect import json_messages
from tests.http.callers import JSON, Refused, answers, bearing, framed, frames, refused, request
from tests.http.sidecars import door, token_of
from tests.wire.calls import called, failed
from tests.wire.sidecar import SidecarThread, thinking
from tests.wire.test_other_tenants import METHODS
from tests.wire.waiting import until

BY_NAME = {method.name: method for method in METHODS}
THINKING = "/sidemirror.v1.ThinkingService"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with door(tmp_path_factory.mktemp("door")) as running:
        yield running


@pytest.fixture(scope="module")
def token(server: SidecarThread) -> str:
    return token_of(server.folder / "data")


def open_streams(server: SidecarThread) -> int:
    assert server.door is not None
    return server.door.admission.streams


@pytest.mark.parametrize("codec", ["json", "proto"])
def test_a_turn(server: SidecarThread, token: str, codec: str) -> None:
    def call(name: str, message: object) -> object:
        found = answers(server.http_port, BY_NAME[name], message, token, codec)  # type: ignore[arg-type]  # one of pb's
        assert isinstance(found, list), found
        return found

    turn = f"turn-{codec}"
    call("StartTurn", pb.StartTurnRequest(turn_id=turn, session_id=codec, task="count"))
    call("ReportEvents", pb.ReportEventsRequest(turn_id=turn, events=[called("look"), failed("no such row")]))
    call("FinishTurn", pb.FinishTurnRequest(turn_id=turn, outcome=common_pb2.TASK_OUTCOME_FAILURE))
    watched = call("WatchTurns", pb.WatchTurnsRequest(session_id=codec, follow=False))
    with thinking(server) as stub:
        told = [*stub.WatchTurns(pb.WatchTurnsRequest(session_id=codec, follow=False), timeout=60)]
    assert watched == told
    assert len(told) > 3


def test_an_error_has_its_reason_and_its_facts(server: SidecarThread, token: str) -> None:
    answer = request(server.http_port, f"{THINKING}/GetTurn", b'{"turnId": "nobody"}', bearing(token))
    assert answer.status == 404
    assert refused(answer.json) == Refused("not_found", "NOT_FOUND")
    assert answer.json["details"][0]["debug"]["metadata"] == {"kind": "turn", "id": "nobody"}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        pytest.param(b'{"turnIdd": "t"}', "turnIdd", id="a misspelt field"),
        pytest.param(b'{"turnId": 5}', "turnId", id="a number for a text"),
        pytest.param(b'{"turnId": "t"', "", id="cut short"),
        pytest.param(b"[" * 100_000, "", id="nested without end"),
        pytest.param(b'{"turnId": "\\ud800"}', "", id="half a character"),
        pytest.param(b"\xff\xfe", "", id="no UTF-8"),
        pytest.param(b"", "", id="nothing"),
    ],
)
def test_json_that_is_wrong_is_told_which_field(server: SidecarThread, token: str, body: bytes, named: str) -> None:
    answer = request(server.http_port, f"{THINKING}/GetTurn", body, bearing(token))
    assert (answer.status, refused(answer.json)) == (400, Refused("invalid_argument", "MALFORMED_MESSAGE"))
    assert named in answer.json["message"]
    assert "sidemirror.v1.GetTurnRequest" in answer.json["message"]


@pytest.mark.parametrize("method", ["StartTurn", "WatchTurns"])
@pytest.mark.parametrize("body", [b"[]", b'""', b"null", b" 0", b"\nfalse", b"[" + b" " * 20_000 + b"]"])
def test_json_that_is_no_object_is_refused(server: SidecarThread, token: str, body: bytes, method: str) -> None:
    """Unary and streamed, here and in the worker. Seen to fail: a list and a text were a request without fields, which
    started a turn, and the others were told of a TypeError of Python's."""
    if method == "StartTurn":
        answer = request(server.http_port, f"{THINKING}/{method}", body, bearing(token))
        assert answer.status == 400
        error = answer.json
    else:
        headers = bearing(token, "application/connect+json")
        ((_, end),) = frames(request(server.http_port, f"{THINKING}/{method}", framed(body), headers).body)
        error = json.loads(end)["error"]
    assert refused(error) == Refused("invalid_argument", "MALFORMED_MESSAGE")
    assert error["message"].endswith(f".{method}Request: an object is expected, {{…}}")


def test_a_value_over_its_limit_is_named(server: SidecarThread, token: str) -> None:
    body = json.dumps({"turnId": "x" * 129}).encode()
    answer = request(server.http_port, f"{THINKING}/GetTurn", body, bearing(token))
    assert refused(answer.json) == Refused("invalid_argument", "INVALID_FIELD")
    assert "turn_id" in answer.json["message"]


@pytest.mark.parametrize("codec", ["json", "proto"])
@pytest.mark.parametrize("name", [method.name for method in METHODS if method.client_streaming])
def test_a_stream_of_requests_is_not_served(server: SidecarThread, token: str, name: str, codec: str) -> None:
    empty = GetMessageClass(BY_NAME[name].input_type)()
    assert answers(server.http_port, BY_NAME[name], empty, token, codec) == Refused("unimplemented")


def test_only_post_is_served(server: SidecarThread, token: str) -> None:
    answer = request(server.http_port, f"{THINKING}/GetTurn", method="GET", headers=bearing(token))
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/connect+json", "application/grpc-web"]
)
def test_another_content_type_is_told_which_are_taken(server: SidecarThread, token: str, kind: str) -> None:
    answer = request(server.http_port, f"{THINKING}/GetTurn", b"{}", bearing(token, kind))
    assert (answer.status, answer.headers["accept-post"]) == (415, "application/json, application/proto")


def test_an_unknown_path(server: SidecarThread, token: str) -> None:
    answer = request(server.http_port, f"{THINKING}/Nothing", b"{}", bearing(token))
    assert answer.status == 404


def test_a_long_message_is_converted_beside_the_server(tmp_path: Path) -> None:
    """What is wrong with one is told all the same. Seen to fail when `JsonMessages` converts every message itself."""
    with door(tmp_path) as server:
        assert server.door is not None
        messages = server.door._connect._messages
        headers = bearing(token_of(tmp_path / "data"))
        events = [{"eventId": f"e{number}", "toolCalled": {"name": "look"}} for number in range(500)]
        started = request(server.http_port, f"{THINKING}/StartTurn", b'{"turnId": "t"}', headers)
        assert started.status == 200
        long = json.dumps({"turnId": "t", "events": events}).encode()
        assert len(long) > json_messages._LONG_BYTES
        reported = request(server.http_port, f"{THINKING}/ReportEvents", long, headers)
        assert reported.json["ack"]["received"] == "500"
        worker = messages._process._process
        assert worker is not None
        page = request(server.http_port, f"{THINKING}/GetTurn", b'{"turnId": "t", "pageSize": 1000}', headers)
        assert len(page.json["entries"]) >= 500
        wrong = json.dumps({"turnId": "t", "events": [*events, {"eventIdd": "x"}]}).encode()
        answer = request(server.http_port, f"{THINKING}/ReportEvents", wrong, headers)
        assert refused(answer.json) == Refused("invalid_argument", "MALFORMED_MESSAGE")
        assert "eventIdd" in answer.json["message"]
        # One that ends is followed by another.
        worker.kill()
        assert request(server.http_port, f"{THINKING}/ReportEvents", long, headers).status == 200


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        pytest.param(b"\x00" * 5_000, {}, id="as it is"),
        pytest.param(gzip.compress(b" " * 5_000_000), {"content-encoding": "gzip"}, id="by gzip, much smaller"),
        pytest.param(b"", {"content-length": "1000000000"}, id="said to be"),
    ],
)
def test_a_body_over_the_limit_is_refused(body: bytes, headers: dict[str, str], tmp_path: Path) -> None:
    with door(tmp_path, {"limits__message_bytes": "4096"}) as server:
        sent = {**bearing(token_of(tmp_path / "data"), "application/proto"), **headers}
        answer = request(server.http_port, f"{THINKING}/GetTurn", body, sent)
    assert (answer.status, refused(answer.json)) == (429, Refused("resource_exhausted"))


def test_a_watch_ends_with_its_caller(server: SidecarThread, token: str) -> None:
    """Seen to fail when `while_there` does not look whether the caller leaves."""
    before = server.admission.streams
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=60)
    body = framed(b'{"follow": true, "newOnly": true}')
    connection.request("POST", f"{THINKING}/WatchTurns", body, bearing(token, "application/connect+json"))
    answer = connection.getresponse()
    assert answer.status == 200
    until(lambda: open_streams(server) == 1)
    connection.sock.shutdown(2)
    connection.close()
    answer.close()
    until(lambda: open_streams(server) == 0)
    assert server.admission.streams == before


def test_a_watch_is_told_of_the_end(tmp_path: Path) -> None:
    """A server that shuts down says so in the last frame, and does not wait for the watch."""
    with door(tmp_path, {"grace_s": "10"}) as server:
        headers = bearing(token_of(tmp_path / "data"), "application/connect+json")
        seen: list[bytes] = []

        def watch() -> None:
            body = framed(b'{"follow": true, "newOnly": true}')
            seen.append(request(server.http_port, f"{THINKING}/WatchTurns", body, headers).body)

        watching = threading.Thread(target=watch)
        watching.start()
        until(lambda: open_streams(server) == 1)
    watching.join(60)
    *_, (flags, end) = frames(seen[0])
    assert flags == 2
    assert json.loads(end)["error"]["code"] == "unavailable"


def test_a_deadline_ends_a_call(server: SidecarThread, token: str) -> None:
    headers = {**bearing(token, "application/connect+json"), "connect-timeout-ms": "300"}
    body = framed(b'{"follow": true, "newOnly": true}')
    answer = request(server.http_port, f"{THINKING}/WatchTurns", body, headers)
    *_, (_, end) = frames(answer.body)
    assert refused(json.loads(end)["error"]) == Refused("deadline_exceeded", "")


@pytest.mark.parametrize("given", ["soon", "-1", "12345678901", "1.5"])
def test_a_deadline_that_is_none(server: SidecarThread, token: str, given: str) -> None:
    headers = {**bearing(token), "connect-timeout-ms": given}
    answer = request(server.http_port, f"{THINKING}/GetTurn", b"{}", headers)
    assert refused(answer.json) == Refused("invalid_argument")
    assert "connect-timeout-ms" in answer.json["message"]


def test_answers_are_kept_by_nobody(server: SidecarThread, token: str) -> None:
    answer = request(server.http_port, f"{THINKING}/ListTurns", b"{}", bearing(token))
    assert answer.headers["content-type"] == JSON
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")
    assert not [name for name in answer.headers if name.startswith("access-control-") or name == "server"]
