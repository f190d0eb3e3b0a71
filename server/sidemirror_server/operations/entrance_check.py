"""What `sidemirror doctor` finds of who gets in: listeners, tokens, certificates. Changes nothing."""

import datetime
import ssl
from collections.abc import Iterator
from pathlib import Path

import msgspec

from sidemirror_server.entrance import check_listeners, check_tls, tls_files
from sidemirror_server.rpc.access import ANY, Token, read_access
from sidemirror_server.rpc.listening import is_local
from sidemirror_server.rpc.secret_files import CannotUse
from sidemirror_server.settings import BadSettings, Settings
from sidemirror_server.vocabulary.clock import Clock

# Long enough before its end to replace a certificate or a token in working hours.
_SOON_US = 14 * 24 * 3600 * 1_000_000


class Found(msgspec.Struct, frozen=True):
    """One thing that was looked at; `advice` is what to change, and it is well when there is none."""

    subject: str
    found: str
    advice: str = ""


def check_entrance(settings: Settings, clock: Clock) -> Iterator[Found]:
    """In this order: where it listens, who may call, what it shows."""
    try:
        check_listeners(settings)
    except BadSettings as error:
        yield Found("address", str(error), "choose an address on loopback or a socket, or set up TLS and tokens")
        return
    yield from _tokens(settings, clock)
    yield from _tls(settings, clock)


def _tokens(settings: Settings, clock: Clock) -> Iterator[Found]:
    if not settings.access_file:
        whoever = "user of this machine" if is_local(settings.address) else "one"
        yield Found("access", f"every {whoever} who reaches the server may call: there is no access_file")
        return
    try:
        tokens = read_access(Path(settings.access_file))
    except CannotUse as error:
        yield Found("access", str(error), "mend the access file (README, Who may call)")
        return
    now_us = clock.now_us()
    good = [token for token in tokens if token.expires_us is None or token.expires_us > now_us]
    yield Found(
        "access",
        f"{settings.access_file}: {len(good)} tokens are good, for {_tenants(good)}",
        "" if good else "add a token: nobody can call",
    )
    for token in tokens:
        if token.expires_us is not None and token.expires_us - now_us < _SOON_US:
            when = _day(token.expires_us)
            told = "expired on" if token.expires_us <= now_us else "expires on"
            advice = "remove it" if token.expires_us <= now_us else "add its successor, give it out, then remove it"
            yield Found("access", f"token {token.name} {told} {when}", advice)


def _tenants(tokens: list[Token]) -> str:
    names = sorted({grant.tenant_id for token in tokens for grant in token.grants})
    if ANY in names:
        return "every tenant"
    return f"tenant {', '.join(names)}" if names else "nobody"


def _tls(settings: Settings, clock: Clock) -> Iterator[Found]:
    files = tls_files(settings)
    if files is None:
        return
    try:
        check_tls(files)
    except BadSettings as error:
        yield Found("tls", str(error), "mend the files, or name others")
        return
    ends_us = _ends_us(files.certificate)
    found = f"{files.certificate} is good until {_day(ends_us)}"
    if files.client_ca is not None:
        found += f"; clients need a certificate of {files.client_ca}"
    yield Found("tls", found, "replace it; no restart is needed" if ends_us - clock.now_us() < _SOON_US else "")


def _ends_us(certificate: Path) -> int:
    """When the first certificate of the file ends."""
    # The one way to it without another package: what CPython's own tests use.
    decoded: dict[str, str] = ssl._ssl._test_decode_cert(str(certificate))  # type: ignore[attr-defined]  # noqa: SLF001
    return int(ssl.cert_time_to_seconds(decoded["notAfter"])) * 1_000_000


def _day(at_us: int) -> str:
    return datetime.datetime.fromtimestamp(at_us / 1e6, datetime.UTC).date().isoformat()
