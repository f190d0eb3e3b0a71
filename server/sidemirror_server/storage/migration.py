"""Migrations: numbered SQL files, each applied once, in the order of their numbers. Pure rules that every store shares.

A new file is called by the UTC minute in which it was begun, `date -u +%Y%m%d%H%M`:

    migrations/202611221530_name.sql

The first ones are numbered from 0001 without gaps and come before all others; none is added to them. A file that has
landed never changes. What a store has is compared with what a server knows as sets: branches may add migrations side by
side, and a store gets the ones that it lacks whatever the others' numbers are. So a migration must not rely on one that
another branch may land after it.
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
    """A migration that a store has, as it is recorded there."""

    checksum: str


M = TypeVar("M", bound=Migration)
A = TypeVar("A", bound=Applied)


def read_files(folder: Path) -> tuple[Migration, ...]:
    """The files of the folder in the order of their numbers. Raises ValueError for a file name that is none, a number
    that two files have, and a gap among the numbers of four digits."""
    found: dict[int, Migration] = {}
    # Four digits sort before twelve that begin with 20, as long as there are fewer than 2,000 of them.
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
    """What a store lacks, in the order of `known`."""
    numbers = {one.number for one in applied}
    return tuple(migration for migration in known if migration.number not in numbers)


def unknown(applied: Iterable[A], known: Iterable[Migration]) -> tuple[A, ...]:
    """What a store has from servers that know more."""
    numbers = {migration.number for migration in known}
    return tuple(one for one in applied if one.number not in numbers)


def check_same(store: str, applied: Iterable[Applied], known: Iterable[Migration]) -> None:
    """Raises StoreRefused when a migration was applied that differs from the known one of its number."""
    checksums = {migration.number: migration.checksum for migration in known}
    for one in applied:
        if checksums.get(one.number, one.checksum) != one.checksum:
            raise StoreRefused(store=store, reason=f"migration {one} is not the one this server has")
