"""OTLP's three services, by the boundary's handlers: for gRPC by service, for HTTP by path and content type."""

from collections.abc import Mapping

from sidemirror_server.rpc.boundary.interceptors import Boundary, Handler
from sidemirror_server.rpc.otlp.receiver import OtlpReceiver

_PACKAGE = "opentelemetry.proto.collector"


def grpc_services(boundary: Boundary, receiver: OtlpReceiver) -> Mapping[str, Mapping[str, Handler]]:
    """The handlers of gRPC, by service and method."""
    exports = {"trace": receiver.spans, "metrics": receiver.nothing, "logs": receiver.nothing}
    names = {signal: f"{_PACKAGE}.{signal}.v1.{signal.capitalize()}Service" for signal in exports}
    return {
        names[signal]: {"Export": boundary.foreign(f"{names[signal]}/Export", serve)}
        for signal, serve in exports.items()
    }


def http_paths(boundary: Boundary, receiver: OtlpReceiver) -> Mapping[str, Mapping[str, Handler]]:
    """The handlers of HTTP, by path and content type."""
    exports = {
        "traces": (receiver.spans, receiver.json_spans),
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
