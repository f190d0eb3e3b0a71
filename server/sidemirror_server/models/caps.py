"""The caps of a day: whom each belongs to, whose spending it counts, and what a caller is told of it. Pure.

A sidecar's settings, a tenant's policy and a project's policy each may have caps, and all of them hold. Called by
`spending.py`.
"""

import datetime
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from sidemirror_server.models.language_model import Purpose
from sidemirror_server.models.ledger import Amount, Level, Refusal
from sidemirror_server.policy.record import Cap, ScopePolicies
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Serves

NO_CAP = Cap()
# For each level that counts every purpose, the one that counts a single purpose.
_OF_PURPOSE = {
    Level.TOTAL: Level.PURPOSE,
    Level.TENANT: Level.TENANT_PURPOSE,
    Level.PROJECT: Level.PROJECT_PURPOSE,
}
OF_ONE_PURPOSE = frozenset(_OF_PURPOSE.values())


def whose_spending(level: Level, scope: Scope) -> tuple[str, ...]:
    """The tenant, or tenant and project, whose spending a level counts; empty for that of several tenants."""
    if level in (Level.TOTAL, Level.PURPOSE):
        return ()
    of_tenant = level in (Level.TENANT, Level.TENANT_PURPOSE)
    return (scope.tenant_id,) if of_tenant else (scope.tenant_id, scope.project_id)


class CapOwner(StrEnum):
    """Whom a cap belongs to."""

    PROJECT = "project"
    TENANT = "tenant"
    SIDECAR = "sidecar"


class OwnedCap(msgspec.Struct, frozen=True):
    """A cap, whom it belongs to, and whose spending it counts."""

    owner: CapOwner
    level: Level
    cap: Cap


class Caps(msgspec.Struct, frozen=True):
    """The caps of a sidecar's settings. `tenant` and `project` hold for each tenant and each project. `counted`: the
    level at which `total` and `purposes` count: that of the one tenant or project that the sidecar serves; TOTAL when
    it serves several, which are `serves`."""

    total: Cap = NO_CAP
    tenant: Cap = NO_CAP
    project: Cap = NO_CAP
    purposes: Mapping[Purpose, Cap] = {}
    counted: Level = Level.TOTAL
    serves: Serves = SERVES_ALL

    def apart(self) -> "Caps":
        """The same where the store's sum over everything is that of the call's tenant alone. A list of `serves` is
        added up tenant by tenant, and so counts all of them there too."""
        if self.counted is not Level.TOTAL or self.serves.entries != SERVES_ALL.entries:
            return self
        return msgspec.structs.replace(self, counted=Level.TENANT)

    def of(self, purpose: Purpose, policies: ScopePolicies) -> tuple[OwnedCap, ...]:
        """Every cap on a call for this purpose, from the narrowest owner to the widest. `policies`: of its scope."""
        sidecar = CapOwner.SIDECAR
        caps = (
            *_of_policy(CapOwner.PROJECT, Level.PROJECT, policies.of_project.caps, purpose),
            *_of_policy(CapOwner.TENANT, Level.TENANT, policies.of_tenant.caps, purpose),
            OwnedCap(sidecar, Level.PROJECT, self.project),
            OwnedCap(sidecar, Level.TENANT, self.tenant),
            OwnedCap(sidecar, self.counted, self.total),
            OwnedCap(sidecar, _OF_PURPOSE[self.counted], self.purposes.get(purpose, NO_CAP)),
        )
        return tuple(one for one in caps if one.cap != NO_CAP)


def _of_policy(owner: CapOwner, level: Level, caps: Mapping[str, Cap], purpose: Purpose) -> tuple[OwnedCap, ...]:
    return (
        OwnedCap(owner, level, caps.get("", NO_CAP)),
        OwnedCap(owner, _OF_PURPOSE[level], caps.get(purpose.value, NO_CAP)),
    )


def tightest(caps: Iterable[OwnedCap]) -> dict[Level, Cap]:
    """For each level that has a cap, the least of its limits in each unit."""
    found: dict[Level, Cap] = {}
    for one in caps:
        found[one.level] = tighter(one.cap, found.get(one.level, NO_CAP))
    return found


def tighter(one: Cap, other: Cap) -> Cap:
    """The lesser of both limits in each unit."""
    return Cap(_least(one.tokens, other.tokens), _least(one.nano_usd, other.nano_usd))


def owner_of(refusal: Refusal, caps: Iterable[OwnedCap]) -> CapOwner:
    """Whom the cap belongs to that refuses; of equal ones the narrowest owner."""
    same = (one for one in caps if one.level is refusal.level)
    return next(one.owner for one in same if getattr(one.cap, refusal.unit) == refusal.limit)


def figures(refusal: Refusal) -> dict[str, str]:
    """The cap's `limit`, what is `used` of it, and what was `wanted`, for people."""
    numbers = {"limit": refusal.limit, "used": refusal.used, "wanted": refusal.wanted}
    is_money = refusal.unit == "nano_usd"
    return {name: f"{Amount(0, n).usd:.4f} USD" if is_money else f"{n} tokens" for name, n in numbers.items()}


def in_words(refusal: Refusal, owner: CapOwner, scope: Scope, purpose: Purpose) -> str:
    """Describes the cap that refuses, and when it is reset. Its figures are told only where they are of the scope's own
    tenant: a cap on what everybody spends would tell what others have spent."""
    whose = {
        CapOwner.SIDECAR: "of this sidecar",
        CapOwner.TENANT: f"of tenant {scope.tenant_id}",
        CapOwner.PROJECT: f"of project {scope.project_id}",
    }[owner]
    counted = {Level.TENANT: f" on tenant {scope.tenant_id}", Level.PROJECT: f" on project {scope.project_id}"}
    on = counted.get(refusal.level, "") if owner is CapOwner.SIDECAR else ""
    for_ = f" for {purpose.value}" if refusal.level in OF_ONE_PURPOSE else ""
    until = f"{datetime.datetime.fromtimestamp(refusal.until_us / 1e6, datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"
    limit, used, wanted = figures(refusal).values()
    if not whose_spending(refusal.level, scope):
        return f"the cap {whose}{for_} is reached for a call that may take up to {wanted}; until {until}"
    return (
        f"the cap {whose}{on}{for_} is {limit} a day, {used} are spent or reserved, and this call may take up to "
        f"{wanted}; until {until}"
    )


def _least(one: int | None, other: int | None) -> int | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)
