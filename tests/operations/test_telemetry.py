"""What names the service in traces and metrics."""

import pytest

from sidemirror_server.operations.telemetry import _resource


def test_the_environment_names_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail when the SDK is given a name of ours: it prefers that to the variable."""
    monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
    monkeypatch.delenv("OTEL_RESOURCE_ATTRIBUTES", raising=False)
    assert _resource("1").attributes["service.name"] == "sidemirror"
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=of-attributes,team=shop")
    told = _resource("1").attributes
    assert (told["service.name"], told["service.version"], told["team"]) == ("of-attributes", "1", "shop")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "shop-sidecar")
    assert _resource("1").attributes["service.name"] == "shop-sidecar"
    assert "telemetry.sdk.version" in told
