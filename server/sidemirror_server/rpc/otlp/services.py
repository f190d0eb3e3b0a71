"""OTLP's three services, by the boundary's handlers: for gRPC by service, for HTTP by path and content type."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TypeAlias

from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.interceptors import Boundary, Handler
from sidemirror_server.rpc.otlp.receiver import OtlpReceiver

Serve: TypeAlias = Callable[[bytes, Call], Awaitable[bytes]]

_PACKAGE = "opentelemetry.proto.collector"


def grpc_services(boundary: Boundary, receiver: OtlpReceiver) -> Mapping[str, Mapping[str, Handler]]:
    """The handlers of gRPC, by service and method."""
    exports = {"trace": receiver.spans, "metrics": receiver.nothing, "logs": receiver.nothing}
    names = {signal: f"{_PACKAGE}.{signal}.v1.{signal.capitalize()}Service" for signal in exports}
    return {
        names[signal]: {"Export": boundary.foreign(f"{names[signal]}/Export", serve)}
        for signal, serve in exports.items()
    }


def http_paths(boundary: Boundary, receiver: OtlpReceiver, *, has_names: bool) -> Mapping[str, Mapping[str, Handler]]:
    """The handlers of HTTP, by path and content type. `has_names`: there is an access file; else all senders have the
    door's own token, which tells none of them apart."""
    spans = (partial(receiver.spans, has_names=has_names), partial(receiver.json_spans, has_names=has_names))
    exports: dict[str, tuple[Serve, Serve]] = {
        "traces": spans,
        "metrics": (receiver.nothing, receiver.no_json),
        "logs": (receiver.nothing, receiver.no_json),
    }
    return {
        f"/v1/{signal}": {
            "application/x-protobuf": boundary.foreign(f"v1/{signal}", serve),
            "application/json": boundary.foreign(f"v1/{signal}", serve_json),
        }
        for signal, (serve, serve_json) in exports.items()
    }
