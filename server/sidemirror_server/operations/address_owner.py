"""The part of `sidemirror doctor` that asks Linux whether a process listens at an address. It only reads /proc."""

import contextlib
import ipaddress
from collections.abc import Iterator
from pathlib import Path

from sidemirror_server.rpc.listening.addresses import UNIX
from sidemirror_server.settings import Settings

_PROC = Path("/proc")
# The state LISTEN in /proc/net/tcp (Linux, include/net/tcp_states.h), and what names a socket among the open files.
_LISTEN = "0A"
_SOCKET = "socket:["


def listens(process: str, settings: Settings) -> bool | None:
    """Whether a process listens at the address for calls. None where that is unknown: the system is not Linux, the
    process is another user's, or the listener is outside of this network namespace."""
    sockets = _listeners(settings.address)
    opened = _opened(process) if process.isdecimal() else None
    return None if not sockets or opened is None else not sockets.isdisjoint(opened)


def _listeners(address: str) -> set[str]:
    """The inodes of the sockets that listen at an address; empty if none is known."""
    if address.startswith(UNIX):
        path = str(Path(address.removeprefix(UNIX)).absolute())
        return {row[6] for row in _rows("unix") if len(row) > 7 and row[7] == path}
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        return set()
    named = f"{int(port):04X}"
    listening = [row for table in ("tcp", "tcp6") for row in _rows(table) if len(row) > 9 and row[3] == _LISTEN]
    places = [(*row[1].split(":"), row[9]) for row in listening]
    return {inode for place, number, inode in places if number == named and _is_at(place, host.strip("[]"))}


def _is_at(listening: str, host: str) -> bool:
    """Whether a listener, by its address in hexadecimal, takes what is sent to a host."""
    address = _address(listening)
    if address.is_unspecified:
        return True
    try:
        asked = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" and address.is_loopback
    return asked.is_unspecified or asked == address


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address as /proc writes it: 32 bits at a time, the lowest byte first."""
    words = [bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8)]
    found = ipaddress.ip_address(b"".join(words))
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def _rows(table: str) -> Iterator[list[str]]:
    with contextlib.suppress(OSError):
        yield from (line.split() for line in (_PROC / "net" / table).read_text().splitlines()[1:])


def _opened(process: str) -> set[str] | None:
    """The inodes of the sockets that a process has open; None if that is unknown."""
    found = set()
    try:
        for file in (_PROC / process / "fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                target = str(file.readlink())
                if target.startswith(_SOCKET):
                    found.add(target.removeprefix(_SOCKET).rstrip("]"))
    except OSError:
        return None
    return found
