"""`sidemirror health`: asks a running sidecar whether it serves. For probes and people."""

import sys

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.target import CHANNEL_OPTIONS, address_of, exit_code_of, open_channel, why_failed
from sidemirror_server.settings import load

# A healthy sidecar answers within milliseconds. Kubernetes' default for a probe is one second; a person waits longer.
_TIMEOUT_S = 5.0


def health(address: str, service: str) -> int:
    """Prints the status of `service` (empty: the whole server) and returns 0 if it is SERVING, else 1."""
    apart = "" if address else _told_apart()
    address = apart or address_of(address)
    # The listener for health checks has no TLS, so client settings do not apply.
    with grpc.insecure_channel(apart, options=CHANNEL_OPTIONS) if apart else open_channel(address) as channel:
        try:
            request = health_pb2.HealthCheckRequest(service=service)
            # The stub gets its methods at run time, so its type lacks them.
            check = health_pb2_grpc.HealthStub(channel).Check  # type: ignore[attr-defined]
            answer: health_pb2.HealthCheckResponse = check(request, timeout=_TIMEOUT_S)
        except grpc.RpcError as error:
            print(f"sidemirror: {_why(error, address, service)}", file=sys.stderr)
            # What is no sidemirror, and one that is away: no sidecar answers.
            is_known = error.code() is grpc.StatusCode.NOT_FOUND
            return exit_codes.FAILED if is_known else exit_code_of(error)
    print(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))
    return 0 if answer.status == health_pb2.HealthCheckResponse.SERVING else exit_codes.FAILED


def _told_apart() -> str:
    """The environment's health_address, a wildcard host as localhost; empty when unset. Raises BadSettings."""
    address = load().health_address
    host, _, port = address.rpartition(":")
    return f"localhost:{port}" if host in ("0.0.0.0", "[::]", "::") else address


def _why(error: grpc.RpcError, address: str, service: str) -> str:
    match error.code():
        case grpc.StatusCode.NOT_FOUND:
            return f"the server at {address} has no service {service!r}"
        case grpc.StatusCode.UNIMPLEMENTED:
            return f"what listens at {address} is no sidemirror: it does not tell its health"
        case _:
            return why_failed(address, error)
