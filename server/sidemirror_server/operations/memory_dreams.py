"""`sidemirror memory dreams` and `prunings`: shows the background work of a running sidecar's memory."""

import argparse
import sys
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.operations.shown import print_json
from sidemirror_server.rpc.wire.common import name_of

_TIMEOUT_S = 30.0
# Longer than a pass: 20 questions of 30 s each.
_DREAM_S = 660.0


def dreams(stub: ReflectiveMemoryServiceStub, options: argparse.Namespace, scope: dict[str, str]) -> int:
    """Starts a dream if requested, and shows the log of dreams."""
    if options.now:
        found = pb.ListDreamsResponse()
        for told in stub.Dream(pb.DreamRequest(**scope), timeout=_DREAM_S):
            if told.WhichOneof("step") == "progress":
                print(_progress(told.progress), file=sys.stderr)
            else:
                found.dreams.append(told.dream)
    else:
        found = stub.ListDreams(pb.ListDreamsRequest(page_size=options.limit, **scope), timeout=_TIMEOUT_S)
    if options.json:
        print_json(found)
    else:
        _show_dreams(found.dreams)
    return 0


def prunings(stub: ReflectiveMemoryServiceStub, options: argparse.Namespace, scope: dict[str, str]) -> int:
    """Shows the records that were removed because of their age."""
    found = stub.ListPrunings(pb.ListPruningsRequest(page_size=options.limit, **scope), timeout=_TIMEOUT_S)
    if options.json:
        print_json(found)
    else:
        _show_prunings(found.prunings)
    return 0


def _progress(progress: pb.DreamProgress) -> str:
    if progress.waiting:
        return "waiting for a worker"
    done = f"{progress.finished_cluster_count} of {progress.cluster_count} clusters"
    return f"read {progress.read_count}, {done}, {progress.lesson_count} lessons"


def _show_dreams(found: Iterable[pb.DreamLogEntry]) -> None:
    console = Console(highlight=False)
    # All columns fit into 80 characters, because a narrow terminal cuts the rest off.
    table = Table(title="Dreams, the newest first", title_justify="left", padding=(0, 0), pad_edge=False)
    headings = ("ended", "read", "left", "clus-\nters", "known", "asked", "made", "strength-\nened", "USD", "status")
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("ended", "status") else "right", overflow="fold")
    for dream in found:
        made = sum(lesson.is_new for lesson in dream.lessons)
        status = name_of(common_pb2.ResultStatus, dream.status)
        cost = f"{dream.usage.cost_usd:.4f}" if dream.usage.HasField("cost_usd") else ""
        table.add_row(
            f"{dream.end_time.ToDatetime():%Y-%m-%d %H:%M:%S}",
            *(str(dream.read_count), str(dream.left_count), str(dream.cluster_count), str(dream.known_cluster_count)),
            *(str(dream.asked_count), str(made), str(len(dream.lessons) - made), cost, status),
        )
    console.print(table if table.row_count else "It has not dreamt.")


def _show_prunings(found: Iterable[pb.Pruning]) -> None:
    console = Console(highlight=False)
    table = Table(title="Removed because it was old, the newest first", title_justify="left")
    for heading in ("when", "what", "count", "not heard of since", "importance below"):
        table.add_column(heading)
    for pruning in found:
        below = f"{pruning.importance_below:.2f}" if pruning.kind == pb.PRUNED_KIND_MEMORIES else ""
        table.add_row(
            f"{pruning.prune_time.ToDatetime():%Y-%m-%d %H:%M:%S}",
            name_of(pb.PrunedKind, pruning.kind),
            f"{pruning.count:,}",
            f"{pruning.before_time.ToDatetime():%Y-%m-%d %H:%M:%S}",
            below,
        )
    console.print(table if table.row_count else "Nothing was removed.")
