"""`health` against servers that do not serve: what ours says while it goes away, and what is none of ours."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import HealthServicer

from sidemirror_server.operations.health import health


@pytest.fixture
def server() -> Iterator[tuple[grpc.Server, str]]:
    running = grpc.server(ThreadPoolExecutor(1))
    address = f"127.0.0.1:{running.add_insecure_port('127.0.0.1:0')}"
    yield running, address
    running.stop(None).wait()


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (health_pb2.HealthCheckResponse.SERVING, 0),
        (health_pb2.HealthCheckResponse.NOT_SERVING, 1),
        (health_pb2.HealthCheckResponse.UNKNOWN, 1),
    ],
)
def test_the_exit_code_is_the_status(
    server: tuple[grpc.Server, str], capsys: pytest.CaptureFixture[str], status: int, code: int
) -> None:
    running, address = server
    servicer = HealthServicer()
    servicer.set("", status)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, running)
    running.start()

    assert health(address, "") == code
    assert capsys.readouterr().out == health_pb2.HealthCheckResponse.ServingStatus.Name(status) + "\n"


def test_a_server_without_health(server: tuple[grpc.Server, str], capsys: pytest.CaptureFixture[str]) -> None:
    running, address = server
    running.start()

    assert health(address, "") == 69
    assert f"what listens at {address} is no sidemirror" in capsys.readouterr().err
