"""`sidemirror migrate`: creates or updates the schema of a shared database, as its owner."""

import asyncio
import sys
from collections.abc import Mapping

from sidemirror_server.assembly import migrate_shared
from sidemirror_server.operations import exit_codes
from sidemirror_server.settings import BadSettings
from sidemirror_server.vocabulary.errors import SidemirrorError, StoreRefused, StoreUnavailable


def migrate(url: str, grant_to: Mapping[str, str | None]) -> int:
    """Applies what is missing and says what it did. `grant_to`: roles, each with the tenant to bind it to, or None to
    keep its binding. Returns the exit code. Raises BadSettings without a URL."""
    if not url:
        raise BadSettings("database_url (SIDEMIRROR_DATABASE_URL, or --database-url): the owner's URL is expected")
    tenants = {role: tenant_id for role, tenant_id in grant_to.items() if tenant_id is not None}
    try:
        done = asyncio.run(migrate_shared(url, tuple(grant_to), tenants))
    except SidemirrorError as error:
        print(f"sidemirror: {error}", file=sys.stderr)
        is_away = isinstance(error, StoreUnavailable) and not isinstance(error, StoreRefused)
        return exit_codes.UNAVAILABLE if is_away else exit_codes.FAILED
    for name in done.applied:
        print(f"applied {name}")
    print("the schema is up to date")
    for role in grant_to:
        print(f"{role} may use it{_for(tenants.get(role), done.before.get(role))}")
    for role in done.unbound:
        print(
            f"{role} is bound to no tenant, and sees nothing: --grant-to {role} --tenant TENANT, or '*' for every one"
        )
    return 0


def _for(tenant_id: str | None, before: str | None) -> str:
    """Whom a role is bound to now, and to whom it was before if that was somebody else."""
    if tenant_id is None:
        return ""
    changed = "" if before in (None, tenant_id) else f"; until now it was bound to {_tenant(before or '')}"
    return f", for {_tenant(tenant_id)}{changed}"


def _tenant(tenant_id: str) -> str:
    return "every tenant" if tenant_id == "*" else f"tenant {tenant_id}"
