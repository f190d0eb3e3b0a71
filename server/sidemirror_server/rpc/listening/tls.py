"""TLS for the TCP address: a certificate, its key and, for mutual TLS, the clients' CA certificates.

Changed files are read again, and apply to new connections.
"""

import logging
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import grpc
import msgspec

from sidemirror_server.rpc.boundary.secret_files import CannotUse, Reread, read_public, read_secret
from sidemirror_server.vocabulary.clock import Clock

_log = logging.getLogger(__name__)

_BEGIN, _END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"

Credentials: TypeAlias = grpc.ServerCredentials


class TlsFiles(msgspec.Struct, frozen=True):
    """Files in PEM. `certificate` includes its chain; without `client_ca` every client may connect."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths that are set."""
        return tuple(path for path in (self.certificate, self.key, self.client_ca) if path is not None)


def credentials_of(files: TlsFiles, clock: Clock) -> grpc.ServerCredentials:
    """A listener's credentials, which follow changes of the files. Raises CannotUse."""
    reread = Reread(files.paths, lambda: read_tls(files), clock, _told)
    first = reread.current()
    changed = _Changed(first, reread.current)
    return grpc.dynamic_ssl_server_credentials(
        first,
        changed.fetch,  # type: ignore[arg-type]  # the stubs leave out None, which gRPC documents as "no change"
        require_client_authentication=files.client_ca is not None,
    )


class _Changed:
    """What gRPC asks for at each handshake, on threads of its own: new credentials, or None while they are the same.

    gRPC replaces what it has by what it is given, and a replacement beside another handshake may end the process: it
    did (SIGSEGV, SIGABRT) when a hundred connections were closed in the middle of their handshakes.
    """

    def __init__(
        self, first: grpc.ServerCertificateConfiguration, current: Callable[[], grpc.ServerCertificateConfiguration]
    ) -> None:
        """`first`: what gRPC begins with."""
        self._given = first
        self._current = current
        self._lock = threading.Lock()

    def fetch(self) -> grpc.ServerCertificateConfiguration | None:
        """The credentials if they are others than the last ones."""
        with self._lock:
            found = self._current()
            if found is self._given:
                return None
            self._given = found
            return found


def _told(error: CannotUse | None) -> None:
    if error is None:
        _log.info("certificate_changed")
    else:
        _log.error("certificate_not_read", extra={"reason": str(error)})


def read_tls(files: TlsFiles) -> grpc.ServerCertificateConfiguration:
    """The content of the files. Raises CannotUse when a file cannot be read, or key and certificate do not match."""
    key, certificate = read_pair(files)
    client_ca = None if files.client_ca is None else read_authorities(files.client_ca)
    return grpc.ssl_server_certificate_configuration([(key, certificate)], client_ca)


def read_pair(files: TlsFiles) -> tuple[bytes, bytes]:
    """The key and its certificate. Raises CannotUse if they do not fit: gRPC would refuse each connection later,
    without a reason."""
    key = read_secret(files.key)
    certificate = read_public(files.certificate)
    if not list(_blocks(certificate)):
        raise CannotUse(f"{files.certificate}: there is no certificate in PEM in it")
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files.certificate, files.key, password=_no_password)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise CannotUse(f"{files.certificate} and {files.key}: {_why(error)}") from error
    return key, certificate


def read_authorities(path: Path) -> bytes:
    """The clients' CA certificates. Raises CannotUse when one is invalid: gRPC would refuse to listen, without a
    reason."""
    raw = read_public(path)
    blocks = list(_blocks(raw))
    if not blocks:
        raise CannotUse(f"{path}: there is no certificate in PEM in it")
    for number, block in enumerate(blocks, 1):
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=block.decode("ascii"))
        except (ssl.SSLError, ValueError) as error:
            raise CannotUse(f"{path}: certificate {number} of {len(blocks)} cannot be read") from error
    return raw


def _blocks(raw: bytes) -> Iterator[bytes]:
    """The certificates of a PEM file, each with its first and last line."""
    for begun in raw.split(_BEGIN)[1:]:
        yield _BEGIN + begun.partition(_END)[0] + _END + b"\n"


def _no_password() -> str:
    raise ValueError("the key has a password; a server cannot ask for it")


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", "") or str(error)
    if reason == "KEY_VALUES_MISMATCH":
        return "the key is not the certificate's"
    return f"they are not a certificate and its key in PEM ({reason})"
