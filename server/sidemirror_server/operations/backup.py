"""`sidemirror backup` and `sidemirror restore`: the embedded store as one file, and back."""

import datetime
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from sidemirror_server.assembly import back_up_store, restore_store
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.erase import buried_in
from sidemirror_server.settings import load
from sidemirror_server.vocabulary.errors import SidemirrorError, StoreDamaged, StoreFull, StoreRefused, StoreUnavailable

_MIB = 1024 * 1024
# A backup yields to the rest of the machine as searches do (storage/sqlite/memory_process.py).
_NICER_BY = 5


def backup(flags: Mapping[str, str], file: str, *, as_json: bool) -> int:
    """Copies the store to `file` and prints what is in it; returns the exit code. Raises BadSettings."""
    os.nice(_NICER_BY)
    try:
        made = back_up_store(load(flags), Path(file))
    except SidemirrorError as error:
        return _failed(error, Path(file), exit_codes.CANNOT_CREATE)
    facts = _facts(msgspec.structs.asdict(made.holds))
    until = _time(made.until_us)
    if as_json:
        print(json.dumps({"file": str(made.file), "until_time": until, **facts}, indent=2))
    else:
        print(f"{made.file} has everything that was acknowledged before {until}: {_in_words(facts)}.")
    return 0


def restore(flags: Mapping[str, str], file: str, *, erased: str, replace: bool, as_json: bool) -> int:
    """Makes `file` the store and prints what is in it; returns the exit code. `erased`: a file with tombstones, or
    empty. Raises BadSettings."""
    try:
        buried = buried_in(Path(erased).read_text().splitlines()) if erased else ()
    except OSError as error:
        print(f"sidemirror: {erased}: {error.strerror}", file=sys.stderr)
        return exit_codes.NO_INPUT
    except ValueError as error:
        print(f"sidemirror: {erased}: {error}", file=sys.stderr)
        return exit_codes.DATA
    try:
        made = restore_store(load(flags), Path(file), replace=replace, buried=buried)
    except SidemirrorError as error:
        return _failed(error, Path(file), exit_codes.NO_INPUT)
    if not made.had_checksum:
        why = "it has no checksum, as the backups of earlier versions: a changed byte in it may go unnoticed"
        print(f"sidemirror: {file}: {why}", file=sys.stderr)
    facts = _facts(msgspec.structs.asdict(made.holds))
    if as_json:
        kept = {"replaced_file": str(made.replaced)} if made.replaced else {}
        again = {"erased": made.erased} if made.erased else {}
        told = {"folder": str(made.folder), "had_checksum": made.had_checksum, **facts, **kept, **again}
        print(json.dumps(told, indent=2))
        return 0
    print(f"{made.folder} has the store of {file} now: {_in_words(facts)}.")
    if facts["migrations"] < facts["known_migrations"]:
        print("The next `sidemirror serve` brings its schema up to date.")
    if made.erased:
        print(f"{made.erased:,} of its records were erased again.")
    if made.replaced:
        print(f"The store from before is {made.replaced}.")
    return 0


def _failed(error: SidemirrorError, file: Path, no_file: int) -> int:
    """Prints what is wrong with which file or folder; returns the exit code. `no_file`: when the backup's own file
    cannot be made or used."""
    named = next((f"{error.facts[fact]}: " for fact in ("file", "folder") if fact in error.facts), "")
    print(f"sidemirror: {named}{error.facts['reason']}", file=sys.stderr)
    if isinstance(error, StoreDamaged):
        return exit_codes.DATA
    if isinstance(error, StoreFull):
        return exit_codes.CANNOT_CREATE
    if isinstance(error, StoreUnavailable) and not isinstance(error, StoreRefused):
        return exit_codes.UNAVAILABLE
    own = (file.absolute(), file.absolute().with_name(f"{file.name}.part"))
    return no_file if Path(error.facts.get("file", "")).absolute() in own else exit_codes.FAILED


def _facts(holds: dict[str, Any]) -> dict[str, Any]:
    """What a store file holds, under the names that JSON has."""
    newest_us, (applied, known) = holds.pop("newest_us"), holds.pop("schema")
    newest = {"newest_time": _time(newest_us)} if newest_us else {}
    return {**holds, "migrations": applied, "known_migrations": known, **newest}


def _in_words(facts: dict[str, Any]) -> str:
    newest = f"the last turn of {facts['newest_time']}" if "newest_time" in facts else "no turn"
    schema = f"schema {facts['migrations']} of {facts['known_migrations']}"
    return f"{facts['size_bytes'] / _MIB:.1f} MiB, {facts['rows']:,} rows, {schema}, {newest}"


def _time(at_us: int) -> str:
    return datetime.datetime.fromtimestamp(at_us / 1e6, datetime.UTC).isoformat(timespec="milliseconds")
