"""The pairs of pointing can be read, and a pair that is not as it should be is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.critique.material import evidence_of
from sidemirror_server.critique.verdict import verdict_of
from sidemirror_server.models.adapters.rules.critique import critique_answer
from sidemirror_server.models.adapters.rules.pointing.points import points_of
from tests.critique.recorded_pairs import KINDS, SCORED_AUTHORS, Pair, all_pairs, pairs_in, right_answers

PAIR = {
    "id": "example-01",
    "kind": "count",
    "request": "How many open tickets are there?",
    "tools": [{"name": "search_tickets", "arguments": {"state": "open"}, "content": {"count": 41}}],
    "wrong": "There are 42 open tickets.",
    "right": "There are 41 open tickets.",
    "answer_quote": "42 open tickets",
    "record_quote": '"count": 41',
}


def written(folder: Path, *pairs: dict[str, Any]) -> Path:
    path = folder / "example.json"
    path.write_text(json.dumps(pairs))
    return path


def test_every_file_can_be_read() -> None:
    pairs = all_pairs()
    assert len({pair.id for pair in pairs}) == len(pairs)
    assert {pair.kind for pair in pairs} <= set(KINDS)


def test_a_tool_that_speaks_json(tmp_path: Path) -> None:
    (pair,) = pairs_in(written(tmp_path, PAIR))
    material = pair.material(pair.wrong)
    assert (material.results[0].arguments, material.results[0].text) == ('{"state": "open"}', '{"count": 41}')
    assert material.response == PAIR["wrong"]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"id": "other-01"}, "id"),
        ({"request": " "}, "request"),
        ({"right": PAIR["wrong"]}, "right"),
        ({"answer_quote": "43 open"}, "answer_quote"),
        ({"record_quote": '"count": 4 1'}, "record_quote"),
        ({"answer_quote": "", "record_quote": ""}, "answer_quote"),
        ({"kind": "mood"}, "kind"),
        ({"more": 1}, "more"),
    ],
)
def test_a_pair_that_is_not_as_it_should_be(tmp_path: Path, changed: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        pairs_in(written(tmp_path, PAIR | changed))


def test_an_id_that_stands_twice(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two pairs"):
        pairs_in(written(tmp_path, PAIR, PAIR))


def test_no_right_answer_is_asked_to_be_revised() -> None:
    asked = []
    for pair in all_pairs():
        material = pair.material(pair.right)
        if verdict_of(critique_answer(evidence_of(material)), material).should_revise:
            asked.append(pair.id)
    assert asked == []


def test_nothing_of_the_right_answers_of_strangers_is_pointed_at() -> None:
    """Seen to fail: a deed that is denied, a state that was changed after it was read, a polite order, a sum; and of
    those that were written last a failure told in words that were not known, or in another language, a letter that was
    asked for, what somebody else has said, and dollars of Canada."""
    pointed = [
        (answer.request, points)
        for answer in right_answers()
        if (points := points_of(evidence_of(answer.material), answer.right))
    ]
    assert pointed == []
    asked = [
        answer.right
        for answer in right_answers()
        if verdict_of(critique_answer(evidence_of(answer.material)), answer.material).should_revise
    ]
    assert asked == []


def test_what_was_scored_is_seen_and_of_others_a_third() -> None:
    def seen(author: str) -> list[bool]:
        return [Pair(f"{author}-{place:02}", "count", "", (), "", "", "", "").is_seen for place in range(300)]

    scored = "ann bob cid dee eve fox gil hal ivy jan kim lea nia oli pat quin ray sue tom"
    assert frozenset(scored.split()) == SCORED_AUTHORS == {pair.author for pair in all_pairs()}
    assert all(all(seen(author)) for author in SCORED_AUTHORS)
    assert 75 < sum(seen("gus")) < 125
