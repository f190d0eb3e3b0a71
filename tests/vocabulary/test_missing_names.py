"""What an error says does not exist."""

import pytest

from sidemirror_server.vocabulary.missing_names import missing_name


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ("ENOENT: no such file or directory, open 'package.json'", "package.json"),
        ("OSError: No such file or directory: 'a.js'", "a.js"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'x.csv'", "x.csv"),
        ("cat: notes.txt: No such file or directory", "notes.txt"),
        ("ENOENT: no such file or directory", ""),
    ],
)
def test_a_file_and_no_code(error: str, name: str) -> None:
    """Seen to fail: there was no file `ENOENT`, and three files that were tried counted as that one."""
    found = missing_name(error)
    assert (found.name if found else "") == name
