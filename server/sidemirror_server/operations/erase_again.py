"""`sidemirror erase --again`: applies tombstones to stores that came from a backup, before a sidecar serves them."""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from sidemirror_server.assembly import erase_again as apply_again
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.erase import buried_in
from sidemirror_server.settings import load
from sidemirror_server.vocabulary.errors import SidemirrorError, StoreRefused, StoreUnavailable


def erase_again(flags: Mapping[str, str], file: str, *, as_json: bool) -> int:
    """Erases what the tombstones in `file` name, in the stores of the settings; returns the exit code. Raises
    BadSettings."""
    try:
        buried = buried_in(Path(file).read_text().splitlines())
    except OSError as error:
        print(f"sidemirror: {file}: {error.strerror}", file=sys.stderr)
        return exit_codes.NO_INPUT
    except ValueError as error:
        print(f"sidemirror: {file}: {error}", file=sys.stderr)
        return exit_codes.DATA
    try:
        count = asyncio.run(apply_again(load(flags), buried))
    except SidemirrorError as error:
        told = f"{error.facts['folder']}: {error.facts['reason']}" if "folder" in error.facts else error
        print(f"sidemirror: {told}", file=sys.stderr)
        is_away = isinstance(error, StoreUnavailable) and not isinstance(error, StoreRefused)
        return exit_codes.UNAVAILABLE if is_away else exit_codes.FAILED
    print(json.dumps({"erased": count}) if as_json else f"{count:,} of the records were erased again.")
    return 0
