"""What models cost each project in a span of days, as far as the caller's token covers them. For `GetServerInfo`."""

import asyncio

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.models.ledger import NANO, Amount, Level, ScopeCost, day_of
from sidemirror_server.models.spending import Spending
from sidemirror_server.policy.record import Cap
from sidemirror_server.rpc.boundary.access import ANY, Token
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.vocabulary.scope import Scope, Served, Serves

# The most projects that one answer has. Chosen here: with ids of the longest kind they fit into a message of gRPC.
MOST = 5_000
# How long the store may take for them. Chosen here: Postgres is asked for each project by itself.
_COSTS_S = 20.0


async def project_costs(
    spending: Spending, serves: Serves, request: pb.GetServerInfoRequest, call: Call
) -> list[pb.ProjectCost]:
    """One more than `MOST` if there are more; empty if the request asks for none. Raises StoreUnavailable,
    TimeoutError."""
    if not request.HasField("costs_from"):
        return []
    today = day_of(call.clock.now_us())
    last = day_of(request.costs_to.ToMicroseconds()) if request.HasField("costs_to") else today
    seen = _seen_by(call.caller, serves)
    async with asyncio.timeout(call.time_for(_COSTS_S, 0.5)):
        costs = await spending.costs(seen, day_of(request.costs_from.ToMicroseconds()), last, MOST + 1)
        of_today = {one.scope: one for one in await spending.costs(seen, today, today, MOST + 1)}
        return [
            _to_wire(one, of_today.get(one.scope), await spending.caps_on_all(one.scope), call.caller) for one in costs
        ]


def _seen_by(caller: Token | None, serves: Serves) -> Serves:
    """The scopes that are served and that the token covers."""
    if caller is None:
        return serves
    granted = [
        Served(*(None if part == ANY else part for part in (one.tenant_id, one.project_id))) for one in caller.grants
    ]
    common = {one.common(entry) for one in granted for entry in serves.entries} - {None}
    return Serves(tuple(one for one in common if one is not None), said=True)


def _to_wire(cost: ScopeCost, today: ScopeCost | None, caps: dict[Level, Cap], caller: Token | None) -> pb.ProjectCost:
    scope = cost.scope
    used = Amount() if today is None else today.settled.plus(today.reserved)
    sees_tenant = caller is None or caller.covers(Scope(scope.tenant_id, ANY))
    own, tenants = caps.get(Level.PROJECT, Cap()), caps.get(Level.TENANT, Cap()) if sees_tenant else Cap()
    return pb.ProjectCost(
        tenant_id=scope.tenant_id,
        project_id=scope.project_id,
        calls=cost.calls,
        tokens=cost.settled.tokens,
        usd=cost.settled.usd,
        reserved_tokens=cost.reserved.tokens,
        reserved_usd=cost.reserved.usd,
        unanswered_calls=cost.unanswered,
        estimated_tokens=cost.estimated.tokens,
        estimated_usd=cost.estimated.usd,
        today_tokens=used.tokens,
        today_usd=used.usd,
        tokens_per_day=own.tokens,
        usd_per_day=_usd(own),
        tenant_tokens_per_day=tenants.tokens,
        tenant_usd_per_day=_usd(tenants),
    )


def _usd(cap: Cap) -> float | None:
    return None if cap.nano_usd is None else cap.nano_usd / NANO
