"""The one split of the recorded data: a rule that never changes, and sets in which no group is in both parts."""

from typing import Any

import pytest

from bench.split import Part, group_of, known_groups, part_of, rows_of, sets
from tests.recorded import read_rows, recordings


@pytest.mark.parametrize(
    ("group", "part"),
    [
        ("tau:airline:mia_li", "tuning"),
        ("hotpot:564e207d64e0", "reserved"),
        ("humaneval:111", "reserved"),
        ("pref:38620f9a202c", "reserved"),
        ("webshop:efd35ebce028", "tuning"),
        ("gaia:c126ea55429d", "tuning"),
        ("alfworld:env_3", "reserved"),
        ("", "tuning"),
    ],
)
def test_a_group_stays_in_its_part(group: str, part: str) -> None:
    assert part_of(group) == part


def test_a_third_is_reserved() -> None:
    assert sum(part_of(f"group {number}") is Part.RESERVED for number in range(30_000)) == 10_060


@pytest.mark.parametrize(
    ("row", "group"),
    [
        ({"episode_id": "e", "split_group": "swe:x"}, "swe:x"),
        ({"doc_id": "d", "task_key": "tau1:airline:0", "group": "tau:airline:mia_li"}, "tau:airline:mia_li"),
        ({"query_id": "q", "task_key": "tau1:airline:0"}, "tau:airline:mia_li"),
        ({"query_id": "q", "episode_id": "e", "task_key": "hotpot:1"}, "hotpot:1"),
        ({"item_id": "e", "prompt": "Question: …"}, "hotpot:2"),
        ({"episode_id": "e", "file": "tau_bench"}, "hotpot:2"),
    ],
)
def test_whose_a_row_is(row: dict[str, Any], group: str) -> None:
    assert group_of(row, {"e": "hotpot:2", "tau1:airline:0": "tau:airline:mia_li"}) == group


def test_a_row_of_no_known_episode_is_refused() -> None:
    with pytest.raises(KeyError):
        group_of({"item_id": "e"}, {})


def test_the_recorded_sets() -> None:
    """Every row lies in one part, and what is about one question or task lies in the same one."""
    data = recordings()
    known = known_groups(data)
    names = sets(data)
    assert len(names) == 19
    for name in names:
        parts = [list(rows_of(data, name, part, known)) for part in Part]
        assert sum(map(len, parts)) == sum(1 for _ in read_rows(data / f"{name}.jsonl.gz"))
        for field in ("prompt", "task_key"):
            tuning, reserved = ({row.get(field) for row in rows} - {None} for rows in parts)
            assert tuning.isdisjoint(reserved), (name, field)
    for name in ("reflexion_hotpot", "reflexion_programming", "tau_episodes"):
        for part in Part:
            docs = {row["doc_id"] for row in rows_of(data, f"retrieval/{name}.docs", part, known)}
            for query in rows_of(data, f"retrieval/{name}.queries", part, known):
                assert docs.issuperset(query["relevant"])
