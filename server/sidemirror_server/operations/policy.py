"""`sidemirror policy`: shows and sets how long the records of a tenant or project are kept, and its caps."""

import argparse
import sys
from typing import Any

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.policies import change, is_hidden, names_tenant, policies, stored_of, whose
from sidemirror_server.operations.shown import plain, print_json
from sidemirror_server.operations.target import asked
from sidemirror_server.rpc.wire.common import name_of

_PERIODS = tuple(field.name for field in pb.RetentionPolicy.DESCRIPTOR.fields)
_CAPS = ("usd_per_day", "tokens_per_day")


def policy(options: argparse.Namespace) -> int:
    """Runs the subcommand `options.verb`; returns the exit code."""
    verbs = {"show": _show, "set": _set}
    return asked(options.address, lambda channel: verbs[options.verb](SidecarServiceStub(channel), options))


def _show(stub: SidecarServiceStub, options: argparse.Namespace) -> int:
    found = policies(stub, options)
    _print(found, options)
    return exit_codes.FAILED if is_hidden(found, options) else 0


def _set(stub: SidecarServiceStub, options: argparse.Namespace) -> int:
    given = {name: value for name in (*_PERIODS, *_CAPS) if (value := getattr(options, name)) is not None}
    if not given:
        print("sidemirror: policy set: nothing to set; name a value, such as --trace-days 30", file=sys.stderr)
        return exit_codes.USAGE
    if options.purpose and not any(name in given for name in _CAPS):
        print("sidemirror: policy set: --purpose is about --usd-per-day or --tokens-per-day", file=sys.stderr)
        return exit_codes.USAGE

    def make(policy: pb.Policy) -> None:
        for name in _PERIODS:
            if name in given:
                _put(policy.retention, name, given[name])
        caps = {cap.purpose: cap for cap in policy.caps}
        cap = caps.setdefault(options.purpose, pb.PolicyCap(purpose=options.purpose))
        for name in _CAPS:
            if name in given:
                _put(cap, name, given[name])
        del policy.caps[:]
        policy.caps.extend(cap for cap in caps.values() if any(cap.HasField(name) for name in _CAPS))

    try:
        found = change(stub, options, make)
    except grpc.RpcError as error:
        return _tell_wrong(error)
    _print(found, options)
    return 0


def _tell_wrong(error: grpc.RpcError) -> int:
    """Prints which options have values that the sidecar refuses; returns the exit code. Raises other errors."""
    wrong = _wrong_options(error)
    if not wrong:
        raise error
    for told in wrong:
        print(f"sidemirror: policy set: {told}", file=sys.stderr)
    return exit_codes.USAGE


def _wrong_options(error: grpc.RpcError) -> list[str]:
    """What the sidecar says of values that it refuses, by the options that gave them; empty if it speaks of another
    field."""
    call: Any = error  # grpc's errors of calls are calls
    status = rpc_status.from_call(call)
    told: list[str] = []
    for detail in [] if status is None else status.details:
        wrong = error_details_pb2.BadRequest()
        if detail.Unpack(wrong):
            told += [f"{_option(one.field)}: {plain(one.description)}" for one in wrong.field_violations]
    return told if all(one.startswith("--") for one in told) else []


def _option(field: str) -> str:
    """The option that gives a field of a policy; empty if none does."""
    name = field.rpartition(".")[2]
    return f"--{name.replace('_', '-')}" if name in (*_PERIODS, *_CAPS, "purpose") else ""


def _put(message: Any, name: str, value: float | str) -> None:
    """Sets a field, or clears it when the value is `unset`."""
    if value == "unset":
        message.ClearField(name)
    else:
        setattr(message, name, value)


def _print(found: pb.GetPolicyResponse, options: argparse.Namespace) -> None:
    if options.json:
        print_json(found)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    # A tenant's policy is shown alone: what is in force depends on the project.
    is_tenants = names_tenant(options) and not found.tenant_hidden
    one = f"tenant {found.tenant_id}, project {found.project_id}"
    title = Text(plain(f"Policy of {whose(found, options) if is_tenants else one}"), style="table.title")
    of_tenant = "tenant (hidden)" if found.tenant_hidden else "tenant"
    headings = (of_tenant,) if is_tenants else ("project", of_tenant, "in force here")
    shown = (found.tenant.policy,) if is_tenants else _three(found)
    table = Table("", *headings, title=title, title_justify="left")
    for name in _PERIODS:
        table.add_row(name.replace("_", " "), *(_period(name, policy.retention) for policy in shown))
    for purpose in sorted({cap.purpose for policy in shown[:2] for cap in policy.caps}):
        cells = [_cap(purpose, policy) for policy in shown[:2]]
        table.add_row(
            Text(plain(f"cap{f' on {purpose}' if purpose else ''}")), *cells, *([] if is_tenants else ["both"])
        )
    table.add_row("advice off", *(Text(plain(_advice(policy.advice))) for policy in shown))
    console.print(table)
    stored = stored_of(found, options)
    if found.tenant_hidden and names_tenant(options):
        return
    if stored.version:
        by = f" by {plain(stored.set_by)}" if stored.set_by else ""
        at = f"{stored.set_time.ToDatetime():%Y-%m-%d %H:%M:%S} UTC"
        console.print(f"{whose(found, options)}: set{by} at {at}", markup=False)
    else:
        console.print(f"{whose(found, options)} has no policy of its own.", markup=False)


def _three(found: pb.GetPolicyResponse) -> tuple[pb.Policy, pb.Policy, pb.Policy]:
    return found.project.policy, found.tenant.policy, found.in_force


def _period(name: str, kept: pb.RetentionPolicy) -> str:
    if not kept.HasField(name):
        return ""
    value = getattr(kept, name)
    if name == "memory_importance":
        return f"{value:g}"
    return f"{value:,}" if value else "any number" if name == "memory_count" else "for ever"


def _cap(purpose: str, policy: pb.Policy) -> str:
    of = next((cap for cap in policy.caps if cap.purpose == purpose), pb.PolicyCap())
    usd = [f"{of.usd_per_day:g} USD"] if of.HasField("usd_per_day") else []
    tokens = [f"{of.tokens_per_day:,} tokens"] if of.HasField("tokens_per_day") else []
    return ", ".join(usd + tokens)


def _advice(advice: pb.AdvicePolicy) -> str:
    kinds = [name_of(pb.AdviceKind, kind) for kind in advice.off]
    return ", ".join([*kinds, *([f"{len(advice.silenced_ids)} lessons"] if advice.silenced_ids else [])])
