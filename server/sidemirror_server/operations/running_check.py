"""The part of `sidemirror doctor` that says what a sidecar at the address tells of itself. Pure."""

from collections.abc import Iterator

from google.protobuf.duration_pb2 import Duration

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.operations.finding import Finding
from sidemirror_server.operations.moments import minute, second
from sidemirror_server.operations.shown import name_of, plain

# How far two clocks may differ. Synchronised ones differ by less, and an answer takes 2 s at most.
_DIFFER_US = 5_000_000
# How many senders are named.
_NAMED = 3


def check_running(info: pb.GetServerInfoResponse, address: str, now_us: int) -> Iterator[Finding]:
    """Findings about its stores, clocks, models and senders. `now_us`: this machine's time at the answer."""
    yield from _stores(info, address)
    yield from _clocks(info, address, now_us)
    yield from _unanswered(info, address)
    yield from _caps(info, address)
    yield from _refused(info, address)
    yield from _held_back(info.traffic, address)
    if info.traffic.callers:
        yield Finding("traffic", ok=True, found=f"{address}: {_senders(info.traffic)}")


def _stores(info: pb.GetServerInfoResponse, address: str) -> Iterator[Finding]:
    for store in info.stores:
        kind = plain(store.kind)
        if store.lost:
            found = f"the sidecar at {address} has lost its {kind} store: {plain(store.lost)}"
            advice = "put its files back where they were, and it goes on; a restart before loses what is in its memory"
            yield Finding("store", ok=False, found=found, advice=advice)
        elif not store.available:
            found = f"the sidecar at {address} says that its {kind} store did not answer last"
            yield Finding("store", ok=False, found=found, advice="mend the store; another finding or its log says why")


def _clocks(info: pb.GetServerInfoResponse, address: str, now_us: int) -> Iterator[Finding]:
    if info.HasField("server_time"):
        ahead_us = info.server_time.ToMicroseconds() - now_us
        if abs(ahead_us) > _DIFFER_US:
            differs = f"{abs(ahead_us) / 1e6:,.0f} s {'ahead of' if ahead_us > 0 else 'behind'} this command's"
            advice = "set the clock that is wrong, and keep it in step"
            found = f"the clock of the sidecar at {address} is {differs}: it is {second(now_us + ahead_us)} there"
            yield Finding("clock", ok=False, found=found, advice=advice)
    if info.store_clock.doubt:
        found = f"the sidecar at {address} removes nothing: {plain(info.store_clock.doubt)}"
        yield Finding("clock", ok=False, found=found, advice="set the clock if it is still wrong, then restart it")


def _unanswered(info: pb.GetServerInfoResponse, address: str) -> Iterator[Finding]:
    """Today's calls, which are those of the newest day, as long as it is the server's."""
    today = info.server_time.ToDatetime().date().isoformat()
    spends = [spend for spend in info.spend if spend.day == today and spend.unanswered_calls]
    if spends:
        count, usd = sum(spend.unanswered_calls for spend in spends), sum(spend.estimated_usd for spend in spends)
        purposes = ", ".join(plain(spend.purpose) for spend in spends)
        found = f"{address}: no model answered {count} calls of today ({purposes}), estimated at {usd:.6f} USD"
        silent = [plain(spend.purpose) for spend in spends if spend.unanswered_calls >= spend.calls]
        if silent:
            found = f"{found}; for {', '.join(silent)} these are all of them"
        yield Finding(
            "model", ok=not silent, found=found, advice="`sidemirror doctor --ask-models` asks each model once"
        )


def _caps(info: pb.GetServerInfoResponse, address: str) -> Iterator[Finding]:
    """Caps that prevent questions now, also those that are not used up, and those of other scopes. A cap of 0 is meant
    to."""
    for cap in (*info.spend_caps, *info.refusing_caps):
        parts = []
        if cap.wanted_tokens and cap.tokens_per_day:
            of = f"{cap.used_tokens:,} of {cap.tokens_per_day:,} tokens"
            parts.append(f"{of} are used or reserved, and a question may take {cap.wanted_tokens:,}")
        if cap.wanted_usd and cap.usd_per_day:
            of = f"{cap.used_usd:.6f} of {cap.usd_per_day:.6f} USD"
            parts.append(f"{of} are used or reserved, and a question may cost {cap.wanted_usd:.6f}")
        if cap.refused_count and parts:
            owner, counted = whose_cap(cap)
            of = f" of {plain(cap.tenant_id)}/{plain(cap.project_id or '*')}" if cap.tenant_id else ""
            refused = f"the {owner}'s cap on {counted} prevents questions{of}, {cap.refused_count:,} in a row"
            is_small = cap.wanted_tokens > cap.tokens_per_day or cap.wanted_usd > cap.usd_per_day
            advice = "raise it: one question may cost more" if is_small else "raise it, or wait until midnight UTC"
            yield Finding("cap", ok=False, found=f"{address}: {refused}: {'; '.join(parts)}", advice=advice)


def whose_cap(cap: pb.SpendCap) -> tuple[str, str]:
    """Its owner and what it counts, such as ("sidecar", "dreaming")."""
    return name_of(pb.SpendCapOwner, cap.owner), plain(cap.purpose or name_of(pb.SpendLevel, cap.level))


def _refused(info: pb.GetServerInfoResponse, address: str) -> Iterator[Finding]:
    """Callers without a good token, those with the most calls."""
    for one in info.refused_callers[:_NAMED]:
        token = f", {one.token or one.fingerprint}" if one.token or one.fingerprint else ""
        scope = f" ({one.tenant_id}/{one.project_id or '*'})" if one.tenant_id else ""
        calls = f"{one.call_count:,} call{'' if one.call_count == 1 else 's'} from {one.peer}"
        calls = f"{calls}, the last one at {minute(one.last_time.ToMicroseconds())}"
        advice = "give the agent a token that is good"
        if one.fingerprint:
            advice = f"find the agent that has it (`sidemirror fingerprint FILE`); {advice}"
        told = plain(f"{address}: {one.reason}{token}{scope}: {calls}")
        yield Finding("access", ok=False, found=told, advice=advice)


def _held_back(traffic: pb.Traffic, address: str) -> Iterator[Finding]:
    """Agents that send more than their share."""
    if traffic.held_back:
        waits = "; ".join(f"{plain(one.token)}: {in_seconds(one.waited):,.1f} s" for one in traffic.held_back[:_NAMED])
        told = f"{address}: held back at their share in the last {in_seconds(traffic.period):.0f} s, by token: {waits}"
        yield Finding("traffic", ok=True, found=told)


def _senders(traffic: pb.Traffic) -> str:
    of_all = f" of {traffic.message_count:,}" if traffic.HasField("message_count") else ""
    callers = "; ".join(
        f"{_scope(one)}{f' by token {plain(one.token)}' if one.token else ''}: {one.sent_count:,}"
        for one in traffic.callers[:_NAMED]
    )
    sessions = "; ".join(
        f"{plain(one.session_id)} of {_scope(one)}: {one.sent_count:,}" for one in traffic.sessions[:_NAMED]
    )
    events = f". Events by session: {sessions}" if sessions else ""
    return f"calls and messages{of_all} in the last {in_seconds(traffic.period):.0f} s: {callers}{events}"


def _scope(one: pb.Sender) -> str:
    return plain(f"{one.tenant_id}/{one.project_id}")


def in_seconds(span: Duration) -> float:
    """A duration of the contract in seconds."""
    return span.ToMicroseconds() / 1e6
