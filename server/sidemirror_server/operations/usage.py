"""`sidemirror usage`: shows the cost of models for a scope of a running sidecar, what is left of the caps, and who
sends most to the sidecar."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

import grpc

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1 import sidecar_pb2_grpc as pb_grpc
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.elsewhere import others_who_sent
from sidemirror_server.operations.shown import plain, with_defaults
from sidemirror_server.operations.target import asked, scope_of
from sidemirror_server.rpc.sidecar.findings import in_seconds, whose_cap

if TYPE_CHECKING:
    from rich.console import Console

_TIMEOUT_S = 5.0
# The provider that is always there, and does not revise or debate. The console has it too: `console/src/now.tsx`.
_RULES = "rules"


def usage(options: argparse.Namespace) -> int:
    """Prints the models, the senders, the spending of the last 7 days and the caps. Returns the exit code: not 0 when
    spending and caps are unknown, because the store does not answer."""
    request = pb.GetServerInfoRequest(**scope_of(options))

    def ask(channel: grpc.Channel) -> int:
        info = pb_grpc.SidecarServiceStub(channel).GetServerInfo(request, timeout=_TIMEOUT_S)
        # Sidecars without `spend_unknown` say so of their store alone.
        unknown = info.spend_unknown or not info.stores[0].available
        if options.json:
            names = ("models",) if unknown else ("models", "spend", "spend_caps", "hidden_caps")
            told = {name: [with_defaults(one) for one in getattr(info, name)] for name in names}
            print(json.dumps({**told, "traffic": _traffic(info.traffic), "spend_unknown": unknown}, indent=2))
        else:
            _show_models(info)
            _show_traffic(info.traffic)
        if unknown:
            print("sidemirror: the store does not answer: spending and caps are not known", file=sys.stderr)
            return exit_codes.UNAVAILABLE
        if not options.json:
            _show_spending(info, (request.tenant_id or info.tenant_id, request.project_id or info.project_id))
        return 0

    return asked(options.address, ask)


def _show_models(info: pb.GetServerInfoResponse) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    for model in info.models:
        cannot = ", which cannot: it needs a model" if model.provider == _RULES else ", not to be asked now"
        state = "" if model.available else cannot
        price = ", price not known: answers count at the dearest known one" if model.price_unknown else ""
        told = f"{model.purpose}: {model.provider} {model.model}{state}{price}"
        console.print(plain(told), markup=False, soft_wrap=True)


def _traffic(traffic: pb.Traffic) -> dict[str, Any]:
    """As JSON."""
    return {
        "period_s": in_seconds(traffic.period),
        "message_count": traffic.message_count if traffic.HasField("message_count") else None,
        "callers": [with_defaults(one) for one in traffic.callers],
        "sessions": [with_defaults(one) for one in traffic.sessions],
        "held_back": [{"token": one.token, "waited_s": in_seconds(one.waited)} for one in traffic.held_back],
    }


def _show_traffic(traffic: pb.Traffic) -> None:
    """Who sends most. Nothing where a sidecar of an earlier version does not say it."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not traffic.callers:
        return
    console = Console(highlight=False)
    seconds = f"{in_seconds(traffic.period):.0f} s"
    callers = Table("tenant", "project", "token", title=f"Who sent most in the last {seconds}", title_justify="left")
    callers.add_column("calls and messages", justify="right")
    for one in traffic.callers:
        names = (one.tenant_id, one.project_id, one.token)
        callers.add_row(*(Text(plain(name)) for name in names), f"{one.sent_count:,}")
    console.print(callers)
    if traffic.sessions:
        sessions = Table("tenant", "project", "session")
        sessions.add_column("events", justify="right")
        for one in traffic.sessions:
            names = (one.tenant_id, one.project_id, one.session_id)
            sessions.add_row(*(Text(plain(name)) for name in names), f"{one.sent_count:,}")
        console.print(sessions)
    if traffic.held_back:
        waits = Table("token", title=f"Held back at their share in the last {seconds}", title_justify="left")
        waits.add_column("waited s", justify="right")
        for one in traffic.held_back:
            waits.add_row(Text(plain(one.token)), f"{in_seconds(one.waited):,.1f}")
        console.print(waits)


def _show_estimates(info: pb.GetServerInfoResponse, console: "Console") -> None:
    """What of the spending nobody knows: calls without a usable answer."""
    calls = sum(spend.unanswered_calls for spend in info.spend)
    if calls:
        usd = sum(spend.estimated_usd for spend in info.spend)
        tokens = sum(spend.estimated_tokens for spend in info.spend)
        told = (
            f"Of it {usd:.6f} USD and {tokens:,} tokens are estimates: {calls:,} of the calls had no usable answer. "
            "Does it answer? `sidemirror doctor --ask-models`, with its settings"
        )
        console.print(told, markup=False, soft_wrap=True)


def _nothing_spent(info: pb.GetServerInfoResponse, scope: tuple[str, str]) -> str:
    """What is said in the place of the table."""
    told = f"No model that costs anything was asked for {'/'.join(scope)} in the last 7 days."
    others = others_who_sent(info.traffic, scope)
    if not others:
        return f"{told} `--scope` names another."
    return f"{told} Others sent of late, and `--scope` names one: {', '.join(others)}"


def _show_spending(info: pb.GetServerInfoResponse, scope: tuple[str, str]) -> None:
    """`scope`: the tenant and the project whose spending it is; the caps may count that of others as well."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    title = Text(f"Spent for {plain('/'.join(scope))} in the last 7 days (UTC)")
    spent = Table("day", "purpose", title=title, title_justify="left")
    for heading in ("calls", "tokens", "USD", "reserved USD", "orphaned USD"):
        spent.add_column(heading, justify="right")
    for spend in info.spend:
        numbers = (f"{spend.usd:.6f}", f"{spend.reserved_usd:.6f}", f"{spend.orphaned_usd:.6f}")
        spent.add_row(
            *(Text(plain(one)) for one in (spend.day, spend.purpose)), f"{spend.calls:,}", f"{spend.tokens:,}", *numbers
        )
    if info.spend:
        console.print(spent)
        _show_estimates(info, console)
    else:
        console.print(plain(_nothing_spent(info, scope)), markup=False, soft_wrap=True)
    _show_caps(info, console)


def _show_caps(info: pb.GetServerInfoResponse, console: "Console") -> None:
    from rich.table import Table
    from rich.text import Text

    capped = Table("cap", title="Caps of today", title_justify="left")
    for heading in ("used", "of", "resets"):
        capped.add_column(heading, justify="right")
    for cap in info.spend_caps:
        owner, counted = whose_cap(cap)
        name = Text(f"{owner}'s on {plain(counted)}")
        resets = f"{cap.reset_time.ToDatetime():%Y-%m-%d %H:%M} UTC"
        if cap.HasField("usd_per_day"):
            capped.add_row(name, f"{cap.used_usd:.6f} USD", f"{cap.usd_per_day:.2f} USD", resets)
        if cap.HasField("tokens_per_day"):
            capped.add_row(name, f"{cap.used_tokens:,} tokens", f"{cap.tokens_per_day:,} tokens", resets)
    for hidden in info.hidden_caps:
        owner, counted = whose_cap(hidden)
        state = "is 0" if hidden.is_zero else "prevents questions" if hidden.prevents_questions else "leaves some"
        resets = f"{hidden.reset_time.ToDatetime():%Y-%m-%d %H:%M} UTC"
        capped.add_row(Text(f"{owner}'s on {plain(counted)}"), state, "hidden", resets)
    if capped.row_count:
        console.print(capped)
    else:
        console.print("No caps are set.")
    if info.hidden_caps:
        told = "Hidden: such a cap may count what others spend too, and this token is not good for them."
        console.print(told, markup=False, soft_wrap=True)
