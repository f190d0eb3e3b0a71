"""The checksum of a backup: its last bytes, which SQLite does not read.

The size of a store is a multiple of the size of its pages, and so of 512 bytes; with the checksum it never is. So no
changed byte makes a backup look like one of a version that had no checksum.
"""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

from sidemirror_server.vocabulary.errors import StoreDamaged

# The number is the format's: a later one may differ in all that follows it.
_MARK = b"\nsidemirror-backup-1 sha256:"
CHECKSUM_BYTES = len(_MARK) + 2 * hashlib.sha256().digest_size + 1
_SMALLEST_PAGE_BYTES = 512
_AT_ONCE_BYTES = 1024 * 1024


def add_checksum(descriptor: int) -> None:
    """Appends the checksum of all that the file has so far, and syncs it. The file is open for both."""
    digest, at = hashlib.sha256(), 0
    while part := os.pread(descriptor, _AT_ONCE_BYTES, at):
        digest.update(part)
        at += len(part)
    os.pwrite(descriptor, _ending(digest.hexdigest()), at)
    os.fsync(descriptor)


def copy_checked(file: Path, target: BinaryIO) -> bool:
    """Copies the store of a backup; returns whether the backup had a checksum. Raises StoreDamaged when its bytes are
    not those that the checksum was made of, and OSError."""
    digest = hashlib.sha256()
    with file.open("rb") as source:
        size_bytes = os.fstat(source.fileno()).st_size
        has_checksum = size_bytes % _SMALLEST_PAGE_BYTES != 0
        left_bytes = size_bytes - CHECKSUM_BYTES if has_checksum else size_bytes
        while part := source.read(max(0, min(left_bytes, _AT_ONCE_BYTES))):
            digest.update(part)
            target.write(part)
            left_bytes -= len(part)
        if has_checksum and source.read() != _ending(digest.hexdigest()):
            reason = "it is not as it was made: its bytes and its checksum differ"
            raise StoreDamaged(file=str(file), reason=reason)
    return has_checksum


def _ending(digest: str) -> bytes:
    return _MARK + digest.encode() + b"\n"
