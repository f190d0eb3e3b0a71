"""`sidemirror usage --by tenant`: what models cost each tenant or project in a span of days, beside the caps of a day.

A sidecar tells the projects that the caller's token covers; this module adds them up.
"""

import argparse
import datetime
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1 import sidecar_pb2_grpc as pb_grpc
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.shown import plain
from sidemirror_server.operations.target import asked, is_answer
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.scope import Served

# The sidecar takes 20 s at most.
_TIMEOUT_S = 25.0
_SUMS = (
    *("calls", "tokens", "usd", "reserved_tokens", "reserved_usd"),
    *("unanswered_calls", "estimated_tokens", "estimated_usd", "today_tokens", "today_usd"),
)
# By what is added up: the fields of a project's cost that have the caps on it.
_CAPS = {"tenant": "tenant_", "project": ""}
_UNITS = ("usd_per_day", "tokens_per_day")
# The column of each cap.
_OF_UNIT = {"usd_per_day": "cap USD", "tokens_per_day": "tokens today"}


def costs(options: argparse.Namespace) -> int:
    """Prints a row for each tenant or project, and their sum. Returns the exit code: not 0 when the store does not
    answer."""
    first, last = span_of(options)
    named = {} if options.scope is None else {"tenant_id": options.scope.tenant_id}
    # The call needs a scope that the token is good for; added up is all that the token covers.
    named |= {"project_id": options.scope.project_id} if options.scope and options.scope.project_id else {}
    request = pb.GetServerInfoRequest(**named, costs_from=_midnight(first), costs_to=_midnight(last))

    def ask(channel: grpc.Channel) -> int:
        try:
            info = pb_grpc.SidecarServiceStub(channel).GetServerInfo(request, timeout=_TIMEOUT_S)
        except grpc.RpcError as error:
            if not (error.code() is grpc.StatusCode.DEADLINE_EXCEEDED and is_answer(error)):
                raise
            # The store answers, and would take as long again.
            print(f"sidemirror: {plain(error.details() or '')} A token of one tenant asks for less.", file=sys.stderr)
            return exit_codes.FAILED
        if info.spend_unknown:
            print("sidemirror: the store does not answer: what was spent is not known", file=sys.stderr)
            return exit_codes.UNAVAILABLE
        if not info.HasField("costs_from"):
            print(
                "sidemirror: this sidecar is of an earlier version, which cannot say what projects cost: update it",
                file=sys.stderr,
            )
            return exit_codes.FAILED
        own = _within(info.project_costs, options.scope)
        found = added_up(own, options.by)
        total = {**_sum(own), **(_total_caps(info) if options.scope is None else {})}
        if options.json:
            told = {"from": first.isoformat(), "to": last.isoformat(), "costs": found, "all": total}
            print(json.dumps({**told, "more_projects": info.more_project_costs}, indent=2))
        else:
            _show(found, total, f"Spent from {first} to {last} (UTC)", options.by)
        if info.more_project_costs:
            print(
                f"sidemirror: there are more than {len(info.project_costs):,} projects, and the others are not counted "
                "here: a token of one tenant is told of that alone",
                file=sys.stderr,
            )
        return 0

    return asked(options.address, ask)


def span_of(options: argparse.Namespace) -> tuple[datetime.date, datetime.date]:
    """The first and the last day that the options mean; none is before 1970, as no sidecar spent anything then."""
    last = options.to_day or _today()
    first = options.from_day or last - datetime.timedelta(days=(options.days or 7) - 1)
    return max(first, datetime.date(1970, 1, 1)), last


def added_up(every: Iterable[pb.ProjectCost], by: str) -> list[dict[str, Any]]:
    """The sums in the order of tenants and projects, each with the caps of a day that are set on it; none by `all`."""
    if by not in _CAPS:
        return []
    found: dict[tuple[str, ...], list[pb.ProjectCost]] = {}
    for one in every:
        found.setdefault((one.tenant_id, one.project_id)[: 1 + (by == "project")], []).append(one)
    return [
        {**dict(zip(("tenant_id", "project_id"), ids, strict=False)), **_sum(own), **_least(own, _CAPS[by])}
        for ids, own in found.items()
    ]


def _sum(own: Sequence[pb.ProjectCost]) -> dict[str, Any]:
    return {name: sum(getattr(one, name) for one in own) for name in _SUMS}


def _least(own: Sequence[pb.ProjectCost], prefix: str) -> dict[str, Any]:
    told = {unit: [getattr(one, prefix + unit) for one in own if one.HasField(prefix + unit)] for unit in _UNITS}
    return {unit: min(caps) for unit, caps in told.items() if caps}


def _total_caps(info: pb.GetServerInfoResponse) -> dict[str, Any]:
    """The sidecar's cap on everything together, where the token may see it."""
    (cap,) = [one for one in info.spend_caps if one.level == pb.SPEND_LEVEL_TOTAL and not one.purpose] or [
        pb.SpendCap()
    ]
    return {unit: getattr(cap, unit) for unit in _UNITS if cap.HasField(unit)}


def _within(every: Iterable[pb.ProjectCost], scope: Served | None) -> list[pb.ProjectCost]:
    if scope is None:
        return list(every)
    return [one for one in every if one.tenant_id == scope.tenant_id and scope.project_id in (None, one.project_id)]


def _show(found: list[dict[str, Any]], total: dict[str, Any], title: str, by: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # A terminal wraps what is wider; a number that is cut would be another one.
    console = Console(highlight=False, width=200)
    if not total["calls"]:
        console.print(f"{title}: nothing, as far as this token is good for.")
        return
    names = ("tenant", "project") if by == "project" else ("tenant",) if by == "tenant" else ()
    table = Table(title=title, title_justify="left")
    for name in names:
        table.add_column(name, overflow="fold")
    capped = [unit for unit in _UNITS if any(unit in row for row in (*found, total))]
    for heading in ("calls", "tokens", "USD", "USD today", *(_OF_UNIT[unit] for unit in capped)):
        table.add_column(heading, justify="right")
    for row in found:
        table.add_row(*(Text(plain(row[f"{name}_id"])) for name in names), *_cells(row, capped))
    table.add_section()
    table.add_row(*("all", "")[: len(names)], *_cells(total, capped))
    console.print(table)
    if total["reserved_usd"]:
        console.print(f"{total['reserved_usd']:.6f} USD more are reserved by calls that have not ended.")
    if total["unanswered_calls"]:
        told = (
            f"Of it {total['estimated_usd']:.6f} USD and {total['estimated_tokens']:,} tokens are estimates: "
            f"{total['unanswered_calls']:,} of the calls had no usable answer."
        )
        console.print(told, markup=False, soft_wrap=True)


def _cells(row: dict[str, Any], capped: Sequence[str]) -> tuple[str, ...]:
    caps = {
        "usd_per_day": lambda cap: f"{cap:.2f}",
        "tokens_per_day": lambda cap: f"{row['today_tokens']:,} of {cap:,}",
    }
    return (
        *(f"{row['calls']:,}", f"{row['tokens']:,}", f"{row['usd']:.6f}", f"{row['today_usd']:.6f}"),
        *(caps[unit](row[unit]) if unit in row else "" for unit in capped),
    )


def _today() -> datetime.date:
    return datetime.datetime.fromtimestamp(SystemClock().now_us() / 1e6, datetime.UTC).date()


def _midnight(day: datetime.date) -> Timestamp:
    wire = Timestamp()
    wire.FromDatetime(datetime.datetime.combine(day, datetime.time()))
    return wire
