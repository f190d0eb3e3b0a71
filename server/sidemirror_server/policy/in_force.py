"""The policies in force: read from the store when work needs them, and used for a few seconds.

What is set at one sidecar holds at every other one before its next answer, 10 s later at most. Nothing is read while
there is no work.
"""

import asyncio
from collections.abc import Iterable

from msgspec.structs import astuple

from sidemirror_server.policy.record import Advice, RetentionPeriods, ScopePolicies, StoredPolicy
from sidemirror_server.policy.retention import KeptAlike, kept_alike
from sidemirror_server.policy.store import Policies, PolicyChange
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.scope import Scope, Served, Serves

# How long policies are used after they were read. Chosen here: half of the promised 10 s, so that a slow store does not
# break the promise.
FRESH_S = 5.0
# The most scopes whose policies are held. Chosen here: some MiB; beyond it they are read again.
_MOST_SCOPES = 10_000


class PoliciesInForce:
    """Reads, holds and sets policies."""

    def __init__(self, store: Policies, proposed: RetentionPeriods, serves: Serves, clock: Clock, most: int) -> None:
        """`proposed`: the retention by the sidecar's settings. `most`: how many projects of a tenant may have a
        policy."""
        self._store = store
        self.proposed = proposed
        self.serves = serves
        self._clock = clock
        self.most = most
        self._held: dict[Scope, tuple[float, asyncio.Future[ScopePolicies]]] = {}

    async def of(self, scope: Scope) -> ScopePolicies:
        """The scope's policies, at most `FRESH_S` old. Callers at the same time share one read. Raises
        StoreUnavailable."""
        now_s = self._clock.monotonic_s()
        read_s, reading = self._held.get(scope, (0.0, None))
        if reading is None or now_s - read_s > FRESH_S or _has_failed(reading):
            if len(self._held) >= _MOST_SCOPES:
                self._held.clear()
            reading = asyncio.ensure_future(self._store.get(scope))
            # Its error reaches whoever waits; nobody may.
            reading.add_done_callback(_has_failed)
            self._held[scope] = (now_s, reading)
        return await asyncio.shield(reading)

    async def of_each(self, scopes: Iterable[Scope], serves: Serves) -> dict[Scope, ScopePolicies]:
        """The policies of many of the scopes served. Only those that there are are read. Raises StoreUnavailable."""
        deciding = await self._store.deciding(serves)
        of_tenants: dict[str, ScopePolicies] = {}
        found: dict[Scope, ScopePolicies] = {}
        for scope in scopes:
            tenant_id = scope.tenant_id
            if Served(*astuple(scope)) in deciding:
                found[scope] = await self.of(scope)
                continue
            if tenant_id not in of_tenants:
                read = await self.of(scope) if Served(tenant_id) in deciding else ScopePolicies()
                of_tenants[tenant_id] = ScopePolicies(None, read.tenant)
            found[scope] = of_tenants[tenant_id]
        return found

    async def advice(self, scope: Scope) -> Advice:
        """The advice that the scope is not given. Raises StoreUnavailable."""
        return (await self.of(scope)).advice

    async def kept_alike(self) -> tuple[KeptAlike, ...]:
        """The retention of the scopes served, read now. Raises StoreUnavailable."""
        return kept_alike(await self._store.retained(self.serves), self.proposed, self.serves)

    async def stored(self, scope: Scope) -> ScopePolicies:
        """The scope's policies as they are in the store now. Raises StoreUnavailable."""
        return await self._store.get(scope)

    async def set(self, scope: Scope, change: PolicyChange, now_us: int) -> StoredPolicy | None:
        """Stores a policy, which this sidecar follows at once. Raises WrongState, LimitReached, StoreUnavailable,
        StoreFull."""
        try:
            return await self._store.set(scope, change, now_us)
        finally:
            # The tenant's policy is every project's; and a write whose answer was lost may have succeeded.
            self._held.clear()


def _has_failed(reading: "asyncio.Future[ScopePolicies]") -> bool:
    return reading.done() and (reading.cancelled() or reading.exception() is not None)
