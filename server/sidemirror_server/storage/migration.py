"""Migrations: numbered SQL files, each applied once, in the order of their numbers. Pure rules that every store shares.

The number of a new file is the UTC minute in which it was begun, `date -u +%Y%m%d%H%M`:

    migrations/202611221530_name.sql

The first files are numbered from 0001 without gaps; no more are added to them. A merged file never changes. A store
gets every migration that it lacks, even one with a lower number than those it has, because branches add migrations in
parallel. So a migration must not depend on one that another branch may merge later.
"""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from sidemirror_server.vocabulary.errors import StoreRefused

_MINUTE = r"20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d"
_FILE_NAME = re.compile(rf"(\d{{4}}|{_MINUTE})_([a-z0-9_]+)\.sql")


class _Numbered(msgspec.Struct, frozen=True):
    number: int
    name: str

    def __str__(self) -> str:
        return f"{self.number:04d}_{self.name}"


class Migration(_Numbered, frozen=True):
    """One file. `checksum`: SHA-256 of its bytes, hexadecimal."""

    script: str
    checksum: str


class Applied(_Numbered, frozen=True):
    """A migration that a store has recorded as applied."""

    checksum: str


# What helps where a store has a migration that this server does not know, or not so.
OTHER_SERVER = "use the server that has migrated this store, or another store"
M = TypeVar("M", bound=Migration)
A = TypeVar("A", bound=Applied)


def read_files(folder: Path) -> tuple[Migration, ...]:
    """The files of the folder, in the order of their numbers. Raises ValueError for an invalid file name, for a number
    that two files have, and for a gap among the four-digit numbers."""
    found: dict[int, Migration] = {}
    # Four-digit numbers sort before the minutes, which begin with 20, as long as the numbers stay below 2000.
    for place, path in enumerate(sorted(folder.glob("*.sql")), start=1):
        match = _FILE_NAME.fullmatch(path.name)
        if match is None:
            raise ValueError(f"{path.name}: a migration is called by its UTC minute, YYYYMMDDHHMM_name.sql")
        number = int(match[1])
        if len(match[1]) == 4 and number != place:
            raise ValueError(f"{path.name}: migration {place:04d}_….sql is expected here")
        if number in found:
            raise ValueError(f"{path.name}: {found[number]}.sql has this number too")
        content = path.read_bytes()
        found[number] = Migration(number, match[2], content.decode("utf-8"), hashlib.sha256(content).hexdigest())
    return tuple(found.values())


def missing(applied: Iterable[Applied], known: Iterable[M]) -> tuple[M, ...]:
    """The known migrations that a store lacks, in the order of `known`."""
    numbers = {one.number for one in applied}
    return tuple(migration for migration in known if migration.number not in numbers)


def unknown(applied: Iterable[A], known: Iterable[Migration]) -> tuple[A, ...]:
    """The applied migrations that this server does not know, from newer servers."""
    numbers = {migration.number for migration in known}
    return tuple(one for one in applied if one.number not in numbers)


def check_same(store: str, applied: Iterable[Applied], known: Iterable[Migration]) -> None:
    """Raises StoreRefused when an applied migration differs from the known one of the same number."""
    checksums = {migration.number: migration.checksum for migration in known}
    for one in applied:
        if checksums.get(one.number, one.checksum) != one.checksum:
            cause = f"migration {one} is not the one this server has"
            raise StoreRefused(store=store, reason=cause, remedy=OTHER_SERVER)
