"""`sidemirror memory search`: the memories that fit a text, or all that are in a state."""

import argparse
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import grpc

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.operations.parsers.arguments import MOST_HITS
from sidemirror_server.operations.shown import print_json, scope_option
from sidemirror_server.operations.target import scope_of

_TIMEOUT_S = 30.0
_PAGE = 200
# Hits that do not fit into a message are left out, and one of this size may be full: it ends at 3 MiB, and a memory has
# at most two texts of 256 KiB.
_FULL_BYTES = 2 * 1024 * 1024


def search(stub: ReflectiveMemoryServiceStub, options: argparse.Namespace, channel: grpc.Channel) -> int:
    """Prints the memories that `options` ask for; returns the exit code. Raises grpc.RpcError."""
    scope = scope_of(options)
    is_listed = bool(options.state) and not options.text.strip()
    request = _request(options, scope)
    if is_listed:
        some = list(islice(_in_state(stub, options, scope), options.limit + 1))
        looked_at = pb.QueryReflectionsResponse(hits=[pb.QueryHit(memory=memory) for memory in some])
    else:
        looked_at = stub.QueryReflections(request, timeout=_TIMEOUT_S)
    fitting = [hit for hit in looked_at.hits if not options.state or hit.memory.state == _state(options)]
    hits = fitting[: options.limit]
    found = pb.QueryReflectionsResponse(hits=hits, search_mode=looked_at.search_mode)
    if options.json:
        print_json(found)
        return 0
    from sidemirror_server.operations.memory_tables import show_hits
    from sidemirror_server.operations.turned_off import TurnedOff

    show_hits(found, scope, TurnedOff(channel, scope).lesson)
    if len(fitting) > len(hits):
        print(f"There are more: {len(hits):,} are shown. -k shows more.", file=sys.stderr)
    elif not is_listed and _is_cut_off(looked_at):
        _say_cut_off(len(looked_at.hits), options)
    if not options.state and not request.include_quarantined:
        request.k, request.include_quarantined = options.limit, True
        _say_quarantined(stub.QueryReflections(request, timeout=_TIMEOUT_S), scope)
    return 0


def _state(options: argparse.Namespace) -> int:
    return pb.MemoryState.Value(f"MEMORY_STATE_{options.state.upper()}")


def _request(options: argparse.Namespace, scope: dict[str, Any]) -> pb.QueryReflectionsRequest:
    """The search. It knows of no single state: more of it is looked through for one. Else one hit more than is shown
    says whether there are more."""
    return pb.QueryReflectionsRequest(
        query_text=options.text,
        k=MOST_HITS if options.state else min(options.limit + 1, MOST_HITS),
        min_importance=options.min_importance,
        tags=options.tag,
        explain=options.explain,
        include_quarantined=options.include_quarantined or options.state == "quarantined",
        include_retired=options.include_retired or options.state == "retired",
        **scope,
    )


def _in_state(
    stub: ReflectiveMemoryServiceStub, options: argparse.Namespace, scope: dict[str, Any]
) -> Iterator[pb.Memory]:
    """All memories in a state that pass the filter, the newest first."""
    request = pb.ListReflectionsRequest(state=pb.MemoryState.Name(_state(options)), page_size=_PAGE, **scope)
    while True:
        page = stub.ListReflections(request, timeout=_TIMEOUT_S)
        for memory in page.memories:
            if memory.importance >= options.min_importance and (not options.tag or {*options.tag} & {*memory.tags}):
                yield memory
        request.page_token = page.next_page_token
        if not page.next_page_token:
            return


def _is_cut_off(looked_at: pb.QueryReflectionsResponse) -> bool:
    """Whether a search may have found more than it could tell."""
    return len(looked_at.hits) >= MOST_HITS or looked_at.ByteSize() >= _FULL_BYTES


def _say_cut_off(count: int, options: argparse.Namespace) -> None:
    told = f"The {count:,} that fit best were looked through, and there may be more."
    if options.state:
        told += f" Without a text, --state {options.state} lists all."
    print(told, file=sys.stderr)


def _say_quarantined(with_them: pb.QueryReflectionsResponse, scope: dict[str, Any]) -> None:
    """Says how many of those that fit best are left out. `with_them`: the same search with what is in quarantine."""
    count = sum(hit.memory.state == pb.MEMORY_STATE_QUARANTINED for hit in with_them.hits)
    if count:
        lists = f"`sidemirror memory search --state quarantined{scope_option(scope)}` lists all that wait"
        of = f"{count:,} of the {len(with_them.hits):,} that fit best"
        print(f"Left out, because in quarantine: {of}. --include-quarantined shows them too; {lists}.")
