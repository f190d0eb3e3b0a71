"""Erases again in a store that came from a backup, before a sidecar serves it.

For `sidemirror restore`: tombstones stand in the store, so those of a store that a backup replaces are read first, and
applied to the restored one.
"""

import contextlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from sidemirror_server.assembly.stores import open_stores
from sidemirror_server.settings import Settings
from sidemirror_server.storage.sqlite.erasures import read_tombstones
from sidemirror_server.trace.erasure import Tombstone
from sidemirror_server.turns.erasing import NOTHING_IN_MEMORY, SETTLE_S, Eraser
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.scope import Scope

Buried: TypeAlias = tuple[Scope, Tombstone]


def tombstones_in(file: Path) -> tuple[Buried, ...]:
    """The tombstones of all scopes in an embedded store's file that nobody serves; none in one from before there were
    any. Raises sqlite3.Error for a file that is no store."""
    return read_tombstones(file)


async def erase_again(settings: Settings, buried: Iterable[Buried]) -> int:
    """Adds tombstones to the store of these settings, and erases what has one there. Nobody else may use the store
    meanwhile. Returns how many records had one. Raises what `open_stores` and the stores raise."""
    by_scope: defaultdict[Scope, list[Tombstone]] = defaultdict(list)
    for scope, tombstone in buried:
        by_scope[scope].append(tombstone)
    clock = SystemClock()
    async with contextlib.AsyncExitStack() as stack:
        stores = await open_stores(settings, clock, stack)
        eraser = Eraser(
            *(stores.erasures, stores.goal_reflections, stores.journal, stores.receipts, NOTHING_IN_MEMORY, clock),
            SETTLE_S if stores.is_shared else 0.0,
        )
        return sum([await eraser.erase_again(scope, tuple(found)) for scope, found in by_scope.items()])
