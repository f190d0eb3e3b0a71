"""`sidemirror advice`: turns lessons, recoveries, all advice or one lesson off and on, for a tenant or project."""

import argparse
import sys

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.operations.policies import change, policies, stored_of, whose
from sidemirror_server.operations.shown import name_of, print_json
from sidemirror_server.operations.target import EXIT_FAILED, asked

_KINDS = {
    "all": pb.ADVICE_KIND_ALL,
    "lessons": pb.ADVICE_KIND_LESSONS,
    "recoveries": pb.ADVICE_KIND_RECOVERIES,
}


def advice(options: argparse.Namespace) -> int:
    """Runs the subcommand `options.verb`; returns the exit code."""
    verbs = {"show": _show, "off": _off, "on": _on}
    return asked(options.address, lambda channel: verbs[options.verb](SidecarServiceStub(channel), options))


def _show(stub: SidecarServiceStub, options: argparse.Namespace) -> int:
    _print(policies(stub, options), options)
    return 0


def _off(stub: SidecarServiceStub, options: argparse.Namespace) -> int:
    def make(policy: pb.Policy) -> None:
        kind = _KINDS.get(options.what)
        if kind is None and options.what not in policy.advice.silenced_ids:
            policy.advice.silenced_ids.append(options.what)
        elif kind is not None and kind not in policy.advice.off:
            policy.advice.off.append(kind)

    _print(change(stub, options, make), options)
    return 0


def _on(stub: SidecarServiceStub, options: argparse.Namespace) -> int:
    """Turns on again what this tenant's or project's policy turned off. Fails if it stays off for another reason."""

    def make(policy: pb.Policy) -> None:
        kind = _KINDS.get(options.what)
        off = [] if options.what == "all" else [one for one in policy.advice.off if one != kind]
        silenced = [one for one in policy.advice.silenced_ids if one != options.what]
        policy.advice.CopyFrom(pb.AdvicePolicy(off=off, silenced_ids=silenced))

    found = change(stub, options, make)
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
    return EXIT_FAILED if is_off else 0


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
        print(f"lesson {lesson_id}: off")
    own = stored_of(found, options).policy.advice
    turned = [name_of(pb.AdviceKind, kind) for kind in own.off] + list(own.silenced_ids)
    print(f"The policy of {whose(found, options)} turns off: {', '.join(turned) or 'nothing'}")
