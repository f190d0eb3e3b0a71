"""What somebody should look at, by what a sidecar tells of itself. Pure.

GetServerInfo answers with it, which the console shows, and `operations/running_check.py` says the same of an answer.
Texts are as they were sent: whoever shows them makes them harmless.
"""

from collections.abc import Iterator

import msgspec
from google.protobuf.duration_pb2 import Duration

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.rpc.wire.common import name_of, timestamp
from sidemirror_server.vocabulary.traffic import HELD_BACK, TOLD

# How many senders are named.
_NAMED = 3
# How many memories in quarantine are counted.
QUARANTINED_TOLD = 1_000


class OfModel(msgspec.Struct, frozen=True, tag="model"):
    """A model, whatever it is asked."""

    provider: str
    model: str


class OfStore(msgspec.Struct, frozen=True, tag="store"):
    """A store by its technology, such as `postgres`."""

    kind: str


class SelfFinding(msgspec.Struct, frozen=True):
    """One thing about a sidecar. `ok`: nothing has to be changed. `last_us`: when it last happened; 0 for what holds
    now. `about`: the model or the store that does not answer, by which whoever looks at it too knows it again."""

    subject: str
    ok: bool
    found: str
    advice: str = ""
    last_us: int = 0
    about: OfModel | OfStore | None = None


def findings_of(info: pb.GetServerInfoResponse, address: str = "") -> Iterator[SelfFinding]:
    """Findings about its stores, models, caps and senders. `address`: where it was asked, to be named; empty: it says
    so itself."""
    who, begin = (f"the sidecar at {address}", f"{address}: ") if address else ("this sidecar", "")
    yield from _stores(info, who)
    if info.store_clock.doubt:
        found = f"{who} removes nothing: {info.store_clock.doubt}"
        yield SelfFinding("clock", ok=False, found=found, advice="set the clock if it is still wrong, then restart it")
    yield from _outages(info, begin)
    yield from _unanswered(info, begin)
    yield from _caps(info, begin)
    yield from _hidden_caps(info, begin)
    yield from _held_back(info.traffic, begin)
    yield from _limited(info.traffic, begin)
    yield from _refused(info, begin)
    # Who asks the sidecar at an address has named no project.
    project = f"{info.tenant_id}/{info.project_id}" if begin else ""
    yield from _quarantined(info.quarantined_count, begin, project)
    if info.traffic.callers:
        yield SelfFinding("traffic", ok=True, found=f"{begin}{_senders(info.traffic)}")


def finding_to_wire(finding: SelfFinding) -> pb.Finding:
    """A finding as the contract has it."""
    return pb.Finding(
        subject=finding.subject,
        is_ok=finding.ok,
        found=finding.found,
        advice=finding.advice,
        last_time=timestamp(finding.last_us) if finding.last_us else None,
    )


def whose_cap(cap: pb.SpendCap | pb.HiddenCap) -> tuple[str, str]:
    """Its owner and what it counts, such as ("sidecar", "dreaming")."""
    return name_of(pb.SpendCapOwner, cap.owner), cap.purpose or name_of(pb.SpendLevel, cap.level)


def in_seconds(span: Duration) -> float:
    """A duration of the contract in seconds."""
    return span.ToMicroseconds() / 1e6


def _stores(info: pb.GetServerInfoResponse, who: str) -> Iterator[SelfFinding]:
    for store in info.stores:
        if store.lost:
            found = f"{who} has lost its {store.kind} store: {store.lost}"
            advice = "put its files back where they were, and it goes on; a restart before loses what is in its memory"
            yield SelfFinding("store", ok=False, found=found, advice=advice)
        elif store.full:
            found = f"{who} says that the disk of its {store.kind} store is full: writes are refused (STORE_FULL)"
            advice = "make room on that disk; nothing has to be restarted"
            yield SelfFinding("store", ok=False, found=found, advice=advice)
        elif not store.available:
            found = f"{who} says that its {store.kind} store did not answer last"
            advice = "mend the store; another finding or its log says why"
            yield SelfFinding("store", ok=False, found=found, advice=advice, about=OfStore(store.kind))
        if store.HasField("slowest_commit"):
            took = f"a commit of the last minute took {in_seconds(store.slowest_commit):.1f} s"
            found = f"{who} says that its {store.kind} store is slow: {took}"
            advice = "see what else writes to its disk (iostat -x), and whether it is a network disk"
            yield SelfFinding("store", ok=False, found=found, advice=advice)


# One question may fail by chance. So many in a row do not.
_IN_A_ROW = 2
# What ends for all purposes at once. What cannot be read, or is refused, is of a purpose.
_OF_THE_MODEL = ("failed_model", "unanswered")
_ASK = "`sidemirror doctor --ask-models` asks each model once"


def _outages(info: pb.GetServerInfoResponse, begin: str) -> Iterator[SelfFinding]:
    """Models that fail now."""
    for one in info.model_outages:
        fails = one.failed_count >= _IN_A_ROW
        count = f"the last {one.failed_count:,} questions" if fails else "the last question"
        found = f"{begin}{one.model} ({one.provider}) failed {count} for {one.purpose}: {one.status}"
        advice = f"the log's `model_failed` says why, and {_ASK}"
        about = OfModel(one.provider, one.model) if one.status in _OF_THE_MODEL else None
        if about is not None and one.HasField("answered_others_time"):
            fails, advice = False, "the next question for this purpose shows whether it answers these, too"
            found += "; it has answered others since"
        last_us = one.last_time.ToMicroseconds()
        yield SelfFinding("model", ok=not fails, found=found, advice=advice, last_us=last_us, about=about)


# A model is in doubt when so much of a purpose's calls of today, and more than one of several, came to nothing: where
# SidemirrorModelFails begins, and so that no answer of the early morning hides a model that has been dead since.
_MUCH_UNANSWERED = 0.2


def _unanswered(info: pb.GetServerInfoResponse, begin: str) -> Iterator[SelfFinding]:
    """Today's calls, which are those of the newest day, as long as it is the server's. What answers again is well."""
    today = info.server_time.ToDatetime().date().isoformat()
    spends = [spend for spend in info.spend if spend.day == today and spend.unanswered_calls]
    if spends:
        count, usd = sum(spend.unanswered_calls for spend in spends), sum(spend.estimated_usd for spend in spends)
        answered = {model.purpose for model in info.models if model.HasField("last_answer_time")}
        answered -= {one.purpose for one in info.model_outages}
        silent = any(
            spend.unanswered_calls >= max(_MUCH_UNANSWERED * spend.calls, min(2, spend.calls))
            for spend in spends
            if spend.purpose not in answered
        )
        purposes = ", ".join(f"{spend.purpose} {spend.unanswered_calls:,} of {spend.calls:,}" for spend in spends)
        found = f"{begin}{count:,} calls of today had no usable answer ({purposes}), estimated at {usd:.6f} USD"
        yield SelfFinding("model", ok=not silent, found=found, advice=_ASK)


def _caps(info: pb.GetServerInfoResponse, begin: str) -> Iterator[SelfFinding]:
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
            of = f" of {cap.tenant_id}/{cap.project_id or '*'}" if cap.tenant_id else ""
            refused = f"the {owner}'s cap on {counted} prevents questions{of}, {cap.refused_count:,} in a row"
            is_small = cap.wanted_tokens > cap.tokens_per_day or cap.wanted_usd > cap.usd_per_day
            advice = "raise it: one question may cost more" if is_small else "raise it, or wait until midnight UTC"
            if cap.wanted_usd and (names := _without_price(info, cap.purpose)):
                parts.append(f"no price of {names} is known, so its answers count at the dearest known one")
                advice = f"set model__input_usd_per_mtok and model__output_usd_per_mtok; or {advice}"
            yield SelfFinding("cap", ok=False, found=f"{begin}{refused}: {'; '.join(parts)}", advice=advice)


def _hidden_caps(info: pb.GetServerInfoResponse, begin: str) -> Iterator[SelfFinding]:
    """Those that prevent questions, and that only others can raise. A cap of 0 is meant to."""
    for cap in info.hidden_caps:
        if cap.prevents_questions and not cap.is_zero:
            owner, counted = whose_cap(cap)
            found = f"{begin}the {owner}'s cap on {counted} prevents questions; this token may not see its figures"
            advice = "wait until midnight UTC, or ask whoever has a token for all that the cap counts"
            yield SelfFinding("cap", ok=False, found=found, advice=advice)


def _without_price(info: pb.GetServerInfoResponse, purpose: str) -> str:
    """The models without a known price, of one purpose or, without one, of all."""
    names = [one.model for one in info.models if one.price_unknown and purpose in ("", one.purpose)]
    return ", ".join(dict.fromkeys(names))


def _refused(info: pb.GetServerInfoResponse, begin: str) -> Iterator[SelfFinding]:
    """Callers without a good token, those with the most calls first."""
    for one in info.refused_callers:
        token = f", {one.token or one.fingerprint}" if one.token or one.fingerprint else ""
        scope = f" ({one.tenant_id}/{one.project_id or '*'})" if one.tenant_id else ""
        calls = f"{one.call_count:,} call{'' if one.call_count == 1 else 's'} from {one.peer}"
        advice = "give the agent a token that is good"
        if one.fingerprint:
            advice = f"find out whose it is first: `sidemirror fingerprint FILE` says it of a token; then {advice}"
        found = f"{begin}{one.reason}{token}{scope}: {calls}"
        last_us = one.last_time.ToMicroseconds()
        yield SelfFinding("access", ok=False, found=found, advice=advice, last_us=last_us)
    if len(info.refused_callers) >= TOLD:
        found = f"that were {TOLD} callers, the most that are told; others have a line `call_refused` in its log"
        yield SelfFinding("access", ok=True, found=f"{begin}{found}")


_TOO_LOUD = "find the agent that has the token, stop or mend it; if it does what it should, raise "


def _held_back(traffic: pb.Traffic, begin: str) -> Iterator[SelfFinding]:
    """Agents that send more than their share."""
    if traffic.held_back:
        period_s = in_seconds(traffic.period)
        waits = "; ".join(f"{one.token}: {in_seconds(one.waited):,.1f} s" for one in traffic.held_back[:_NAMED])
        found = f"{begin}held back at their share in the last {period_s:.0f} s, by token: {waits}"
        ok = in_seconds(traffic.held_back[0].waited) < HELD_BACK * period_s
        yield SelfFinding(
            "traffic", ok=ok, found=found, advice="" if ok else f"{_TOO_LOUD}limits.agent_bytes_per_second"
        )


def _limited(traffic: pb.Traffic, begin: str) -> Iterator[SelfFinding]:
    """Agents whose calls are refused because too much is asked at once."""
    if traffic.refused:
        counts = "; ".join(f"{one.token}: {one.refused_count:,} calls" for one in traffic.refused[:_NAMED])
        found = f"{begin}refused at a limit in the last {in_seconds(traffic.period):.0f} s, by token: {counts}"
        advice = f"{_TOO_LOUD}the limit that `call_refused` in the log names"
        yield SelfFinding("traffic", ok=False, found=found, advice=advice)


def _quarantined(count: int, begin: str, project: str) -> Iterator[SelfFinding]:
    """What no agent is shown until somebody looks at it. That there is some is no fault. `project`: in which it is, if
    that is to be said."""
    if count:
        of = f" of {project}" if project else ""
        many = f"{count:,}{' or more' if count >= QUARANTINED_TOLD else ''}"
        waits = f"memory{of} is in quarantine and waits" if count == 1 else f"memories{of} are in quarantine and wait"
        found = f"{begin}{many} {waits} for a person; no agent is shown {'it' if count == 1 else 'them'}"
        advice = "`sidemirror memory search --state quarantined` lists them with the command that releases each"
        if project:
            advice += "; --scope names another project, which may have some too"
        yield SelfFinding("memory", ok=True, found=found, advice=advice)


def _senders(traffic: pb.Traffic) -> str:
    callers = "; ".join(
        f"{_scope(one)}{f' by token {one.token}' if one.token else ''}: {one.sent_count:,}"
        for one in traffic.callers[:_NAMED]
    )
    sessions = "; ".join(f"{one.session_id} of {_scope(one)}: {one.sent_count:,}" for one in traffic.sessions[:_NAMED])
    events = f". Events by session: {sessions}" if sessions else ""
    last = f"in the last {in_seconds(traffic.period):.0f} s"
    if not traffic.HasField("message_count"):
        return f"who sent most calls and messages {last}: {callers}{events}"
    return f"{traffic.message_count:,} calls and messages came {last}; who sent most: {callers}{events}"


def _scope(one: pb.Sender) -> str:
    return f"{one.tenant_id}/{one.project_id}"
