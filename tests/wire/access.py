"""Access files and certificates for tests."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import trustme

# Each is 64 characters long, as 32 random bytes in hex are.
ACME = "a1" * 32
INTRUDER = "b2" * 32
EXPIRED = "c3" * 32
UNKNOWN = "d4" * 32
EVERYWHERE = "e5" * 32


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


def entry(name: str, token: str, *grants: tuple[str, str], **more: str | bool) -> dict[str, Any]:
    """A token of the file; without grants it is good for the tenant of its name."""
    scopes = [{"tenant_id": tenant, "project_id": project} for tenant, project in grants or ((name, "*"),)]
    return {"name": name, "token": token, "grants": scopes, **more}


def write_access(path: Path, entries: Sequence[dict[str, Any]] | None = None, mode: int = 0o600) -> Path:
    """The file, written anew as a whole. Without entries the intruder is an admin, of its own tenant."""
    if entries is None:
        entries = [
            entry("acme", ACME),
            entry("intruder", INTRUDER, admin=True),
            entry("old", EXPIRED, expires="2026-01-01T00:00:00Z"),
        ]
    new = path.with_suffix(".new")
    new.touch(mode=mode)
    new.chmod(mode)
    new.write_text(json.dumps({"tokens": list(entries)}))
    new.replace(path)
    return path


class Certificates:
    """An authority, and files with what it has issued."""

    def __init__(self, folder: Path, name: str = "sidecar.test") -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.authority = trustme.CA()
        self.ca = folder / "ca.pem"
        self.authority.cert_pem.write_to_path(str(self.ca))
        self.certificate, self.key = folder / "tls.crt", folder / "tls.key"
        self.issue(name, "localhost", "127.0.0.1")

    def issue(self, *names: str) -> None:
        """A new certificate in place of the server's, for these names."""
        issued = self.authority.issue_cert(*names)
        self.certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        self.key.touch(mode=0o600)
        self.key.write_bytes(issued.private_key_pem.bytes())

    def of_client(self) -> tuple[bytes, bytes]:
        """Key and certificate for a client."""
        issued = self.authority.issue_cert("agent@sidecar.test")
        return issued.private_key_pem.bytes(), issued.cert_chain_pems[0].bytes()

    def settings(self) -> dict[str, str]:
        return {"tls__certificate_file": str(self.certificate), "tls__key_file": str(self.key)}
