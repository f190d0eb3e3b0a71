"""The rules that every store's migrations keep, without a store."""

from pathlib import Path

import pytest

from sidemirror_server.storage.migration import Applied, Migration, check_same, missing, read_files, unknown
from sidemirror_server.vocabulary.errors import StoreRefused

ONE, TWO, THREE = (Migration(number, "m", "", f"{number}") for number in (1, 202611221530, 202611221531))


def applied(*migrations: Migration) -> list[Applied]:
    return [Applied(one.number, one.name, one.checksum) for one in migrations]


def files(folder: Path, *names: str) -> list[str]:
    """What is read of a folder with these files, by number and name."""
    for path in folder.iterdir():
        path.unlink()
    for name in names:
        (folder / name).write_text(f"-- {name}")
    return [f"{migration}.sql" for migration in read_files(folder)]


def test_files_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    names = ["0001_one.sql", "0002_two.sql", "202611221530_three.sql", "202701010000_four.sql"]
    assert files(tmp_path, *reversed(names)) == names
    (tmp_path / "0001_one.sql").write_text("SELECT 1;")
    first = read_files(tmp_path)[0]
    assert (first.number, first.name, first.script) == (1, "one", "SELECT 1;")
    assert first.checksum == "17db4fd369edb9244b9f91d9aeed145c3d04ad8ba6e95d06247f07a63527d11a"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("0003_three.sql", r"0003_three\.sql: migration 0002_"),
        ("202613010000_no_month.sql", "YYYYMMDDHHMM"),
        ("202612320000_no_day.sql", "YYYYMMDDHHMM"),
        ("202612312400_no_hour.sql", "YYYYMMDDHHMM"),
        ("202612312360_no_minute.sql", "YYYYMMDDHHMM"),
        ("20261231_no_time.sql", "YYYYMMDDHHMM"),
        ("202611221530_Name.sql", "YYYYMMDDHHMM"),
        ("202611221530_b.sql", r"202611221530_b\.sql: 202611221530_a\.sql has this number too"),
    ],
)
def test_other_names_are_refused(name: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=reason):
        files(tmp_path, "0001_one.sql", "202611221530_a.sql", name)


def test_what_a_store_lacks_and_what_it_has_beyond() -> None:
    assert missing(applied(ONE), (ONE, TWO, THREE)) == (TWO, THREE)
    assert missing(applied(ONE, THREE), (ONE, TWO, THREE)) == (TWO,)
    assert missing(applied(ONE, TWO), (ONE, TWO)) == ()
    assert unknown(applied(ONE, TWO, THREE), (ONE, THREE)) == tuple(applied(TWO))
    assert unknown(applied(ONE), (ONE, TWO)) == ()


def test_an_applied_migration_is_the_known_one() -> None:
    check_same("sqlite", applied(ONE, TWO), (ONE, THREE))
    with pytest.raises(StoreRefused, match="migration 202611221530_m is not the one this server has"):
        check_same("sqlite", [*applied(ONE), Applied(202611221530, "m", "other")], (ONE, TWO, THREE))
