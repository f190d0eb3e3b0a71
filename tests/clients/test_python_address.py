"""Where the Python client looks for the sidecar, and what it says where none can be."""

import logging
from pathlib import Path

import pytest

from sidemirror_client import connect, connect_sync
from sidemirror_client.address import Address, address_of
from tests.faults.waiting import until


def place_of(address: str, *, tls: bool = False) -> Address:
    return address_of(address, tls=tls, ca_file="", certificate_file="", key_file="", has_token=False)


@pytest.mark.parametrize(
    ("given", "target", "is_tls"),
    [
        ("127.0.0.1:50051", "127.0.0.1:50051", False),
        ("http://127.0.0.1:50051/", "127.0.0.1:50051", False),
        ("[::1]:1", "[::1]:1", False),
        ("sidecar.example:65535", "sidecar.example:65535", False),
        ("https://sidecar.example", "sidecar.example:443", True),
        ("https://sidecar.example:8443/", "sidecar.example:8443", True),
        ("https://[::1]", "[::1]:443", True),
        ("unix:/run/sidemirror.sock", "unix:/run/sidemirror.sock", False),
        ("dns:///sidecar.example:50051", "dns:///sidecar.example:50051", False),
        ("ipv4:127.0.0.1:50051", "ipv4:127.0.0.1:50051", False),
    ],
)
def test_an_address(given: str, target: str, is_tls: bool) -> None:
    place = place_of(given)
    assert (place.target, place.credentials is not None) == (target, is_tls)


def test_with_tls_a_port_may_be_left_out() -> None:
    assert place_of("sidecar.example", tls=True).target == "sidecar.example:443"


@pytest.mark.parametrize(
    "address",
    [
        "localhost", "http://localhost", "127.0.0.1:5o951", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", ":50051",
        "::1", "::1:50051", "localhost:50051/path", "https://sidecar.example:5o951", "a b:1", "127.0.0.1:50051\n",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_before_anything_is_sent(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"SIDEMIRROR_ADDRESS.*host:port, such as 127\.0\.0\.1:50051") as refused:
        connect(address)
    assert repr(address) in str(refused.value)
    monkeypatch.setenv("SIDEMIRROR_ADDRESS", address)
    with pytest.raises(ValueError, match="of Sidemirror"):
        connect_sync()


async def test_the_log_says_who_is_away_and_where(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With gRPC's own words, which tell a server that is stopped from one that speaks something else."""
    place = f"unix:{tmp_path / 'nobody.sock'}"
    with caplog.at_level(logging.WARNING, "sidemirror_client"):
        async with connect(place) as sidemirror:
            turn = sidemirror.begin_turn(task="count")
            await until(lambda: bool(caplog.records), within_s=60)
            await turn.abandon()
    told = caplog.records[0].getMessage()
    assert told.startswith(f"Sidemirror at {place} is away, the agent goes on without it: UNAVAILABLE (")
    assert "nobody.sock" in told.partition("UNAVAILABLE")[2]
