"""What models cost each project in a span of days, as far as the caller's token covers them. For `GetServerInfo`."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.models.ledger import NANO, US_PER_DAY, Level, ScopeCost, day_of
from sidemirror_server.models.spending import Spending
from sidemirror_server.policy.record import Cap
from sidemirror_server.rpc.boundary.access import ANY, Token
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import fitting
from sidemirror_server.vocabulary.errors import BadInput, CostsTooLate
from sidemirror_server.vocabulary.scope import Scope, Served, Serves

# The most projects that one answer has; fewer if their ids are so long that a message would not hold them.
_MOST = 5_000
# How long a call may wait for them. Chosen here: Postgres is asked for each project by itself.
_COSTS_S = 20.0


class Costs(NamedTuple):
    """What projects cost, and whether there are more projects. `first_us`: when the first day began; None: nobody asked
    for costs."""

    shown: Sequence[pb.ProjectCost] = ()
    has_more: bool = False
    first_us: int | None = None


async def project_costs(spending: Spending, serves: Serves, request: pb.GetServerInfoRequest, call: Call) -> Costs:
    """What the request asks for. Raises BadInput, StoreUnavailable, CostsTooLate."""
    if not request.HasField("costs_from"):
        return Costs()
    first = day_of(request.costs_from.ToMicroseconds())
    last = day_of(request.costs_to.ToMicroseconds() if request.HasField("costs_to") else call.clock.now_us())
    if last < first:
        raise BadInput([("costs_to", "not before the day of costs_from")])
    seen = _seen_by(call.caller, serves)
    try:
        async with asyncio.timeout(call.time_for(_COSTS_S, 0.5)):
            costs = await spending.costs(seen, first, last, _MOST + 1)
    except TimeoutError as error:
        raise CostsTooLate from error
    wires = (_to_wire(one, caps, call.caller) for one, caps in costs[:_MOST])
    shown = fitting(wires, pb.ProjectCost.ByteSize)
    return Costs(shown, len(shown) < len(costs), first * US_PER_DAY)


def _seen_by(caller: Token | None, serves: Serves) -> Serves:
    """The scopes that are served and that the token covers."""
    if caller is None:
        return serves
    granted = [
        Served(*(None if part == ANY else part for part in (one.tenant_id, one.project_id))) for one in caller.grants
    ]
    common = {one.common(entry) for one in granted for entry in serves.entries} - {None}
    return Serves(tuple(one for one in common if one is not None), said=True)


def _to_wire(cost: ScopeCost, caps: dict[Level, Cap], caller: Token | None) -> pb.ProjectCost:
    scope = cost.scope
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
        today_tokens=cost.today.tokens,
        today_usd=cost.today.usd,
        tokens_per_day=own.tokens,
        usd_per_day=_usd(own),
        tenant_tokens_per_day=tenants.tokens,
        tenant_usd_per_day=_usd(tenants),
    )


def _usd(cap: Cap) -> float | None:
    return None if cap.nano_usd is None else cap.nano_usd / NANO
