"""Sidecars for the hooks of every host."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.hooks.learned import tell_at_once
from tests.http.hooks.recorded_turns import SETTINGS, made
from tests.http.sidecars import door
from tests.wire.sidecar import SidecarThread


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    """One that tells whatever it has learned. Tests keep apart by repository."""
    with pytest.MonkeyPatch.context() as patched:
        tell_at_once(patched)
        with door(tmp_path_factory.mktemp("hooks"), SETTINGS) as running:
            yield running


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return made(tmp_path / "shop")
