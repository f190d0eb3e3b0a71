"""Judgements by hand: how they are read, how agreement is counted, and what a draw takes."""

import json
from pathlib import Path

import pytest

from bench.judging import __main__ as judging
from bench.judging import drawing
from bench.judging.drawing import drawn
from bench.judging.entry import Entry
from bench.judging.shares import Verdict, agreement, kind_of, read, report
from bench.split import Part
from tests.bench.test_recoveries import made

USEFUL, NEITHER, WRONG = Verdict.USEFUL, Verdict.NEITHER, Verdict.WRONG


def entry(name: str, signature: str = "") -> Entry:
    return Entry(name, "lesson", "tau", "g", signature, "task", (), "said", ())


def test_agreement_beyond_chance() -> None:
    """Cohen's own measure: 20 and 15 of 50 alike, 5 and 10 not, is .4."""
    verdicts = [(USEFUL, USEFUL)] * 20 + [(USEFUL, NEITHER)] * 5 + [(NEITHER, USEFUL)] * 10 + [(NEITHER, NEITHER)] * 15
    one, other = ({str(at): pair[judge] for at, pair in enumerate(verdicts)} for judge in (0, 1))
    found = agreement(one, other)
    assert (found.both, found.alike, round(found.kappa, 6)) == (50, 35, 0.4)


def test_only_what_both_judged_counts_for_agreement() -> None:
    assert agreement({"a": USEFUL, "b": WRONG}, {"a": USEFUL, "c": WRONG}) == (1, 1, 1.0)
    assert agreement({"a": USEFUL}, {"b": USEFUL}).both == 0


@pytest.mark.parametrize(
    "line", ["no json", '{"verdict": "useful"}', '{"id": "a/b/nudge", "verdict": "fine"}', '["a"]', "7"]
)
def test_what_is_no_judgement_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "nudges-1.jsonl"
    path.write_text('{"id": "x/e1/nudge", "verdict": "useful"}\n' + line + "\n")
    with pytest.raises(ValueError, match=r"nudges-1\.jsonl, line 2"):
        read(path)


def test_an_entry_is_judged_once(tmp_path: Path) -> None:
    path = tmp_path / "items-2.jsonl"
    path.write_text('{"id": "x/e1/lesson-1", "verdict": "useful"}\n' * 2)
    with pytest.raises(ValueError, match="judged twice"):
        read(path)


def test_shares_are_told_by_kind() -> None:
    assert kind_of("run/1/start/lesson-2") == "lesson at a start"
    lines = report("items", {"a/e1/recovery-1": USEFUL, "a/start/lesson-1": WRONG}, {"a/e1/recovery-1": USEFUL})
    assert any(line.startswith("| both, recovery | 2 | 100.0%") for line in lines)
    assert any(line.startswith("| both, lesson at a start | 1 | 0.0%") for line in lines)


def test_a_draw_takes_one_of_a_run_and_few_of_a_signature() -> None:
    every = [entry(f"run {run}/e{event}/lesson-1", f"s{run % 3}") for run in range(30) for event in range(4)]
    found = drawn(every, 20, of_signature=2)
    assert len(found) == 6
    assert len({one.id.split("/")[0] for one in found}) == 6
    assert found == drawn(reversed(every), 20, of_signature=2)


def test_what_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nudges-1.jsonl").write_text(json.dumps({"id": "a/e1/nudge", "verdict": "useful"}))
    judging.main(["agree", str(tmp_path)])
    assert "not judged yet: nudges-2.jsonl" in capsys.readouterr().out


def test_a_draw_from_the_tuning_part_tells_a_group_nothing_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail where all of the part is learned from."""
    every = {Part.TUNING: [made(number) for number in range(12)], Part.RESERVED: [made(20)]}
    monkeypatch.setattr(drawing, "runs", lambda data, corpus, part: every[part])
    halves = list(drawing.taught_and_asked("made", Part.TUNING))
    assert len(halves) == 2
    for taught, asked in halves:
        assert taught
        assert not {run.group for run in taught} & {run.group for run in asked}
    assert {run.episode_id for _, asked in halves for run in asked} == {run.episode_id for run in every[Part.TUNING]}
    assert list(drawing.taught_and_asked("made", Part.RESERVED)) == [(every[Part.TUNING], every[Part.RESERVED])]
