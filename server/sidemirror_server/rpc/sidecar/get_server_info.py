"""GetServerInfo: what this server is, and what it has spent."""

import asyncio
import datetime
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.goals.report import KIND as GOAL_REPORT
from sidemirror_server.memory.dreams.schedule import KIND as DREAM
from sidemirror_server.memory.finding.search import Filter, MemorySearch
from sidemirror_server.memory.record import MemoryState
from sidemirror_server.models.caps import CapOwner, whose_spending
from sidemirror_server.models.ledger import NANO, US_PER_DAY, Level, Spend, day_of
from sidemirror_server.models.spending import CapState, Spending
from sidemirror_server.models.telemetry import ModelOutage
from sidemirror_server.rpc.boundary.access import ANY, Token
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.strangers import Strangers
from sidemirror_server.rpc.sidecar.costs import Costs, project_costs
from sidemirror_server.rpc.sidecar.findings import QUARANTINED_TOLD, finding_to_wire, findings_of
from sidemirror_server.rpc.sidecar.info import EmbeddingFacts, ServerInfo, StoreFacts
from sidemirror_server.rpc.sidecar.policies import change_to_wire, is_shown
from sidemirror_server.rpc.wire.common import duration, numbers_of, timestamp
from sidemirror_server.rpc.wire.config import budget_to_wire, config_to_wire
from sidemirror_server.telemetry_in.inbox import KIND as ASSEMBLE_TRACE
from sidemirror_server.trace.erasure import JOB_KIND as ERASURE
from sidemirror_server.turns.advice_changes import AdviceChanges
from sidemirror_server.turns.teaching import KIND as LEARN_TURN
from sidemirror_server.vocabulary.budget import TurnBudget
from sidemirror_server.vocabulary.errors import CostsTooLate, StoreUnavailable
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.store_clock import StoreClock
from sidemirror_server.vocabulary.traffic import TOLD, Sender, TrafficTold
from sidemirror_server.work.queue import Work

# How many days of spend are reported. Chosen here: a week shows whether today is unusual.
_DAYS = 7
# How long the answer waits for the store. Chosen here: the commands wait for 2 s or more, so they learn of an outage.
_SOON_S = 1.0
T = TypeVar("T")

_IN_QUARANTINE = Filter(states=(MemoryState.QUARANTINED,))
# The kinds of background work.
_KINDS = (GOAL_REPORT, LEARN_TURN, DREAM, ASSEMBLE_TRACE, ERASURE)
_EPOCH = datetime.date(1970, 1, 1)
# Whose spending a cap counts; the purpose is a field of its own, except in the level of all scopes.
_LEVELS = {
    **numbers_of((Level.TOTAL, Level.PURPOSE, Level.TENANT, Level.PROJECT), pb.SpendLevel),
    Level.TENANT_PURPOSE: pb.SPEND_LEVEL_TENANT,
    Level.PROJECT_PURPOSE: pb.SPEND_LEVEL_PROJECT,
}
_OWNERS = numbers_of(CapOwner, pb.SpendCapOwner)


async def get_server_info(
    info: ServerInfo,
    spending: Spending,
    work: Work,
    changes: AdviceChanges,
    search: MemorySearch,
    request: pb.GetServerInfoRequest,
    call: Call,
) -> pb.GetServerInfoResponse:
    spent, changed, quarantined, backlog = await asyncio.gather(
        _spent(spending, info, request, call),
        _soon(changes.of(call.scope), ()) if request.with_advice_changes else _known(()),
        _soon(_quarantined(search, call.scope), 0) if request.with_findings else _known(0),
        _soon(_backlog(work, call.scope), {}),
    )
    caps = tuple(cap for cap in spent.caps if _may_see(call.caller, cap.level, call.scope))
    hidden = tuple(cap for cap in spent.caps if cap not in caps)
    covers = _covered_by(call.caller)
    own = info.own_scope if call.caller is None else call.caller.own_scope(info.own_scope)
    answer = pb.GetServerInfoResponse(
        version=info.version,
        tenant_id=own.tenant_id if own else "",
        project_id=own.project_id if own else "",
        stores=[_store_to_wire(store) for store in info.stores],
        models=[
            pb.ModelInfo(
                purpose=model.purpose,
                provider=model.provider,
                model=model.model,
                available=model.is_available() and not (model.is_paid and _is_used_up(spent.caps, model.purpose)),
                price_unknown=model.is_price_unknown(),
                last_answer_time=timestamp(answered_us)
                if (answered_us := info.questions.answered_us(model.purpose, covers))
                else None,
            )
            for model in info.models
        ],
        default_config=config_to_wire(info.default_config),
        default_budget=budget_to_wire(TurnBudget()),
        limits=info.limits,
        spend=[_spend_to_wire(one) for one in spent.spend],
        spend_caps=[_cap_to_wire(cap, call.scope, call.clock.now_us()) for cap in caps],
        refusing_caps=[_cap_to_wire(cap, scope, call.clock.now_us()) for scope, cap in spent.refusing],
        hidden_caps=[_hidden_to_wire(cap, call.clock.now_us()) for cap in hidden],
        spend_unknown=spent.is_unknown,
        project_costs=spent.costs.shown,
        more_project_costs=spent.costs.has_more,
        costs_from=None if spent.costs.first_us is None else timestamp(spent.costs.first_us),
        quarantined_count=quarantined,
        backlog=[pb.Backlog(kind=kind, waiting_count=count) for kind, count in backlog.items() if count],
        advice_is_shadow=info.advice_is_shadow,
        store_clock=_clock_to_wire(info.store_clock),
        advice_changes=[change_to_wire(one) for one in changed if is_shown(one, call)],
        memory_embedding=None if info.embedding is None else _embedding_to_wire(info.embedding, call.scope),
        server_time=timestamp(info.own_clock.now_us()),
        traffic=_traffic_to_wire(info.traffic.told(), call.caller),
        refused_callers=_refused_to_wire(info.strangers) if _sees_all(call.caller) else (),
        model_outages=[_outage_to_wire(one) for one in info.questions.outages(covers)],
    )
    if request.with_findings:
        # By the answer alone: what the caller may not see is in none of them.
        answer.findings.extend(map(finding_to_wire, findings_of(answer)))
    return answer


def _store_to_wire(store: StoreFacts) -> pb.StoreInfo:
    slowest_s = store.slowest_commit_s()
    return pb.StoreInfo(
        kind=store.kind,
        holds=store.holds,
        durability=store.durability(),
        available=store.is_available(),
        lost=store.lost(),
        slowest_commit=duration(int(slowest_s * 1e6)) if slowest_s else None,
        full=store.is_full(),
    )


def _outage_to_wire(one: ModelOutage) -> pb.ModelOutage:
    return pb.ModelOutage(
        purpose=one.purpose.value,
        provider=one.provider,
        model=one.model,
        failed_count=one.failed_count,
        first_time=timestamp(one.first_us),
        last_time=timestamp(one.last_us),
        status=one.status,
        answered_others_time=timestamp(one.answered_others_us) if one.answered_others_us else None,
    )


def _covered_by(caller: Token | None) -> Callable[[Scope], bool]:
    """Whether the caller is told what was asked for a scope."""
    return (lambda _: True) if caller is None else caller.covers


def _sees_all(caller: Token | None) -> bool:
    return caller is None or caller.covers(Scope(ANY, ANY))


def _refused_to_wire(strangers: Strangers) -> list[pb.RefusedCaller]:
    return [
        pb.RefusedCaller(
            peer=one.host,
            reason=one.reason,
            token=one.token,
            fingerprint=one.fingerprint,
            tenant_id=one.tenant_id,
            project_id=one.project_id,
            call_count=refused.calls,
            first_time=timestamp(refused.first_us),
            last_time=timestamp(refused.last_us),
        )
        for one, refused in strangers.told()[:TOLD]
    ]


def _traffic_to_wire(told: TrafficTold, caller: Token | None) -> pb.Traffic:
    """What the token covers of it."""
    sees_all, reads = _sees_all(caller), dict(told.reads)

    def seen(senders: Sequence[tuple[Sender, int]]) -> list[pb.Sender]:
        return [
            pb.Sender(
                token=one.token,
                tenant_id=one.scope.tenant_id,
                project_id=one.scope.project_id,
                session_id=one.session_id,
                sent_count=count,
                read_count=reads.get(one, 0),
            )
            for one, count in senders
            if caller is None or caller.covers(one.scope)
        ][:TOLD]

    return pb.Traffic(
        period=duration(int(told.period_s * 1e6)),
        message_count=told.messages if sees_all else None,
        callers=seen(told.callers),
        sessions=seen(told.sessions),
        held_back=[
            pb.Sender(token=token, waited=duration(int(seconds * 1e6))) for token, seconds in told.held_back[:TOLD]
        ]
        if sees_all
        else (),
        refused=[pb.Sender(token=token, refused_count=count) for token, count in told.refused[:TOLD]]
        if sees_all
        else (),
    )


class _Spent(msgspec.Struct, frozen=True):
    """What was spent, every cap, and those that refuse calls of others. `is_unknown`: the store did not say it soon."""

    spend: tuple[Spend, ...] = ()
    caps: tuple[CapState, ...] = ()
    refusing: tuple[tuple[Scope, CapState], ...] = ()
    costs: Costs = Costs()
    is_unknown: bool = False


async def _spent(spending: Spending, info: ServerInfo, request: pb.GetServerInfoRequest, call: Call) -> _Spent:
    try:
        async with asyncio.timeout(_SOON_S):
            spend = await spending.spent(call.scope, _DAYS)
            caps = await spending.caps(call.scope)
            refusing = await spending.refusing(lambda level, scope: _is_others(level, scope, call), TOLD)
        return _Spent(spend, caps, refusing, await project_costs(spending, info.serves, request, call))
    except CostsTooLate:
        raise
    except (StoreUnavailable, TimeoutError):
        return _Spent(is_unknown=True)


async def _soon(read: Awaitable[T], otherwise: T) -> T:
    """What the store says, or the other if it does not say it soon."""
    try:
        async with asyncio.timeout(_SOON_S):
            return await read
    except (StoreUnavailable, TimeoutError):
        return otherwise


async def _known(value: T) -> T:
    return value


async def _quarantined(search: MemorySearch, scope: Scope) -> int:
    return len(await search.best(scope, _IN_QUARANTINE, QUARANTINED_TOLD))


async def _backlog(work: Work, scope: Scope) -> dict[str, int]:
    """How many jobs of each kind wait."""
    return {kind: await work.waiting(scope, kind) for kind in _KINDS}


def _clock_to_wire(clock: StoreClock) -> pb.StoreClock:
    wire = pb.StoreClock(doubt=clock.doubt)
    if clock.is_measured:
        wire.ahead.FromMicroseconds(clock.ahead_us)
    return wire


def _embedding_to_wire(embedding: EmbeddingFacts, scope: Scope) -> pb.MemoryEmbedding:
    weight = embedding.weight(scope)
    return pb.MemoryEmbedding(
        model=embedding.model,
        weight=weight.value,
        gain=weight.gain,
        error=weight.error,
        noise=weight.noise,
        memories=weight.memories,
    )


def _is_used_up(caps: Sequence[CapState], purpose: str) -> bool:
    """Whether a cap that counts calls for this purpose leaves nothing."""
    return any(_leaves_nothing(state) for state in caps if state.purpose in ("", purpose))


def _leaves_nothing(state: CapState) -> bool:
    units = ((state.cap.tokens, state.used.tokens), (state.cap.nano_usd, state.used.nano_usd))
    return any(limit is not None and used >= limit for limit, used in units)


def _may_see(caller: Token | None, level: Level, scope: Scope) -> bool:
    """Whether the token covers every scope that the level counts; else the sum would reveal the spending of others."""
    if caller is None:
        return True
    return caller.covers(Scope(*(*whose_spending(level, scope), ANY, ANY)[:2]))


def _is_others(level: Level, scope: Scope, call: Call) -> bool:
    """Whether a cap of that level counts for the scope and not for the call's, and the call's token may see it."""
    return whose_spending(level, scope) != whose_spending(level, call.scope) and _may_see(call.caller, level, scope)


def _spend_to_wire(spend: Spend) -> pb.Spend:
    return pb.Spend(
        day=(_EPOCH + datetime.timedelta(days=spend.day)).isoformat(),
        purpose=spend.purpose,
        calls=spend.calls,
        tokens=spend.settled.tokens,
        usd=spend.settled.usd,
        reserved_tokens=spend.in_flight.tokens,
        reserved_usd=spend.in_flight.usd,
        orphaned_tokens=spend.orphaned.tokens,
        orphaned_usd=spend.orphaned.usd,
        unanswered_calls=spend.unanswered,
        estimated_tokens=spend.estimated.tokens,
        estimated_usd=spend.estimated.usd,
    )


def _hidden_to_wire(state: CapState, now_us: int) -> pb.HiddenCap:
    return pb.HiddenCap(
        owner=_OWNERS[state.owner],
        level=_LEVELS[state.level],
        purpose=state.purpose,
        prevents_questions=_leaves_nothing(state) or state.refused > 0,
        reset_time=timestamp((day_of(now_us) + 1) * US_PER_DAY),
        is_zero=0 in (state.cap.tokens, state.cap.nano_usd),
    )


def _cap_to_wire(state: CapState, scope: Scope, now_us: int) -> pb.SpendCap:
    cap = state.cap
    tenant_id, project_id = (*whose_spending(state.level, scope), "", "")[:2]
    return pb.SpendCap(
        owner=_OWNERS[state.owner],
        level=_LEVELS[state.level],
        purpose=state.purpose,
        tokens_per_day=cap.tokens,
        usd_per_day=None if cap.nano_usd is None else cap.nano_usd / NANO,
        used_tokens=state.used.tokens,
        used_usd=state.used.usd,
        reset_time=timestamp((day_of(now_us) + 1) * US_PER_DAY),
        refused_count=state.refused,
        wanted_tokens=state.wanted.tokens,
        wanted_usd=state.wanted.usd,
        tenant_id=tenant_id,
        project_id=project_id,
    )
