"""The door's own token, for a sidecar without an access file: made at the first start, in the data folder.

Every HTTP call needs a token, on loopback too: a page in a browser can post to loopback, and a name can be made to
point there. Neither can read a file.
"""

import contextlib
import os
import secrets
from pathlib import Path

from sidemirror_server.rpc.boundary.access import ANY, Grant, Token, digest_of
from sidemirror_server.rpc.boundary.secret_files import CannotUse, Emptied, read_secret

_NAME = "http"
# As in the access file: 20 characters of hex are too many to guess over a network.
_SHORTEST = 20


def make_token(path: Path) -> None:
    """Writes a new token with mode 0600, unless the file exists. Raises CannotUse when that cannot be done."""
    # Of two sidecars that start at once, one writes the file that both read.
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
                file.write(f"{secrets.token_hex(32)}\n")
            with contextlib.suppress(FileExistsError):
                os.link(new, path)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        raise CannotUse(f"{path}: {error.strerror}") from error


def read_token(path: Path) -> tuple[Token, ...]:
    """The token of the file, which may speak for every tenant as any caller without a token may over gRPC. Raises
    CannotUse; Emptied when the file is missing or empty."""
    token = read_secret(path).decode("ascii", "replace").strip()
    if not token:
        raise Emptied(f"{path}: the file is empty")
    if len(token) < _SHORTEST:
        raise CannotUse(f"{path}: the token is shorter than {_SHORTEST} characters")
    return (Token(_NAME, digest_of(token), (Grant(ANY, ANY),), expires_us=None, admin=True, is_shared=True),)
