from pathlib import Path

import pytest

from sidemirror_server.storage.sql import load_statements


def load(folder: Path, text: str) -> dict[str, str]:
    (folder / "some.sql").write_text(text)
    return dict(load_statements(folder / "some.sql"))


def test_statements_by_name(tmp_path: Path) -> None:
    text = "-- About the file.\n\n"
    text += "-- name: one\n-- What it does,\n-- and answers.\nSELECT 1\nFROM t\n\n"
    text += "-- name: two_b\n-- D.\nSELECT 2\n"
    assert load(tmp_path, text) == {"one": "SELECT 1\nFROM t", "two_b": "SELECT 2"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("-- name: one\nSELECT 1", "nothing describes one"),
        ("-- name: one\nSELECT 1\n-- too late", "nothing describes one"),
        ("-- name: one\n-- D.\n", "one is empty"),
        ("-- name: one\n-- D.\nSELECT 1\n-- name: one\n-- D.\nSELECT 1", "one comes twice"),
        ("-- name: One!\n-- D.\nSELECT 1", "'One!' is no name"),
        ("-- name:\n-- D.\nSELECT 1", "'' is no name"),
    ],
)
def test_refused(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=complaint):
        load(tmp_path, text)
