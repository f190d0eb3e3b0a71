"""Where a server may listen: loopback and Unix sockets, and only where nobody else does."""

import contextlib
import fcntl
import ipaddress
import os
from collections.abc import Iterator
from pathlib import Path

# How an address says that it is a Unix socket's path (gRPC's own form).
UNIX = "unix:"
# A longer path is refused by the kernel (108 bytes with the closing NUL).
_LONGEST_SOCKET_PATH = 107
_SOCKET_MASK = 0o117  # the socket is 0660: its owner and its group
_FOLDER_MODE = 0o750


class CannotListen(Exception):
    """The server may not, or cannot, listen where it is told to."""


def check_address(address: str) -> str:
    """`address` if it is host:port on loopback, or a Unix socket's path. Raises CannotListen otherwise: calls carry no
    identity, so whoever reaches the port is trusted."""
    if address.startswith(UNIX) and address != UNIX:
        return address
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65_535:
        raise CannotListen(f"address {address!r}: host:port or unix:/path is expected")
    host = host.removeprefix("[").removesuffix("]")
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise CannotListen(f"address {address!r}: only loopback (127.0.0.1, [::1], localhost) can be listened on")
    return address


@contextlib.contextmanager
def held_socket(path: Path) -> Iterator[str]:
    """The address of a Unix socket that this process alone may bind: gRPC itself would take it from a running server.

    Makes the folder with mode 0750 when it is missing, and removes what a server that died has left behind.
    """
    if len(os.fsencode(path.absolute())) > _LONGEST_SOCKET_PATH:
        raise CannotListen(f"socket {str(path)!r}: the path is longer than {_LONGEST_SOCKET_PATH} bytes")
    try:
        path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        lock = os.open(path.with_name(f"{path.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o640)
    except OSError as error:
        raise CannotListen(f"socket {str(path)!r}: {error.strerror} ({error.filename})") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CannotListen(f"socket {str(path)!r}: another server is listening there") from error
        if path.is_socket():
            path.unlink()
        elif path.exists():
            raise CannotListen(f"socket {str(path)!r}: there is something else of that name")
        yield f"unix:{path.absolute()}"
    finally:
        os.close(lock)


@contextlib.contextmanager
def socket_mode() -> Iterator[None]:
    """Sockets made within get mode 0660, from the moment that they exist."""
    before = os.umask(_SOCKET_MASK)
    try:
        yield
    finally:
        os.umask(before)
