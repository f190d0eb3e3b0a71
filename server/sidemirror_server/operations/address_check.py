"""The part of `sidemirror doctor` that checks whether the addresses to listen on are free, and if not, who uses them.
Binds a port for a moment only, and creates nothing."""

import errno
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import grpc

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1 import sidecar_pb2_grpc as pb_grpc
from sidemirror_server.operations.finding import Finding
from sidemirror_server.operations.shown import plain
from sidemirror_server.operations.target import info_of, open_channel
from sidemirror_server.rpc.boundary.identity import PROBE
from sidemirror_server.rpc.listening.addresses import (
    LONGEST_SOCKET_PATH,
    UNIX,
    CannotListen,
    check_free,
    group_id,
    is_local,
)
from sidemirror_server.settings import BadSettings, Settings, as_client

_WITH_FINDINGS = pb.GetServerInfoRequest(with_findings=True)
# How long it waits for an answer, and then for a second one. A sidecar on this machine answers within milliseconds, a
# busy one within seconds.
_ANSWERS_S = (2.0, 8.0)

_SUBJECT = "address"
_ASK_WITH = "set SIDEMIRROR_TOKEN_FILE to a file with a token of its access file, to ask what it tells of itself"
_ASK_FOR_OWN = (
    "set SIDEMIRROR_TOKEN_FILE to a file with a token that is good for these, or for every tenant (`*`); "
    "`sidemirror usage --scope TENANT/PROJECT` asks about another one"
)
_ASK_BOUND = "start it with SIDEMIRROR_TENANT_ID=TENANT, one that a role is bound to, to ask what it tells of itself"
_NOT_ASKED = "models, caps, traffic, refused callers, stores of the sidecar"
_LEAVE = (
    "a sidecar that is busy or hung looks so: see `sidecar_busy` in its log and `sidemirror usage`; "
    "do not stop it for this"
)
_SEE_WHO = "`ss -ltnp` names its process; if that is no sidemirror, choose another address"
_SHOW_CA = "set SIDEMIRROR_CA_FILE to the authorities of its certificate, to ask what is there"
# What a server answers that does not have our service; and what gRPC says of one that speaks HTTP/1. Any other failure
# may be that of a sidecar.
_PROOFS = (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.UNKNOWN)
_HTTP_1 = "http1"
_SILENT = "silent"


class AddressAnswer(Finding, frozen=True, omit_defaults=True):
    """The state of an address. `served`: whether a sidemirror answers there; None when unknown. `is_silent`: something
    listens there and does not answer."""

    served: bool | None = False
    is_silent: bool = False


class AskedAddress(NamedTuple):
    """An address, its state, and what a sidemirror there tells of itself; `info` is None where none does.
    `took_us`: how long its answer took."""

    address: str
    state: AddressAnswer
    info: pb.GetServerInfoResponse | None = None
    took_us: int = 0


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


def check_places(settings: Settings, *, served: bool | None) -> Iterator[Finding]:
    """Checks the other addresses and the socket. `served`: whether a sidemirror answers at an address for calls; None
    when unknown."""
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


def _place(setting: str, address: str, *, served: bool | None) -> Iterator[Finding]:
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
    elif served is None:
        yield Finding("address", ok=True, found=f"{setting}: something listens at {address}; whose it is is not known")
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
    if listening == _SILENT:
        return AskedAddress(address, _silent(f"{address} took no connection in {_ANSWERS_S[0]:g} s"))
    if listening:
        found = f"{address}: {listening}"
        return AskedAddress(address, AddressAnswer(_SUBJECT, ok=False, found=found, advice="choose another address"))
    target = address if address.startswith(UNIX) else f"dns:{address}"
    try:
        with open_channel(target) as channel:
            stub = pb_grpc.SidecarServiceStub(channel)
            began_s = time.perf_counter()
            info, was_slow = _asked(stub)
            took_us = int((time.perf_counter() - began_s) * 1e6)
    except BadSettings as error:
        # A file for clients, such as SIDEMIRROR_CA_FILE, cannot be used. `serve` does not read such files.
        found = f"{address} is taken, and cannot be asked: {error}"
        advice = "mend that file, or unset the variable"
        return AskedAddress(address, AddressAnswer(_SUBJECT, ok=False, found=found, advice=advice, served=None))
    except grpc.RpcError as error:
        return AskedAddress(address, _refused(address, settings, error))
    found = f"{address} is served by sidemirror {info.version}{', which was slow to answer' if was_slow else ''}"
    return AskedAddress(address, AddressAnswer(_SUBJECT, ok=True, found=found, served=True), info, took_us)


def _asked(stub: pb_grpc.SidecarServiceStub) -> tuple[pb.GetServerInfoResponse, bool]:
    """What a sidecar tells of itself, and whether it had to be asked again. Raises grpc.RpcError."""
    first_s, second_s = _ANSWERS_S
    try:
        return stub.GetServerInfo(_WITH_FINDINGS, timeout=first_s, metadata=PROBE), False
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
            raise
    return stub.GetServerInfo(_WITH_FINDINGS, timeout=second_s, metadata=PROBE), True


def _silent(found: str, advice: str = _LEAVE) -> AddressAnswer:
    """The state of an address where something listens and nothing says what."""
    return AddressAnswer(
        _SUBJECT, ok=False, found=found, advice=advice, not_asked=_NOT_ASKED, served=None, is_silent=True
    )


def _free(address: str) -> AddressAnswer:
    """The state of an address where nothing listens."""
    try:
        if not address.startswith(UNIX):
            check_free("address", address)
    except CannotListen as error:  # a port that this user may not have
        return AddressAnswer(_SUBJECT, ok=False, found=str(error), advice="choose another address")
    return AddressAnswer(_SUBJECT, ok=True, found=f"{address} is free: no sidecar runs there")


def _refused(address: str, settings: Settings, error: grpc.RpcError) -> AddressAnswer:
    """The state of an address whose listener does not answer GetServerInfo."""
    code, details = error.code(), error.details() or ""
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return _silent(f"{address}: something listens, and did not answer in {sum(_ANSWERS_S):g} s ({code.name})")
    if code is grpc.StatusCode.PERMISSION_DENIED:
        return _not_permitted(address, error)
    if code is grpc.StatusCode.UNAUTHENTICATED:
        token = "another token" if as_client().token else "a token, and none was given"
        found = f"{address} is served by a sidemirror that asks for {token}"
        not_asked = f"{_NOT_ASKED} (it takes a token)"
        return AddressAnswer(_SUBJECT, ok=True, found=found, advice=_ASK_WITH, not_asked=not_asked, served=True)
    spoke_tls, speaks_tls = bool(as_client().ca), bool(settings.tls.key_file)
    if speaks_tls and not address.startswith(UNIX):
        found = f"{address} is taken ({code.name}): by these settings it would speak TLS"
        not_asked = f"{_NOT_ASKED} (it takes its authorities)"
        return AddressAnswer(_SUBJECT, ok=True, found=found, advice=_SHOW_CA, not_asked=not_asked, served=True)
    advice = "choose another address, or stop what listens there"
    if spoke_tls and not address.startswith(UNIX):
        advice = f"unset SIDEMIRROR_CA_FILE: by these settings a sidemirror there speaks no TLS; or {advice}"
    elif code not in _PROOFS and _HTTP_1 not in details:
        found = f"{address}: something listens, and gives no answer ({code.name})"
        return _silent(found, f"{_LEAVE}; {_SEE_WHO}")
    found = f"{address} is taken by something that is no sidemirror ({code.name})"
    return AddressAnswer(_SUBJECT, ok=False, found=found, advice=advice, served=None if spoke_tls else False)


def _not_permitted(address: str, error: grpc.RpcError) -> AddressAnswer:
    """The state of an address whose sidecar does not tell this caller of the sidecar's own tenant and project."""
    told = plain(error.details() or "")
    found = f"{address} is served by a sidemirror that does not answer for its own tenant and project: {told}"
    advice = _ASK_BOUND if info_of(error).metadata.get("refused_by") == "store" else _ASK_FOR_OWN
    return AddressAnswer(_SUBJECT, ok=True, found=found, advice=advice, not_asked=_NOT_ASKED, served=True)


def _knock(address: str) -> str | None:
    """None when nothing listens, an empty text when something does, else why that is unknown."""
    try:
        if address.startswith(UNIX):
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(_ANSWERS_S[0])
                client.connect(address.removeprefix(UNIX))
        else:
            host, _, port = address.rpartition(":")
            if port == "0":
                return None  # the system chooses a free one
            socket.create_connection((host.strip("[]"), int(port)), _ANSWERS_S[0]).close()
    except (ConnectionRefusedError, FileNotFoundError):
        return None
    except socket.gaierror:
        return "the host's name cannot be resolved"
    except (TimeoutError, BlockingIOError):  # a Unix socket whose queue is full says the latter
        return _SILENT
    except OSError as error:
        return os.strerror(error.errno) if error.errno else str(error) or errno.errorcode[errno.ETIMEDOUT]
    return ""
