"""Turns the settings of access into addresses, tokens, scopes and certificates. Used by `assembly/` and `doctor`.

Everything here raises BadSettings with the name of the setting that has to change.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sidemirror_server.rpc.boundary.access import Token, read_access
from sidemirror_server.rpc.boundary.identity import Identity
from sidemirror_server.rpc.boundary.refusals import Refusals
from sidemirror_server.rpc.boundary.secret_files import CannotUse, Emptied, Reread, read_public
from sidemirror_server.rpc.listening.addresses import UNIX, CannotListen, check_address, group_id, is_local
from sidemirror_server.settings import PREFIX, BadSettings, Settings
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.scope import Scope, Serves, serves_listed, serves_only

if TYPE_CHECKING:
    from sidemirror_server.rpc.listening.tls import Credentials, TlsFiles

_log = logging.getLogger(__name__)

# The tokens that are good now.
Tokens: TypeAlias = Callable[[], tuple[Token, ...]]
# Hosts that stand for every address of this machine.
_EVERYWHERE = {"0.0.0.0", "[::]", "::"}


@contextmanager
def _named(setting: str) -> Iterator[None]:
    """Turns errors within the block into BadSettings with this setting's name."""
    try:
        yield
    except (CannotListen, CannotUse) as error:
        raise BadSettings(f"{setting} ({PREFIX}{setting.upper()}): {error}", setting=setting) from error


def check_listeners(settings: Settings) -> None:
    """Checks the addresses to listen on without reading a file. Raises BadSettings."""
    tls = settings.tls
    with _named("tls__key_file" if tls.certificate_file else "tls__certificate_file"):
        if bool(tls.certificate_file) != bool(tls.key_file) or (tls.client_ca_file and not tls.key_file):
            raise CannotUse("TLS needs a certificate and its key")
    with _named("address"):
        check_address(settings.address, has_tls=bool(tls.key_file), has_tokens=bool(settings.access_file))
    with _named("socket"):
        if settings.address.startswith(UNIX) and settings.socket.removeprefix(UNIX) not in (
            "",
            settings.address.removeprefix(UNIX),
        ):
            raise CannotListen(f"socket {settings.socket!r}: address {settings.address!r} is a socket already")
    others = (
        ("health_address", settings.health_address),
        ("metrics_address", settings.metrics_address),
        ("http_address", settings.http_address),
    )
    taken = [("address", settings.address)]
    for setting, address in others:
        with _named(setting):
            if address.startswith(UNIX):
                raise CannotListen(f"address {address!r}: host:port is expected")
            if address:
                if not is_local(address) and setting == "http_address":
                    raise CannotListen(f"address {address!r}: HTTP is served on loopback only, since it has no TLS")
                taken.append((setting, address))
                _check_apart(taken)
    with _named("socket_group"):
        if settings.socket_group:
            group_id(settings.socket_group)


def _check_apart(taken: list[tuple[str, str]]) -> None:
    """Raises CannotListen when the last of these addresses has the port of another."""
    _, _, port = taken[-1][1].rpartition(":")
    for setting, address in taken[:-1]:
        # Two hosts can share a port number unless they are equal or one stands for every address.
        host, _, other_port = address.rpartition(":")
        own_host = taken[-1][1].rpartition(":")[0]
        if port == other_port != "0" and (host == own_host or {host, own_host} & _EVERYWHERE):
            raise CannotListen(f"address {taken[-1][1]!r}: the port is {setting}'s already")


def answers_reflection(settings: Settings) -> bool:
    """Whether server reflection is on. Default: on where only this machine can reach the server."""
    return is_local(settings.address) if settings.reflection is None else settings.reflection


def identity_of(settings: Settings, refusals: Refusals, clock: Clock) -> Identity:
    """Identifies callers. Raises BadSettings when the access file cannot be used."""
    tokens = _access_tokens(settings, clock) if settings.access_file else None
    return identity_by(settings, refusals, tokens, clock)


def http_token_file(settings: Settings) -> Path:
    """The file of the token that callers over HTTP need where there is no access file."""
    return settings.data_dir / "http-token"


def http_tokens_of(settings: Settings, clock: Clock) -> Tokens:
    """The tokens of callers over HTTP, where everybody needs one: those of the access file, else the door's own, which
    is made if it is missing. Raises BadSettings."""
    if settings.access_file:
        return _access_tokens(settings, clock)
    from sidemirror_server.http.token import make_token, read_token

    path = http_token_file(settings)
    with _named("data_dir"):
        make_token(path)
        return Reread[tuple[Token, ...]](
            (path,), lambda: read_token(path), clock, _http_token_told, when_empty=()
        ).current


def identity_by(settings: Settings, refusals: Refusals, tokens: Tokens | None, clock: Clock) -> Identity:
    """Identifies callers by these tokens; None: nobody needs one. Raises BadSettings."""
    own = Scope(settings.tenant_id, settings.project_id)
    return Identity(refusals, own, serves=serves_of(settings), tokens=tokens, clock=clock)


def _access_tokens(settings: Settings, clock: Clock) -> Tokens:
    path = Path(settings.access_file)
    with _named("access_file"):
        return Reread[tuple[Token, ...]]((path,), lambda: read_access(path), clock, _access_told, when_empty=()).current


def serves_of(settings: Settings) -> Serves:
    """The scopes whose calls are answered and whose jobs are run: the pinned scope, else the listed ones, else all.
    Raises BadSettings."""
    try:
        listed = serves_listed(settings.serves)
    except ValueError as error:
        raise BadSettings(f"serves ({PREFIX}SERVES): {error}") from error
    own = Scope(settings.tenant_id, settings.project_id)
    if not settings.pin_scope:
        return listed
    if not listed.covers(own):
        raise BadSettings(f"serves ({PREFIX}SERVES): {listed} leaves out what pin_scope pins this sidecar to")
    return serves_only(own)


def _access_told(error: CannotUse | None) -> None:
    if error is None:
        _log.info("access_file_changed")
    elif isinstance(error, Emptied):
        _log.error("access_file_emptied", extra={"reason": f"{error}; no token is good any more"})
    else:
        _log.error("access_file_not_read", extra={"reason": f"{error}; nothing changes"})


def _http_token_told(error: CannotUse | None) -> None:
    if error is None:
        _log.info("http_token_changed")
    else:
        _log.error("http_token_not_read", extra={"reason": str(error)})


def tls_files(settings: Settings) -> "TlsFiles | None":
    """The files of TLS; None without TLS."""
    tls = settings.tls
    if not tls.key_file:
        return None
    from sidemirror_server.rpc.listening.tls import TlsFiles  # ssl is loaded only where there is TLS

    client_ca = Path(tls.client_ca_file) if tls.client_ca_file else None
    return TlsFiles(Path(tls.certificate_file), Path(tls.key_file), client_ca)


def check_files(settings: Settings) -> None:
    """Checks the access file and the TLS files before the server opens anything else. Raises BadSettings."""
    if settings.access_file:
        with _named("access_file"):
            read_access(Path(settings.access_file))
    if (files := tls_files(settings)) is not None:
        check_tls(files)


def check_tls(files: "TlsFiles") -> None:
    """Checks the files of TLS. Raises BadSettings with the setting of the file that cannot be used."""
    from sidemirror_server.rpc.listening import tls

    with _named("tls__certificate_file"):
        read_public(files.certificate)
    with _named("tls__key_file"):
        tls.read_pair(files)
    if files.client_ca is not None:
        with _named("tls__client_ca_file"):
            tls.read_authorities(files.client_ca)


def credentials_of(settings: Settings, clock: Clock) -> "Credentials | None":
    """The TLS credentials of the TCP address; None without TLS. Raises BadSettings."""
    files = tls_files(settings)
    if files is None:
        return None
    from sidemirror_server.rpc.listening import tls

    with _named("tls__certificate_file"):
        return tls.credentials_of(files, clock)
