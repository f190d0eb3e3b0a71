"""Where the sidecar is and how it is reached: from arguments and the environment to a channel."""

import ipaddress
import os
import re
import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc

DEFAULT_ADDRESS = "127.0.0.1:50051"
_HTTPS_PORT = 443
# gRPC's other ways to name a target, which it reads itself.
_OF_GRPC = re.compile(r"[a-z][a-z0-9-]*:///|(?:dns|ipv4|ipv6|unix-abstract|vsock):")
_HOST_AND_PORT = re.compile(r"(?:\[[\w:.%]+\]|[^\s:/\[\]@?#\\]+):[0-9]{1,5}")


class TokenInTheClear(ValueError):
    """The token would go to another machine over a connection that everybody on the way can read."""

    def __init__(self, target: str) -> None:
        super().__init__(
            f"the token of SIDEMIRROR_TOKEN_FILE does not go to {target} without TLS: write https:// before the "
            "address, or set tls=True, or name the authority's file in SIDEMIRROR_CA_FILE"
        )


@dataclass(frozen=True)
class Address:
    """`target`: as gRPC names it; `credentials`: None without TLS."""

    target: str
    credentials: grpc.ChannelCredentials | None


def address_of(
    given: str | None, *, tls: bool, ca_file: str, certificate_file: str, key_file: str, has_token: bool
) -> Address:
    """The address and its transport. Raises TokenInTheClear; ValueError when it is no address, or has a certificate
    and no TLS on the way to another machine; OSError when a file cannot be read."""
    said = given or os.environ.get("SIDEMIRROR_ADDRESS") or DEFAULT_ADDRESS
    if said.startswith("unix:") and said.strip("/") != "unix:":
        return Address(said, None)
    is_tls = tls or bool(ca_file) or said.startswith("https://")
    target = said.removeprefix("https://").removeprefix("http://").rstrip("/")
    if is_tls and (":" not in target or target.endswith("]")):
        target = f"{target}:{_HTTPS_PORT}"
    if not _is_place(target):
        raise ValueError(
            f"the address {said!r} of Sidemirror (SIDEMIRROR_ADDRESS, or the argument `address`): host:port, such as "
            f"{DEFAULT_ADDRESS}, https://host, https://host:port or unix:/path is expected"
        )
    if not is_tls:
        if has_token and not is_loopback(target):
            raise TokenInTheClear(target)
        if (certificate_file or key_file) and not is_loopback(target):
            raise ValueError(
                f"the certificate of SIDEMIRROR_CLIENT_CERTIFICATE_FILE does nothing at {target} without TLS: write "
                "https:// before the address, or set tls=True, or name the authority's file in SIDEMIRROR_CA_FILE"
            )
        return Address(target, None)
    roots = Path(ca_file).read_bytes() if ca_file else system_roots()
    credentials = grpc.ssl_channel_credentials(roots, _read(key_file), _read(certificate_file))
    return Address(target, credentials)


def is_loopback(target: str) -> bool:
    """Whether `host:port` is this machine, by its own name or number."""
    host = target.rpartition(":")[0] if _has_port(target) else target
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def system_roots() -> bytes | None:
    """The authorities that OpenSSL trusts on this machine (`SSL_CERT_FILE`); None if it has no file of them: gRPC then
    takes its own."""
    place = ssl.get_default_verify_paths().cafile
    return Path(place).read_bytes() if place else None


def _is_place(target: str) -> bool:
    if _OF_GRPC.match(target):
        return True
    return _HOST_AND_PORT.fullmatch(target) is not None and 0 < int(target.rpartition(":")[2]) < 65_536


def _has_port(target: str) -> bool:
    return target.rpartition(":")[2].isdigit() and not target.endswith("]")


def _read(path: str) -> bytes | None:
    return Path(path).read_bytes() if path else None
