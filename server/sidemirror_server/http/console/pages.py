"""Keeps what pages of the console are open, so that they go on after a restart of the sidecar.

A file in the data folder has a digest of each page's token and of the token that asked for it: whoever reads the file
can open nothing with it.
"""

import logging
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from sidemirror_server.rpc.boundary.secret_files import CannotUse, Emptied, read_secret

_log = logging.getLogger(__name__)


class Page(msgspec.Struct, frozen=True):
    """An open page. `digest`: of its token; `asker`: the digest of the token that asked for it."""

    digest: bytes
    asker: bytes
    expires_us: int


_in = msgspec.json.Decoder(list[Page])


class PageFile:
    """The file. A failure to read or write it is a warning in the log: pages then end with the sidecar."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[Page]:
        """The pages that were open, the oldest first; none where the file is missing."""
        try:
            return _in.decode(read_secret(self._path))
        except Emptied:
            return []
        except (CannotUse, msgspec.DecodeError) as error:
            _log.warning("console_pages_not_read", extra={"reason": str(error)})
            return []

    def write(self, pages: Sequence[Page]) -> None:
        """Replaces what the file has."""
        new = self._path.with_name(f"{self._path.name}.new")
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(msgspec.json.encode(pages))
            new.replace(self._path)
        except OSError as error:
            _log.warning("console_pages_not_written", extra={"reason": f"{self._path}: {error.strerror}"})
