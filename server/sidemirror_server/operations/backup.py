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
from sidemirror_server.operations.erase import buried_in
from sidemirror_server.operations.target import EXIT_FAILED
from sidemirror_server.settings import load
from sidemirror_server.vocabulary.errors import SidemirrorError

_MIB = 1024 * 1024
# A backup yields to the rest of the machine as searches do (storage/sqlite/memory_process.py).
_NICER_BY = 5


def backup(flags: Mapping[str, str], file: str, *, as_json: bool) -> int:
    """Copies the store to `file` and prints what is in it; returns the exit code. Raises BadSettings."""
    os.nice(_NICER_BY)
    try:
        made = back_up_store(load(flags), Path(file))
    except SidemirrorError as error:
        return _failed(error)
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
    except (OSError, ValueError) as error:
        print(f"sidemirror: {erased}: {error}", file=sys.stderr)
        return EXIT_FAILED
    try:
        made = restore_store(load(flags), Path(file), replace=replace, buried=buried)
    except SidemirrorError as error:
        return _failed(error)
    facts = _facts(msgspec.structs.asdict(made.holds))
    if as_json:
        kept = {"replaced_file": str(made.replaced)} if made.replaced else {}
        again = {"erased": made.erased} if made.erased else {}
        print(json.dumps({"folder": str(made.folder), **facts, **kept, **again}, indent=2))
        return 0
    print(f"{made.folder} has the store of {file} now: {_in_words(facts)}.")
    if facts["migrations"] < facts["known_migrations"]:
        print("The next `sidemirror serve` brings its schema up to date.")
    if made.erased:
        print(f"{made.erased:,} of its records were erased again.")
    if made.replaced:
        print(f"The store from before is {made.replaced}.")
    return 0


def _failed(error: SidemirrorError) -> int:
    """Prints what is wrong with which file or folder; returns the exit code."""
    named = next((f"{error.facts[fact]}: " for fact in ("file", "folder") if fact in error.facts), "")
    print(f"sidemirror: {named}{error.facts['reason']}", file=sys.stderr)
    return EXIT_FAILED


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
