"""`sidemirror advice`: turns lessons, recoveries, all advice or one lesson off and on, for a tenant or project."""

import argparse
import difflib
import sys

import grpc

from sidemirror.v1 import goal_reflection_pb2 as goal_pb
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.advice_history import advice_changes, all_of
from sidemirror_server.operations.policies import TIMEOUT_S, change, is_hidden, names_tenant, policies, stored_of, whose
from sidemirror_server.operations.shown import plain, print_json
from sidemirror_server.operations.target import asked, scope_of
from sidemirror_server.rpc.wire.common import name_of

_KINDS = {
    "all": pb.ADVICE_KIND_ALL,
    "lessons": pb.ADVICE_KIND_LESSONS,
    "recoveries": pb.ADVICE_KIND_RECOVERIES,
}
# How much a word must be like a kind to be taken for it mistyped, from 0 to 1. Chosen here: `lesson`, `Recoveries` and
# `al` are.
_ALIKE = 0.76


def advice(options: argparse.Namespace) -> int:
    """Runs the subcommand `options.verb`; returns the exit code."""
    verbs = {"show": _show, "off": _off, "on": _on}
    return asked(options.address, lambda channel: verbs[options.verb](channel, options))


def _show(channel: grpc.Channel, options: argparse.Namespace) -> int:
    found = policies(SidecarServiceStub(channel), options)
    _print(found, options)
    if not options.json and not names_tenant(options):
        for line in all_of(advice_changes(channel, scope_of(options))):
            print(line)
    return exit_codes.FAILED if is_hidden(found, options) else 0


def _off(channel: grpc.Channel, options: argparse.Namespace) -> int:
    """Turns off what this tenant's or project's policy gives. Refuses an id that no lesson or recovery has."""
    if options.what not in _KINDS and not options.force:
        why = _why_no_lesson(channel, options)
        if why:
            print(f"sidemirror: {options.what}: {why}; --force silences this id anyhow", file=sys.stderr)
            return exit_codes.FAILED

    def make(policy: pb.Policy) -> None:
        kind = _KINDS.get(options.what)
        if kind is None and options.what not in policy.advice.silenced_ids:
            policy.advice.silenced_ids.append(options.what)
        elif kind is not None and kind not in policy.advice.off:
            policy.advice.off.append(kind)

    _print(change(SidecarServiceStub(channel), options, make, options.reason), options)
    return 0


def _on(channel: grpc.Channel, options: argparse.Namespace) -> int:
    """Turns on again what this tenant's or project's policy turned off. Fails if it stays off for another reason, and
    for an id that nothing silences."""
    stub = SidecarServiceStub(channel)
    if options.what not in _KINDS:
        known = policies(stub, options)
        here, given = stored_of(known, options).policy.advice, known.in_force.advice
        if options.what not in (*here.silenced_ids, *given.silenced_ids):
            told = f"{options.what}: nothing was off by this name{_alike(options.what)}"
            print(f"sidemirror: {told}", file=sys.stderr)
            return exit_codes.FAILED

    def make(policy: pb.Policy) -> None:
        kind = _KINDS.get(options.what)
        off = [] if options.what == "all" else [one for one in policy.advice.off if one != kind]
        silenced = [one for one in policy.advice.silenced_ids if one != options.what]
        policy.advice.CopyFrom(pb.AdvicePolicy(off=off, silenced_ids=silenced))

    found = change(stub, options, make, options.reason)
    _print(found, options)
    left = found.in_force.advice
    is_off = pb.ADVICE_KIND_ALL in left.off or _KINDS.get(options.what) in left.off or options.what in left.silenced_ids
    if options.what == "all":
        is_off = bool(left.off)
    if is_off:
        own = stored_of(found, options).policy.advice.off
        tenants = f"the tenant's policy turns it off (--scope {found.tenant_id}/*)"
        why = "all advice is off" if pb.ADVICE_KIND_ALL in own else tenants
        print(f"sidemirror: {options.what}: still off, because {why}", file=sys.stderr)
    return exit_codes.FAILED if is_off else 0


def _why_no_lesson(channel: grpc.Channel, options: argparse.Namespace) -> str:
    """Why no lesson or recovery is known by the id that the command names; empty if there is one. A tenant's ids cannot
    be looked up, because both belong to projects: of these only what looks like a kind is refused. Raises
    grpc.RpcError."""
    meant = _alike(options.what)
    if names_tenant(options):
        return f"this is no kind of advice{meant}" if meant else ""
    is_known = _is_lesson(channel, options) or _is_recovery(channel, options)
    return "" if is_known else f"no lesson or recovery has this id{meant}"


def _alike(what: str) -> str:
    """The question whether a kind was meant, if a word is much like one; else empty."""
    alike = difflib.get_close_matches(what.casefold(), _KINDS, 1, _ALIKE)
    return f"; did you mean {alike[0]}?" if alike else ""


def _is_lesson(channel: grpc.Channel, options: argparse.Namespace) -> bool:
    """Whether a memory or a reflection of a recent goal has the id. Raises grpc.RpcError."""
    scope = scope_of(options)
    asked_for = memory_pb.GetReflectionRequest(reflection_id=options.what, **scope)
    try:
        ReflectiveMemoryServiceStub(channel).GetReflection(asked_for, timeout=TIMEOUT_S)
    except grpc.RpcError as error:
        # UNIMPLEMENTED: reflective memory is turned off.
        if error.code() not in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNIMPLEMENTED):
            raise
    else:
        return True
    recent = goal_pb.ListRecentGoalsRequest(**scope)
    goals = GoalReflectionServiceStub(channel).ListRecentGoals(recent, timeout=TIMEOUT_S).goals
    return any(options.what == one.id for goal in goals for one in goal.reflections)


def _is_recovery(channel: grpc.Channel, options: argparse.Namespace) -> bool:
    """Whether a move after a failure has the id. Raises grpc.RpcError."""
    stub, token = ReflectiveMemoryServiceStub(channel), ""
    while True:
        request = memory_pb.ListRecoveriesRequest(page_size=1_000, page_token=token, **scope_of(options))
        try:
            page = stub.ListRecoveries(request, timeout=TIMEOUT_S)
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.UNIMPLEMENTED:
                raise
            return False
        if any(move.recovery_id == options.what for found in page.signatures for move in found.moves):
            return True
        token = page.next_page_token
        if not token:
            return False


def _print(found: pb.GetPolicyResponse, options: argparse.Namespace) -> None:
    if options.json:
        print_json(found.in_force.advice)
        return
    given = found.in_force.advice
    for name, kind in _KINDS.items():
        if name != "all":
            is_off = kind in given.off or pb.ADVICE_KIND_ALL in given.off
            print(f"{name}: {'off' if is_off else 'on'}")
    for lesson_id in given.silenced_ids:
        print(f"lesson {plain(lesson_id)}: off")
    if found.tenant_hidden and names_tenant(options):
        return
    own = stored_of(found, options).policy.advice
    turned = [name_of(pb.AdviceKind, kind) for kind in own.off] + list(map(plain, own.silenced_ids))
    print(f"The policy of {whose(found, options)} turns off: {', '.join(turned) or 'nothing'}")
