"""A scratch home, with the data folder of a sidecar beside it."""

from pathlib import Path

import pytest

# Where nobody listens.
NOWHERE = "127.0.0.1:1"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home, empty."""
    made = tmp_path / "home"
    made.mkdir()
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.setenv("SIDEMIRROR_DATA_DIR", str(tmp_path / "data"))
    # Not the developer's own sidecar.
    monkeypatch.setenv("SIDEMIRROR_HTTP_ADDRESS", NOWHERE)
    return made
