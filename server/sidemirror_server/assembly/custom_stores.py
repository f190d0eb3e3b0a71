"""Stores of other packages, by entry point. Called by `stores.py`; packages use `CustomStores`.

An entry point in the group `sidemirror.stores` has the name that the setting `store` chooses. Its value is a callable
(URL, the adapters of the main store by port) → asynchronous context manager, which yields `CustomStores`. Each adapter
keeps the clauses of its port; the suites that check them are a package too (`tools/conformance`).
"""

import contextlib
import importlib.metadata
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

import msgspec

from sidemirror_server.settings import BadSettings

_ENTRY_POINTS = "sidemirror.stores"
# Ports whose records no transaction of another port changes: goal reflections are deleted and erased by their own
# verbs, and a search may keep an index of its own beside the memories.
ALONE = frozenset({"goal_reflections", "memory_search"})


class CustomStores(msgspec.Struct, frozen=True):
    """What a package offers. `ports`: adapters by the name of their field in `stores.Stores`: those in ALONE, or all.
    `kind` and `durability` are told by GetServerInfo: the technology, and what an acknowledged write survives.
    `is_available`: whether it answered its last request."""

    ports: Mapping[str, Any]
    kind: str
    durability: str
    is_available: Callable[[], bool]


OpenStores: TypeAlias = Callable[[str, Mapping[str, Any]], contextlib.AbstractAsyncContextManager[CustomStores]]


def opener_of(name: str) -> OpenStores:
    """The callable that a package offers under this name. Raises BadSettings for an unknown one."""
    offered = {point.name: point for point in importlib.metadata.entry_points(group=_ENTRY_POINTS)}
    if name not in offered:
        known = ", ".join(sorted(offered)) or "none"
        raise BadSettings(f"store (SIDEMIRROR_STORE): there is no {name!r}; there are {known}")
    found: OpenStores = offered[name].load()
    return found


def check(name: str, given: Collection[str], known: Collection[str]) -> None:
    """Raises BadSettings if these ports cannot take the place of the main store's."""
    if strange := sorted(set(given) - set(known)):
        raise BadSettings(f"store (SIDEMIRROR_STORE): {name!r} offers {', '.join(strange)}; there is no such port")
    if not given:
        raise BadSettings(f"store (SIDEMIRROR_STORE): {name!r} offers no port")
    if not set(given) <= ALONE and (missing := sorted(set(known) - set(given))):
        raise BadSettings(
            f"store (SIDEMIRROR_STORE): {name!r} offers {', '.join(sorted(set(given) - ALONE))} without "
            f"{', '.join(missing)}; only {' and '.join(sorted(ALONE))} can stand alone"
        )
