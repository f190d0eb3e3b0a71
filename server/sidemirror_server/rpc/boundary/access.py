"""The access file: who may call, and whose data each caller may see.

    {"tokens": [
        {"name": "checkout", "token": "<32 random bytes, in hex or base64>", "expires": "2027-01-01T00:00:00Z",
         "grants": [{"tenant_id": "acme", "project_id": "shop"}]},
        {"name": "platform", "sha256": "<of the token, in hex>", "grants": [{"tenant_id": "*"}], "admin": true}
    ]}

An admin's token may also see and set the policies of what it is granted. Several tokens may have the same grants, so
that tokens can be rotated. `serve` and `doctor` read the file.
"""

import datetime
import hashlib
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from sidemirror_server.rpc.boundary.secret_files import CannotUse, Emptied, read_secret
from sidemirror_server.vocabulary.scope import Scope

ANY = "*"
# The least characters of a token: 20 hex characters are 80 bits, too many to guess over a network.
_LEAST = 20
Name = Annotated[str, Meta(min_length=1, max_length=128)]


class Grant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tenant and one of its projects; `*` matches every tenant or project."""

    tenant_id: Name
    project_id: Name = ANY

    def covers(self, scope: Scope) -> bool:
        """Whether the grant includes this scope."""
        return self.tenant_id in (ANY, scope.tenant_id) and self.project_id in (ANY, scope.project_id)


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token as the file gives it: in plain text, or as its SHA-256 so that the file holds no usable secret."""

    name: Name
    grants: Annotated[tuple[Grant, ...], Meta(min_length=1)]
    token: Annotated[str, Meta(min_length=_LEAST, max_length=1024, pattern=r"^[\x21-\x7e]+$")] = ""
    sha256: Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")] = ""
    expires: Annotated[datetime.datetime, Meta(tz=True)] | None = None
    admin: bool = False


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tokens: tuple[_Entry, ...]


class Token(msgspec.Struct, frozen=True):
    """A known token. `digest`: its SHA-256; `name`: for people and logs; `expires_us` None: never expires. `admin`:
    whether it may see and set policies. `reads_only`: whether it may call only what changes nothing, as the token of a
    page of the console. `is_shared`: whoever uses the machine has it, so that it names no caller."""

    name: str
    digest: bytes
    grants: tuple[Grant, ...]
    expires_us: int | None
    admin: bool = False
    reads_only: bool = False
    is_shared: bool = False

    def covers(self, scope: Scope) -> bool:
        """Whether one of the token's grants includes this scope."""
        return any(grant.covers(scope) for grant in self.grants)

    def granted(self) -> tuple[str, str]:
        """The tenant and the project that it is good for; each empty where these are several or all."""
        tenants = {grant.tenant_id for grant in self.grants}
        projects = {grant.project_id for grant in self.grants} if len(tenants) == 1 else set()
        tenant_id, project_id = (next(iter(one)) if len(one) == 1 else ANY for one in (tenants, projects))
        return ("" if tenant_id == ANY else tenant_id, "" if project_id == ANY else project_id)

    def own_scope(self, sidecars: Scope) -> Scope | None:
        """The scope for requests of this token that name no scope: the sidecar's own if the token covers it, else that
        of the only tenant that the token is granted; its project is the only one granted, or the sidecar's if it is
        granted several (decision 003). None if the token is not granted that scope, or several tenants."""
        if self.covers(sidecars):
            return sidecars
        tenant_id, project_id = self.granted()
        own = Scope(tenant_id, project_id or sidecars.project_id)
        return own if tenant_id and self.covers(own) else None


def read_access(path: Path) -> tuple[Token, ...]:
    """The file's tokens, in the file's order. Raises CannotUse, whose text never contains a token; Emptied
    when there is no file or no token in it."""
    raw = read_secret(path)
    if not raw.strip():
        raise Emptied(f"{path}: the file is empty")
    try:
        entries = msgspec.json.decode(raw, type=_File).tokens
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        # msgspec's message names the field and the expected type, never the value.
        raise CannotUse(f"{path}: {_plainly(str(error))}") from error
    if not entries:
        raise Emptied(f"{path}: there is no token in it, so that nobody could call")
    tokens = tuple(_token(path, entry) for entry in entries)
    by_name: dict[str, Token] = {}
    by_digest: dict[bytes, Token] = {}
    for token in tokens:
        if by_name.setdefault(token.name, token) is not token:
            raise CannotUse(f"{path}: two tokens have the same name, {token.name}")
        if (other := by_digest.setdefault(token.digest, token)) is not token:
            raise CannotUse(
                f"{path}: {other.name} and {token.name} are the same token: make another one, "
                "or one entry with the grants of both"
            )
    return tokens


# Field of an entry → what it must hold. For these fields msgspec's own message says little.
_MEANT = {
    "token": "20 to 1,024 printable characters without blanks are expected, such as `openssl rand -hex 32` makes",
    "sha256": "64 small hexadecimal digits are expected",
    "expires": "a time with its zone is expected, such as 2027-01-01T00:00:00Z",
}


def _plainly(error: str) -> str:
    """A readable error: the message of `_MEANT` if the field has one, else msgspec's own."""
    _, _, place = error.partition(" - at `$.")
    place = place.rstrip("`")
    meant = _MEANT.get(place.rpartition(".")[2])
    return f"{place}: {meant}" if meant else error


def _token(path: Path, entry: _Entry) -> Token:
    if bool(entry.token) == bool(entry.sha256):
        raise CannotUse(f"{path}: {entry.name}: either `token` or `sha256` is expected")
    digest = bytes.fromhex(entry.sha256) if entry.sha256 else digest_of(entry.token)
    expires_us = None if entry.expires is None else int(entry.expires.timestamp() * 1_000_000)
    return Token(entry.name, digest, entry.grants, expires_us, entry.admin)


def fingerprint_of(token: str) -> str:
    """What may be said of a token, so that whoever has it finds it: `sha256:` and 8 hexadecimal digits. Empty for one
    that no access file would take: it may be a word that eight digits are enough to guess (decision 103)."""
    return fingerprint_by(digest_of(token)) if len(token) >= _LEAST else ""


def fingerprint_by(digest: bytes) -> str:
    """The same of a token of an access file, by its SHA-256."""
    return f"sha256:{digest.hex()[:8]}"


def digest_of(token: str) -> bytes:
    """The SHA-256 by which the server recognises a token."""
    return hashlib.sha256(token.encode()).digest()
