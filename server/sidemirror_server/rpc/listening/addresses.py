"""Checks a server's addresses: non-local ones need TLS and tokens, and no other server may listen there."""

import contextlib
import errno
import fcntl
import grp
import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path

# The prefix of a Unix socket's path in an address (gRPC's own form).
UNIX = "unix:"
# A longer path is refused by the kernel (108 bytes with the closing NUL).
LONGEST_SOCKET_PATH = 107
_FOLDER_MODE = 0o750
# The socket's group may not open the lock: whoever can read a file can lock it, and would keep a server from starting.
_LOCK_MODE = 0o600


class CannotListen(Exception):
    """The server may not, or cannot, use the address in its settings."""


def is_local(address: str) -> bool:
    """Whether the address is local: a Unix socket, or host:port on loopback. Raises CannotListen when it is neither
    unix:/path nor host:port."""
    if address.startswith(UNIX) and address != UNIX:
        return True
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65_535:
        raise CannotListen(f"address {address!r}: host:port or unix:/path is expected")
    host = host.removeprefix("[").removesuffix("]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_address(address: str, *, has_tls: bool = False, has_tokens: bool = False) -> str:
    """`address` if it is local, or if the server has both TLS and tokens.

    Raises CannotListen otherwise: every client that reaches the port would be trusted, or could be overheard.
    """
    if not is_local(address) and not (has_tls and has_tokens):
        lacking = [
            *([] if has_tls else ["TLS (tls__certificate_file, tls__key_file)"]),
            *([] if has_tokens else ["tokens (access_file)"]),
        ]
        raise CannotListen(
            f"address {address!r}: only loopback (127.0.0.1, [::1], localhost) can be listened on "
            f"without {' and '.join(lacking)}"
        )
    return address


def check_free(setting: str, address: str) -> None:
    """Checks that the setting's host:port can be bound at one of the host's addresses. Raises CannotListen with the
    reason, which gRPC would only log.

    If two servers check at the same time, one always succeeds: only a listening socket makes a check fail, and a failed
    check does not listen.
    """
    host, _, port = address.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise CannotListen(f"{setting} {address!r}: {error.strerror}") from error
    failure: OSError | None = None
    for family, kind, protocol, _, place in found:
        try:
            with socket.socket(family, kind, protocol) as own:
                # gRPC sets this too: the sockets of closed connections then do not block the address.
                own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                own.bind(place)
                own.listen(1)
        except OSError as error:
            failure = error
        else:
            return
    if failure is not None:
        why = "it is in use" if failure.errno == errno.EADDRINUSE else failure.strerror
        raise CannotListen(f"{setting} {address!r}: {why}") from failure


@contextlib.contextmanager
def held_socket(path: Path, group: str = "") -> Iterator[str]:
    """The address of a Unix socket that this process holds: gRPC alone would take the socket from a running server.

    Creates the folder with mode 0750 if it is missing, for `group` if one is named. Removes the socket of a server that
    died. Raises CannotListen.
    """
    if len(os.fsencode(path.absolute())) > LONGEST_SOCKET_PATH:
        raise CannotListen(f"socket {str(path)!r}: the path is longer than {LONGEST_SOCKET_PATH} bytes")
    try:
        _make_folder(path.parent, group)
        flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        lock = os.open(path.with_name(f"{path.name}.lock"), flags, _LOCK_MODE)
    except OSError as error:
        raise CannotListen(f"socket {str(path)!r}: {error.strerror} ({error.filename})") from error
    try:
        _keep_private(lock)
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


def _keep_private(lock: int) -> None:
    """Earlier servers made the lock for the group too."""
    with contextlib.suppress(PermissionError):  # another user's: it is locked all the same
        os.fchmod(lock, _LOCK_MODE)


def _make_folder(folder: Path, group: str) -> None:
    if folder.is_dir():
        return
    folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    if group:
        os.chown(folder, -1, group_id(group))


def group_id(group: str) -> int:
    """The id of a group, given by name or number. Raises CannotListen when no group has that name."""
    if group.isdigit():
        return int(group)
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError as error:
        raise CannotListen(f"socket_group {group!r}: there is no such group on this machine") from error


@contextlib.contextmanager
def socket_mode(mode: int = 0o660) -> Iterator[None]:
    """Sockets created within this context have this mode from the start."""
    before = os.umask(0o777 & ~mode)
    try:
        yield
    finally:
        os.umask(before)


def give_to_group(socket: str, group: str) -> None:
    """Gives the socket to the group. Raises CannotListen when this process may not do that."""
    path = socket.removeprefix(UNIX)
    try:
        os.chown(path, -1, group_id(group))
    except OSError as error:
        raise CannotListen(
            f"socket_group {group!r}: {error.strerror}; the server's user has to be in the group"
        ) from error
