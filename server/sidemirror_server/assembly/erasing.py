"""Erases again in a store that came from a backup, before a sidecar serves it.

For `sidemirror restore`: tombstones stand in the store, so those of a store that a backup replaces are read first, and
applied to the restored one.
"""

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

import msgspec

from sidemirror_server.assembly.stores import check_embedded, open_stores
from sidemirror_server.settings import Settings
from sidemirror_server.storage.sqlite.backup import is_there, refusing
from sidemirror_server.storage.sqlite.database import FILE_NAME
from sidemirror_server.storage.sqlite.erasures import read_tombstones
from sidemirror_server.storage.sqlite.restore import Restored, restore
from sidemirror_server.telemetry_in.inbox import WaitingSpans
from sidemirror_server.trace.erasure import Tombstone
from sidemirror_server.turns.erasing import NOTHING_IN_MEMORY, SETTLE_S, Eraser
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import StoreRefused
from sidemirror_server.vocabulary.scope import Scope

_log = logging.getLogger(__name__)

Buried: TypeAlias = tuple[Scope, Tombstone]


def tombstones_in(file: Path) -> tuple[Buried, ...]:
    """The tombstones of all scopes in an embedded store's file that nobody serves; none in one from before there were
    any. Raises StoreRefused for a file that is no store."""
    with refusing(file):
        return read_tombstones(file)


async def erase_again(settings: Settings, buried: Iterable[Buried]) -> int:
    """Adds tombstones to the store of these settings, and erases what has one there. Nobody else may use the store
    meanwhile. Returns how many records had one. Raises StoreRefused where no embedded store is, so that none is made,
    and what `open_stores` and the stores raise."""
    if not settings.database_url and not settings.store:
        file = settings.data_dir / FILE_NAME
        with refusing(file):
            if not is_there(file):
                raise StoreRefused(folder=str(settings.data_dir), reason="there is no store")
    by_scope: defaultdict[Scope, list[Tombstone]] = defaultdict(list)
    for scope, tombstone in buried:
        by_scope[scope].append(tombstone)
    clock = SystemClock()
    async with contextlib.AsyncExitStack() as stack:
        stores = await open_stores(settings, clock, stack)
        eraser = Eraser(
            *(stores.erasures, stores.goal_reflections, stores.journal, stores.receipts, NOTHING_IN_MEMORY, clock),
            SETTLE_S if stores.is_shared else 0.0,
            WaitingSpans(stores.journal),
            stores.memory_search,
        )
        return sum([await eraser.erase_again(scope, tuple(found)) for scope, found in by_scope.items()])


def restore_store(settings: Settings, file: Path, *, replace: bool, buried: tuple[Buried, ...] = ()) -> Restored:
    """Makes a backup the embedded store of these settings, after what was erased since is erased in it: by the
    tombstones of the store that it replaces, and by `buried`.

    Raises BadSettings when the settings have another store, else the errors of `storage/sqlite/restore.py` and of
    `erase_again`; the store is then as it was.
    """
    check_embedded(settings)

    def again(stage: Path) -> int:
        found = {*buried, *_tombstones_left(settings.data_dir / FILE_NAME)}
        if not found:
            return 0
        return asyncio.run(erase_again(msgspec.structs.replace(settings, data_dir=stage), found))

    now_us = SystemClock().now_us()
    return restore(settings.data_dir, file, now_us, replace=replace, erase_again=again)


def _tombstones_left(file: Path) -> tuple[Buried, ...]:
    """Those of the store that is replaced. One that is damaged may have none that can be read."""
    if not file.exists():
        return ()
    try:
        return tombstones_in(file)
    except StoreRefused as error:
        _log.warning("tombstones_not_read", extra={"path": str(file), "error": str(error)})
        return ()
