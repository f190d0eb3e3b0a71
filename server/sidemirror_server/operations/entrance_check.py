"""The part of `sidemirror doctor` that checks listeners, scopes, tokens and certificates. Changes nothing."""

import datetime
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from sidemirror_server.entrance import check_listeners, check_tls, serves_of, tls_files
from sidemirror_server.operations.finding import Finding
from sidemirror_server.operations.moments import minute
from sidemirror_server.rpc.boundary.access import ANY, Token, read_access
from sidemirror_server.rpc.boundary.secret_files import CannotUse, Emptied
from sidemirror_server.rpc.listening.addresses import is_local
from sidemirror_server.settings import BadSettings, Settings
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.scope import Scope, Served

# How long before a certificate or token expires to warn: time enough to replace it in working hours.
_SOON_US = 14 * 24 * 3600 * 1_000_000
# How lists of scopes end that mean every project of a tenant.
_ALL_PROJECTS = "/*"
# The most tenants that a line names. Chosen here.
_NAMED = 5


def check_entrance(settings: Settings, clock: Clock) -> Iterator[Finding]:
    """Findings in this order: listeners, served scopes, tokens, TLS."""
    try:
        check_listeners(settings)
    except BadSettings as error:
        advice = "choose an address on loopback or a socket, or set up TLS and tokens"
        is_address = error.setting == "address"
        yield _found("address", str(error), advice if is_address else "change or remove this setting")
        return
    yield _serves(settings)
    yield from _tokens(settings, clock)
    yield from _tls(settings, clock)


def _serves(settings: Settings) -> Finding:
    try:
        serves = serves_of(settings)
    except BadSettings as error:
        return _found("serves", str(error), "change or remove this setting")
    if serves.said:
        own = Scope(settings.tenant_id, settings.project_id)
        refused = "" if serves.covers(own) else "; calls that name no tenant and project are refused"
        told = f"it answers calls and does background work for {serves}{refused}"
        return _found("serves", f"{told}{_by_policies(settings)}")
    told = "it answers calls and does background work for every tenant"
    if settings.database_url:
        told += " in the shared store, with this sidecar's models"
    return _found("serves", f"{told}{_by_policies(settings)}")


def check_reach(settings: Settings, reaches: Callable[[str], bool], tenants: Sequence[str]) -> Iterator[Finding]:
    """Whom these settings mean to serve and the role in Postgres does not reach, so that calls for them are refused.
    `tenants`: those that it reaches, where these are not all."""
    try:
        serves = serves_of(settings)
    except BadSettings:
        return  # `check_entrance` tells it
    own = Scope(settings.tenant_id, settings.project_id)
    bind = "or bind a role to it (docs/postgres-tenants.md)"
    if serves.covers(own) and not reaches(own.tenant_id):
        told = f"its role does not reach tenant {own.tenant_id!r}: calls that name no tenant are refused"
        named = ", ".join(map(repr, tenants[:_NAMED]))
        helps = f"={tenants[0]}" if len(tenants) == 1 else f" to one of its tenants ({named})"
        yield _found("serves", told, f"set SIDEMIRROR_TENANT_ID{helps}, {bind}")
    listed = [one for one in serves.entries if one.tenant_id is not None] if not settings.pin_scope else []
    reached = [one for one in listed if reaches(one.tenant_id or "")]
    if len(reached) < len(listed):
        lost = ", ".join(str(one) for one in listed if one not in reached)
        told = f"SIDEMIRROR_SERVES lists {lost}, which its role does not reach: calls for it are refused"
        left = ", ".join(map(str, reached or [Served(tenant_id) for tenant_id in tenants[:_NAMED]]))
        yield _found("serves", told, f"set SIDEMIRROR_SERVES='{left}', {bind}")


def _by_policies(settings: Settings) -> str:
    """Whether the settings of retention have no effect."""
    return "; records are kept as policies say, not `retention`" if settings.database_url else ""


def _tokens(settings: Settings, clock: Clock) -> Iterator[Finding]:
    if not settings.access_file:
        whoever = "user of this machine" if is_local(settings.address) else "one"
        told = f"by these settings every {whoever} who reaches the server may call: they name no access_file"
        yield _found("access", told)
        return
    try:
        tokens = read_access(Path(settings.access_file))
    except CannotUse as error:
        running = "refuses every call" if isinstance(error, Emptied) else "goes on with the tokens from before"
        told = f"{error}; a sidecar that runs {running}, and none starts"
        yield _found("access", told, "mend the access file (docs/operations.md, Who may call)")
        return
    now_us = clock.now_us()
    good = [token for token in tokens if token.expires_us is None or token.expires_us > now_us]
    yield _found(
        "access",
        f"{settings.access_file}: {_how_many(good, tokens)} good, {_tenants(good)}",
        "" if good else "add a token: nobody can call",
    )
    for token in good:
        for name in sorted({grant.tenant_id for grant in token.grants if grant.tenant_id.endswith(_ALL_PROJECTS)}):
            told = f"token {token.name} is good for a tenant whose name is {name!r}"
            own = f'{{"tenant_id": "{name.removesuffix(_ALL_PROJECTS)}"}}'
            yield _found("access", told, f"for all projects of a tenant its id is enough: {own}")
    for token in tokens:
        if token.expires_us is not None and token.expires_us - now_us < _SOON_US:
            has_expired = token.expires_us <= now_us
            told = "has expired at" if has_expired else "expires at"
            advice = "add its successor and give it out; then remove it"
            if has_expired:
                advice += f": while it is there, the log names it. By this machine's clock it is {minute(now_us)}"
            yield _found("access", f"token {token.name} {told} {minute(token.expires_us)}", advice)


def _how_many(good: list[Token], tokens: Sequence[Token]) -> str:
    verb = "is" if len(good) == 1 else "are"
    if len(good) < len(tokens):
        return f"{len(good)} of {len(tokens)} tokens {verb}"
    return f"{len(good)} {'token' if len(good) == 1 else 'tokens'} {verb}"


def _tenants(tokens: list[Token]) -> str:
    """For which tenants they are good, and for which single projects. Those that are good for everything are named."""
    everywhere = [token.name for token in tokens if token.covers(Scope(ANY, ANY))]
    grants = [grant for token in tokens if token.name not in everywhere for grant in token.grants]
    tenants = sorted({grant.tenant_id for grant in grants if grant.project_id == ANY})
    projects = sorted({f"{grant.tenant_id}/{grant.project_id}" for grant in grants if grant.project_id != ANY})
    kinds = [f"{kind} {', '.join(names)}" for kind, names in (("tenant", tenants), ("project", projects)) if names]
    others = f"for {' and '.join(kinds)}" if kinds else "for nobody"
    if not everywhere:
        return others
    return f"{', '.join(everywhere)} for every tenant, the others {others}" if kinds else "for every tenant"


def _tls(settings: Settings, clock: Clock) -> Iterator[Finding]:
    files = tls_files(settings)
    if files is None:
        return
    try:
        check_tls(files)
    except BadSettings as error:
        yield _found("tls", str(error), "mend the files, or name others")
        return
    begins_us, ends_us = _good_from_until(_decoded(files.certificate))
    clients = "" if files.client_ca is None else f"; clients need a certificate of {files.client_ca}"
    found, advice = _validity(f"{files.certificate}", begins_us, ends_us, clock.now_us())
    yield _found("tls", f"{found}{clients}", advice)
    if files.client_ca is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_verify_locations(files.client_ca)
        for number, authority in enumerate(context.get_ca_certs(), 1):
            found, advice = _validity(f"{files.client_ca}, {number}.", *_good_from_until(authority), clock.now_us())
            if advice:
                yield _found("tls", found, f"{advice}; clients that it has signed cannot connect")


def _validity(what: str, begins_us: int, ends_us: int, now_us: int) -> tuple[str, str]:
    """The finding about a certificate, and what to change (empty: nothing)."""
    if now_us < begins_us:
        return f"{what} is not good before {_day(begins_us)}", "set the machine's clock, or replace the certificate"
    if now_us >= ends_us:
        return f"{what} has expired on {_day(ends_us)}", "replace it; no restart is needed"
    soon = ends_us - now_us < _SOON_US
    return f"{what} is good until {_day(ends_us)}", "replace it; no restart is needed" if soon else ""


def _decoded(certificate: Path) -> Mapping[str, object]:
    """The first certificate of the file."""
    # The only decoder without another package; CPython's tests use it.
    decoded: dict[str, object] = ssl._ssl._test_decode_cert(str(certificate))  # type: ignore[attr-defined]  # noqa: SLF001
    return decoded


def _good_from_until(decoded: Mapping[str, object]) -> tuple[int, int]:
    begins_s, ends_s = (ssl.cert_time_to_seconds(str(decoded[name])) for name in ("notBefore", "notAfter"))
    return int(begins_s) * 1_000_000, int(ends_s) * 1_000_000


def _found(subject: str, found: str, advice: str = "") -> Finding:
    """A finding that is ok when there is no advice."""
    return Finding(subject, not advice, found, advice)


def _day(at_us: int) -> str:
    return datetime.datetime.fromtimestamp(at_us / 1e6, datetime.UTC).date().isoformat()
