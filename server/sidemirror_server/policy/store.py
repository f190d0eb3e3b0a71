"""The port that stores policies. Adapters: `storage/*/policies.py`."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from sidemirror_server.policy.record import DataPolicy, PolicyLevel, RetentionPeriods, ScopePolicies, StoredPolicy
from sidemirror_server.vocabulary.errors import LimitReached, WrongState
from sidemirror_server.vocabulary.scope import Scope, Served, Serves

# The setting that limits how many projects of a tenant have a policy of their own.
LIMIT = "project_policies"


class PolicyChange(msgspec.Struct, frozen=True):
    """A policy to store. `if_version`: the version that the stored one must have; 0: none is stored; None: any. `most`:
    how many projects of the tenant may have a policy of their own."""

    level: PolicyLevel
    policy: DataPolicy
    set_by: str
    if_version: int | None
    most: int


class Policies(Protocol):
    """Stores the policies of tenants and projects.

    PO1  `get` returns the policies of a scope: its project's and its tenant's.
    PO2  `set` replaces the policy of the scope's project or tenant, durably, and returns it with a higher version.
    PO3  An empty policy removes the stored one; `set` then returns None. The next one has a higher version than it had,
         as long as `now_us` grows.
    PO4  With another version than `if_version`, 0 where none is stored, `set` changes nothing (WrongState). None means
         any. Of concurrent calls with the same version and other policies, one succeeds. A change that is repeated as
         it was made returns what is stored.
    PO5  A tenant's policy belongs to all its projects, also to those that are used later; a project's to it alone.
         Tenants never meet.
    PO6  Of a tenant at most `most` projects have a policy; one more is refused (LimitReached). A stored one can still
         be replaced and removed.
    PO7  `retained` returns the retention of every stored policy that sets one and that concerns a scope served: a
         tenant's under the tenant alone, also where only some of its projects are served.
    PO8  `deciding` names the tenants and projects that have a policy, as `retained` does.
    Raises StoreUnavailable, StoreFull.
    """

    async def get(self, scope: Scope) -> ScopePolicies: ...

    async def set(self, scope: Scope, change: PolicyChange, now_us: int) -> StoredPolicy | None: ...

    async def retained(self, serves: Serves) -> Mapping[Served, RetentionPeriods]: ...

    async def deciding(self, serves: Serves) -> frozenset[Served]: ...


def replaced(
    scope: Scope, known: StoredPolicy | None, others: int, change: PolicyChange, now_us: int
) -> StoredPolicy | None:
    """What `set` stores; None to remove. `known`: what is stored. `others`: how many projects of the tenant have a
    policy. Raises WrongState, LimitReached."""
    version = 0 if known is None else known.version
    if change.if_version not in (None, version):
        if _was_made(known, change):
            return known
        name = scope.tenant_id if change.level is PolicyLevel.TENANT else scope.project_id
        raise WrongState("policy", name, f"its version is {version}")
    if change.policy == DataPolicy():
        return None
    if change.level is PolicyLevel.PROJECT and known is None and others >= change.most:
        raise LimitReached(LIMIT, change.most, scope.tenant_id)
    # The store's clock, so that a version does not return after the policy was removed.
    return StoredPolicy(change.policy, max(version + 1, now_us), change.set_by, now_us)


def _was_made(known: StoredPolicy | None, change: PolicyChange) -> bool:
    """Whether what is stored is what the change makes, so that only its answer was lost."""
    if known is None:
        return change.policy == DataPolicy()
    is_later = change.if_version is not None and known.version > change.if_version
    return is_later and (known.policy, known.set_by) == (change.policy, change.set_by)
