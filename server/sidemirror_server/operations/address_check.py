"""The part of `sidemirror doctor` that checks whether the addresses to listen on are free, and if not, who uses them.
Binds a port for a moment only, and creates nothing."""

import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import grpc

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1 import sidecar_pb2_grpc as pb_grpc
from sidemirror_server.operations.finding import Finding
from sidemirror_server.operations.target import open_channel
from sidemirror_server.rpc.listening.addresses import (
    LONGEST_SOCKET_PATH,
    UNIX,
    CannotListen,
    check_free,
    group_id,
    is_local,
)
from sidemirror_server.settings import BadSettings, Settings, as_client

# A sidecar on this machine answers within milliseconds.
_ANSWER_S = 2.0

_SUBJECT = "address"
_ASK_WITH = "set SIDEMIRROR_TOKEN_FILE to a file with a token of its access file, to ask what it tells of itself"
_SHOW_CA = "set SIDEMIRROR_CA_FILE to the authorities of its certificate, to ask what is there"


class AddressAnswer(Finding, frozen=True, omit_defaults=True):
    """The state of an address. `served`: whether a sidemirror answers there; None when unknown."""

    served: bool | None = False


class AskedAddress(NamedTuple):
    """An address, its state, and what a sidemirror there tells of itself; `info` is None where none does."""

    address: str
    state: AddressAnswer
    info: pb.GetServerInfoResponse | None = None


def answers(settings: Settings) -> list[AskedAddress]:
    """The state of each address for calls. Skips invalid addresses, which `check_listeners` reports."""
    listeners = [settings.address, *([f"{UNIX}{path}"] if (path := _socket_of(settings)) else [])]
    return [_answer_at(address, settings) for address in dict.fromkeys(listeners) if _is_one(address)]


def _is_one(address: str) -> bool:
    try:
        is_local(address)
    except CannotListen:
        return False
    return True


def _socket_of(settings: Settings) -> Path | None:
    """The Unix socket to listen on, if there is one."""
    named = settings.address if settings.address.startswith(UNIX) else settings.socket
    return Path(named.removeprefix(UNIX)).absolute() if named.removeprefix(UNIX) else None


def check_places(settings: Settings, *, served: bool) -> Iterator[Finding]:
    """Checks the other addresses and the socket. `served`: whether a sidemirror answers at an address for calls."""
    for setting, address in (
        ("health_address", settings.health_address),
        ("metrics_address", settings.metrics_address),
        ("http_address", settings.http_address),
    ):
        if address and _is_one(address):
            yield from _place(setting, address, served=served)
    path = _socket_of(settings)
    if path is not None and not served:
        yield from _socket(path, settings.socket_group)


def _place(setting: str, address: str, *, served: bool) -> Iterator[Finding]:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    try:
        family, *_, place = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(family, socket.SOCK_STREAM) as own:
            own.bind(place)  # on any port, to see whether the host is this machine's
    except OSError as error:
        found = f"{setting}: {address} is no address of this machine ({error.strerror or error})"
        yield Finding("address", ok=False, found=found, advice=f"choose another {setting}")
        return
    reached = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    if _knock(f"{reached}:{port}") is None:
        yield Finding("address", ok=True, found=f"{setting}: {address} is free")
    elif served:
        yield Finding("address", ok=True, found=f"{setting}: something listens at {address}; a sidemirror is at work")
    else:
        found = f"{setting}: something else listens at {address}"
        yield Finding("address", ok=False, found=found, advice=f"choose another {setting}, or stop what listens there")


def _socket(path: Path, group: str) -> Iterator[Finding]:
    """Finds what would keep a server from creating the socket."""
    there = next(folder for folder in path.parents if os.path.lexists(folder))
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        return  # `answers` has reported it
    if os.path.lexists(path) and not path.is_socket():
        found, advice = f"socket: {path} is something else than a socket", "remove it, or choose another socket"
    elif not there.is_dir():
        found, advice = f"socket: {there} is no folder", "choose another socket"
    elif not os.access(there, os.W_OK | os.X_OK):
        found = f"socket: {there} cannot be written to by user {os.geteuid()}"
        advice = "give that user the folder, or choose another socket"
    elif group and os.geteuid() != 0 and group_id(group) not in {os.getegid(), *os.getgroups()}:
        found = f"socket_group: user {os.geteuid()} is not in the group {group}, and so cannot give it the socket"
        advice = "add that user to the group, or choose another socket_group"
    else:
        return
    yield Finding("address", ok=False, found=found, advice=advice)


def _answer_at(address: str, settings: Settings) -> AskedAddress:
    """What listens at the address, if anything does."""
    listening = _knock(address)
    if listening is None:
        return AskedAddress(address, _free(address))
    if listening:
        found = f"{address}: {listening}"
        return AskedAddress(address, AddressAnswer(_SUBJECT, ok=False, found=found, advice="choose another address"))
    target = address if address.startswith(UNIX) else f"dns:{address}"
    try:
        with open_channel(target) as channel:
            stub = pb_grpc.SidecarServiceStub(channel)
            info = stub.GetServerInfo(pb.GetServerInfoRequest(), timeout=_ANSWER_S)
    except BadSettings as error:
        # A file for clients, such as SIDEMIRROR_CA_FILE, cannot be used. `serve` does not read such files.
        found = f"{address} is taken, and cannot be asked: {error}"
        advice = "mend that file, or unset the variable"
        return AskedAddress(address, AddressAnswer(_SUBJECT, ok=False, found=found, advice=advice, served=None))
    except grpc.RpcError as error:
        return AskedAddress(address, _refused(address, settings, error.code()))
    found = f"{address} is served by sidemirror {info.version}"
    return AskedAddress(address, AddressAnswer(_SUBJECT, ok=True, found=found, served=True), info)


def _free(address: str) -> AddressAnswer:
    """The state of an address where nothing listens."""
    try:
        if not address.startswith(UNIX):
            check_free("address", address)
    except CannotListen as error:  # a port that this user may not have
        return AddressAnswer(_SUBJECT, ok=False, found=str(error), advice="choose another address")
    return AddressAnswer(_SUBJECT, ok=True, found=f"{address} is free")


def _refused(address: str, settings: Settings, code: grpc.StatusCode) -> AddressAnswer:
    """The state of an address whose listener does not answer GetServerInfo."""
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        found = f"{address} is served by a sidemirror that asks for another token"
        return AddressAnswer(_SUBJECT, ok=True, found=found, advice=_ASK_WITH, served=True)
    spoke_tls, speaks_tls = bool(as_client().ca), bool(settings.tls.key_file)
    if speaks_tls and not address.startswith(UNIX):
        found = f"{address} is taken ({code.name}): by these settings it would speak TLS"
        return AddressAnswer(_SUBJECT, ok=True, found=found, advice=_SHOW_CA, served=True)
    advice = "choose another address, or stop what listens there"
    if spoke_tls and not address.startswith(UNIX):
        advice = f"unset SIDEMIRROR_CA_FILE: by these settings a sidemirror there speaks no TLS; or {advice}"
    found = f"{address} is taken by something that is no sidemirror ({code.name})"
    return AddressAnswer(_SUBJECT, ok=False, found=found, advice=advice, served=None if spoke_tls else False)


def _knock(address: str) -> str | None:
    """None when nothing listens, an empty text when something does, else why that is unknown."""
    try:
        if address.startswith(UNIX):
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(_ANSWER_S)
                client.connect(address.removeprefix(UNIX))
        else:
            host, _, port = address.rpartition(":")
            if port == "0":
                return None  # the system chooses a free one
            socket.create_connection((host.strip("[]"), int(port)), _ANSWER_S).close()
    except (ConnectionRefusedError, FileNotFoundError):
        return None
    except socket.gaierror:
        return "the host's name cannot be resolved"
    except OSError as error:
        return os.strerror(error.errno) if error.errno else str(error) or errno.errorcode[errno.ETIMEDOUT]
    return ""
