"""`sidemirror erase`: removes a turn, a session or a subject from a running sidecar's stores, and lists tombstones."""

import argparse
import datetime
import json
import sys
import uuid
from collections.abc import Iterable, Iterator

import grpc

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1 import sidecar_pb2_grpc as pb_grpc
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.shown import plain
from sidemirror_server.operations.target import asked, scope_of
from sidemirror_server.trace.erasure import Tombstone
from sidemirror_server.trace.sources import SourceKind
from sidemirror_server.vocabulary.scope import Scope

_TIMEOUT_S = 5.0
# How long the command waits for the end of an erasure, which goes on without it.
_ERASE_S = 600.0
_PAGE = 1_000


def erase(options: argparse.Namespace) -> int:
    """Erases what the options name, or lists tombstones; returns the exit code."""
    run = _list if options.list else _erase
    if not (options.list or options.yes or _is_meant(options)):
        print("sidemirror: nothing was erased", file=sys.stderr)
        return exit_codes.FAILED
    return asked(options.address, lambda channel: run(pb_grpc.SidecarServiceStub(channel), options))


def _is_meant(options: argparse.Namespace) -> bool:
    """Whether whoever runs the command confirms it. Without a terminal nobody can."""
    if not sys.stdin.isatty():
        print("sidemirror: --yes: without a terminal nobody can be asked", file=sys.stderr)
        return False
    what, name = next(iter(_target(options).items()))
    told = f"Erase the {what.removesuffix('_id')} {plain(name)}, with all that came of it? It cannot be undone."
    try:
        return input(f"{told} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:  # Ctrl-D
        print(file=sys.stderr)
        return False


def _target(options: argparse.Namespace) -> dict[str, str]:
    named = {"turn_id": options.turn, "session_id": options.session, "subject_id": options.subject}
    return {field: value for field, value in named.items() if value}


def _erase(stub: pb_grpc.SidecarServiceStub, options: argparse.Namespace) -> int:
    request_id = options.request_id or uuid.uuid4().hex
    try:
        request = pb.EraseRequest(request_id=request_id, **_target(options), **scope_of(options))
        made = stub.Erase(request, timeout=_ERASE_S)
    except grpc.RpcError as error:
        if error.code() not in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE):
            raise
        print(f"sidemirror: to wait for an erasure that has begun, add --request-id {request_id}", file=sys.stderr)
        if error.code() is grpc.StatusCode.UNAVAILABLE:
            raise
        return exit_codes.UNAVAILABLE
    counts = dict(sorted(made.counts.items()))
    if options.json:
        print(json.dumps({"counts": counts, "erase_time": made.erase_time.ToJsonString()}, indent=2))
    elif counts:
        told = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items())
        print(f"Erased: {told}.")
    if counts:
        return 0
    field, name = next(iter(_target(options).items()))
    told = f"the {field.removesuffix('_id')} {plain(name)} is unknown, or was erased before; a tombstone is left"
    print(f"sidemirror: nothing was erased: {told}", file=sys.stderr)
    return exit_codes.FAILED


def _list(stub: pb_grpc.SidecarServiceStub, options: argparse.Namespace) -> int:
    info = stub.GetServerInfo(pb.GetServerInfoRequest(**scope_of(options)), timeout=_TIMEOUT_S)
    own = {"tenant_id": info.tenant_id, "project_id": info.project_id}
    scope = {name: value or own[name] for name, value in scope_of(options).items()}
    for one in _tombstones(stub, options):
        told = {"kind": one.kind, "digest": one.digest, "erase_time": one.erase_time.ToJsonString()}
        print(json.dumps({**scope, **told}))
    return 0


def _tombstones(stub: pb_grpc.SidecarServiceStub, options: argparse.Namespace) -> Iterator[pb.Tombstone]:
    token = ""
    while True:
        request = pb.ListTombstonesRequest(page_size=_PAGE, page_token=token, **scope_of(options))
        page = stub.ListTombstones(request, timeout=_TIMEOUT_S)
        yield from page.tombstones
        token = page.next_page_token
        if not token:
            return


def buried_in(lines: Iterable[str]) -> tuple[tuple[Scope, Tombstone], ...]:
    """The tombstones of lines that `sidemirror erase --list` printed, for `sidemirror restore --erased`. Raises
    ValueError with the number of the first line that is none."""
    found: list[tuple[Scope, Tombstone]] = []
    for number, line in enumerate(lines, start=1):
        try:
            told = json.loads(line)
            erased = datetime.datetime.fromisoformat(told["erase_time"])
            tombstone = Tombstone(
                SourceKind(told["kind"]), bytes.fromhex(told["digest"]), round(erased.timestamp() * 1e6)
            )
            found.append((Scope(told["tenant_id"], told["project_id"]), tombstone))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"line {number} is no tombstone of `sidemirror erase --list`") from error
    return tuple(found)
