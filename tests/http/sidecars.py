"""Sidecars with an HTTP door, in a thread or a process, and the door's own token."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.wire.sidecar import SidecarThread, sidecar

HTTP = {"http_address": "127.0.0.1:0"}


@contextmanager
def door(folder: Path, settings: dict[str, str] | None = None, **given: Any) -> Iterator[SidecarThread]:
    """A sidecar with an HTTP door on a free port."""
    with sidecar(folder, settings={**HTTP, **(settings or {})}, **given) as server:
        yield server


def token_of(folder: Path) -> str:
    """The door's own token, where there is no access file. `folder`: the data folder."""
    return (folder / "http-token").read_text().strip()
