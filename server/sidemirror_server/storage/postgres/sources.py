"""What records came from, in Postgres. Used by the adapters that store derived records, in the record's transaction."""

from collections.abc import Collection, Mapping
from pathlib import Path

from sidemirror_server.storage.postgres.transactions import Transaction
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.trace.erasure import ERASED, LASTING, Tombstone, digest_of, is_erased
from sidemirror_server.trace.sources import parsed
from sidemirror_server.vocabulary.errors import WrongState
from sidemirror_server.vocabulary.scope import Scope

_SQL = load_statements(Path(__file__).with_name("sources.sql"))


async def note_sources(transaction: Transaction, scope: Scope, record: str, sources: Collection[str]) -> None:
    """Notes the sources of a record (keys of `trace/sources.py`)."""
    if sources:
        await transaction.change(_SQL["add"], *ids_of(scope), record, list(sources), often=True)


async def erased(transaction: Transaction, scope: Scope, names: Collection[str]) -> Mapping[str, int]:
    """The times of the tombstones of these keys, of those that have one."""
    digests = {digest_of(scope, name): name for name in names}
    if not digests:
        return {}
    kinds = [parsed(name)[0].value for name in digests.values()]
    rows = await transaction.fetch(_SQL["erased"], *ids_of(scope), kinds, list(digests), often=True)
    return {digests[digest]: at_us for digest, at_us in rows}


async def bury(transaction: Transaction, scope: Scope, names: Collection[str], now_us: int) -> None:
    """Leaves the tombstones of records, of those whose kind has one."""
    kinds = {name: parsed(name)[0] for name in names}
    await keep_tombstones(
        transaction,
        scope,
        [Tombstone(kind, digest_of(scope, name), now_us) for name, kind in kinds.items() if kind in LASTING],
    )


async def keep_tombstones(transaction: Transaction, scope: Scope, tombstones: Collection[Tombstone]) -> None:
    """Keeps tombstones."""
    if tombstones:
        columns = (
            [one.kind.value for one in tombstones],
            [one.digest for one in tombstones],
            [one.erased_us for one in tombstones],
        )
        await transaction.change(_SQL["bury"], *ids_of(scope), *columns)


async def is_any_erased(transaction: Transaction, scope: Scope, sources: Collection[str], heard_us: int) -> bool:
    """Whether one of the sources, heard at `heard_us`, was erased since."""
    found = await erased(transaction, scope, sources)
    return any(is_erased(found.get(source), source, heard_us) for source in sources)


async def refuse_erased(transaction: Transaction, scope: Scope, sources: Collection[str], heard_us: int) -> None:
    """Raises WrongState if one of the sources, heard at `heard_us`, was erased since."""
    found = await erased(transaction, scope, sources)
    for source in sources:
        if is_erased(found.get(source), source, heard_us):
            kind, record_id = parsed(source)
            raise WrongState(kind.value, record_id, ERASED)
