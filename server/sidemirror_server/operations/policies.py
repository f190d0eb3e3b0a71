"""Reads and changes the stored policies of a running sidecar. Used by `policy.py` and `advice.py`."""

import argparse
import sys
from collections.abc import Callable

import grpc

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.operations.shown import plain
from sidemirror_server.operations.target import scope_of

# How long a call may take. Chosen here: a healthy sidecar answers in milliseconds.
TIMEOUT_S = 5.0
# How often a change is tried while others change the same policy. Chosen here: more often than people do at once.
_TRIES = 5


def policies(stub: SidecarServiceStub, options: argparse.Namespace) -> pb.GetPolicyResponse:
    """The policies of the scope that the command names. Raises grpc.RpcError."""
    return stub.GetPolicy(pb.GetPolicyRequest(**scope_of(options)), timeout=TIMEOUT_S)


def change(
    stub: SidecarServiceStub, options: argparse.Namespace, make: Callable[[pb.Policy], None], reason: str = ""
) -> pb.GetPolicyResponse:
    """Applies `make` to the policy of the tenant or project that the command names, and stores it. Returns what holds
    then. Raises grpc.RpcError."""
    level = pb.POLICY_LEVEL_TENANT if names_tenant(options) else pb.POLICY_LEVEL_PROJECT
    for left in reversed(range(_TRIES)):
        stored = stored_of(policies(stub, options), options)
        policy = pb.Policy()
        policy.CopyFrom(stored.policy)
        make(policy)
        request = pb.SetPolicyRequest(
            level=level, policy=policy, if_version=stored.version, reason=reason, **scope_of(options)
        )
        try:
            stub.SetPolicy(request, timeout=TIMEOUT_S)
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.FAILED_PRECONDITION or not left:
                raise
        else:
            break
    return policies(stub, options)


def stored_of(found: pb.GetPolicyResponse, options: argparse.Namespace) -> pb.StoredPolicy:
    """The stored policy that the command names; an empty one, of version 0, if none is stored."""
    return found.tenant if names_tenant(options) else found.project


def names_tenant(options: argparse.Namespace) -> bool:
    """Whether the command names a tenant with all its projects."""
    return options.scope is not None and options.scope.project_id is None


def is_hidden(found: pb.GetPolicyResponse, options: argparse.Namespace) -> bool:
    """Whether the command names a tenant whose policy its token may not see; prints so."""
    hidden = names_tenant(options) and found.tenant_hidden
    if hidden:
        why = "this token may not see its policy, which takes a grant for all projects of the tenant"
        told = plain(f"what is in force in {found.tenant_id}/{found.project_id} is shown")
        print(f"sidemirror: {whose(found, options)}: {why}; {told}", file=sys.stderr)
    return hidden


def whose(found: pb.GetPolicyResponse, options: argparse.Namespace) -> str:
    """The scope that the command is about, as `--scope` takes it."""
    return plain(f"{found.tenant_id}/{'*' if names_tenant(options) else found.project_id}")
