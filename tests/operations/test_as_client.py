"""Commands against a sidecar that speaks TLS and asks for a token."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.product import run
from tests.wire.access import ACME, UNKNOWN, Certificates, entry, write_access
from tests.wire.test_tls import serving

COMMANDS = [
    ("health",),
    ("usage",),
    ("goals", "list"),
    ("memory", "search"),
    ("memory", "export"),
    ("memory", "import", "/dev/null"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
async def test_a_command_shows_what_the_environment_names(command: tuple[str, ...], tmp_path: Path) -> None:
    """Authorities of both sides, and a token. Health needs none."""
    made = Certificates(tmp_path / "tls", "127.0.0.1")
    key, chain = made.of_client()
    (tmp_path / "client.key").write_bytes(key)
    (tmp_path / "client.crt").write_bytes(chain)
    for name, token in (("token", ACME), ("other", UNKNOWN)):
        (tmp_path / name).write_text(f"{token}\n")
    access = write_access(tmp_path / "access.json", [entry("all", ACME, ("*", "*"))])
    settings = {**made.settings(), "access_file": str(access), "tls__client_ca_file": str(made.ca)}
    shown = {
        "SIDEMIRROR_CA_FILE": str(made.ca),
        "SIDEMIRROR_CLIENT_CERTIFICATE_FILE": str(tmp_path / "client.crt"),
        "SIDEMIRROR_CLIENT_KEY_FILE": str(tmp_path / "client.key"),
        "SIDEMIRROR_TOKEN_FILE": str(tmp_path / "token"),
    }
    async with serving(tmp_path, **settings) as address:

        async def code(**environment: Any) -> int:
            target = address.replace("localhost", "127.0.0.1")
            told = await asyncio.to_thread(run, *command, "--address", target, **environment)
            assert "Traceback" not in told.stderr
            return told.returncode

        assert await code(**shown) == 0
        assert await code() != 0
        other = await code(**{**shown, "SIDEMIRROR_TOKEN_FILE": str(tmp_path / "other")})
        assert (other == 0) == (command == ("health",))
