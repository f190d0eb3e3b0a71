"""What the verdicts of `rules` are worth on recorded answers: printed, and held to the goal.

Labels are for measuring only. What the weights in `models/adapters/rules/support.py` and `comparison.py` were chosen
on is the part that is not held back; a question is in one part only.
"""

import hashlib
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from sidemirror_server.critique.gate import should_critique
from sidemirror_server.critique.material import CritiqueMaterial, ToolEvidence, evidence_of
from sidemirror_server.critique.verdict import verdict_of
from sidemirror_server.models.adapters.rules.comparison import comparison_answer
from sidemirror_server.models.adapters.rules.critique import SIGNIFICANT, critique_answer
from sidemirror_server.models.adapters.rules.response import Response
from sidemirror_server.models.adapters.rules.support import support_of
from tests.recorded import read_rows, recordings

GOAL = 0.65


def is_held_back(row: dict[str, Any]) -> bool:
    """A third, by a fixed hash of the question, so that it is always the same and shares no question with the rest."""
    prompt = " ".join(row["prompt"].split()).casefold()
    return int(hashlib.sha256(prompt.encode()).hexdigest(), 16) % 3 == 0


def material_of(row: dict[str, Any]) -> CritiqueMaterial:
    """The answer with what its tools returned. In these recordings a page that is not found is a tool's error."""
    results = tuple(ToolEvidence("search", text, text.startswith("Could not find")) for text in row["tool_results"])
    return CritiqueMaterial(row["prompt"], row["response"], results)


def auc(scored: list[tuple[float, bool]]) -> float:
    """How often a right answer has more support than a wrong one; half for a tie."""
    right = [score for score, correct in scored if correct]
    wrong = [score for score, correct in scored if not correct]
    return sum((one > other) + (one == other) / 2 for one in right for other in wrong) / len(right) / len(wrong)


def rows_of(name: str, *, held_back: bool) -> Iterator[dict[str, Any]]:
    return (row for row in read_rows(recordings() / "critique" / name) if is_held_back(row) is held_back)


@pytest.mark.parametrize("held_back", [False, True])
def test_support_against_what_was_correct(held_back: bool, capsys: pytest.CaptureFixture[str]) -> None:
    scored: list[tuple[float, bool]] = []
    flagged: defaultdict[tuple[str, bool], int] = defaultdict(int)
    for row in rows_of("outcome_labelled.jsonl.gz", held_back=held_back):
        material = material_of(row)
        verdict = verdict_of(critique_answer(evidence_of(material)), material)
        assert verdict.confidence is None
        assert verdict.dropped == 0
        response = Response(evidence_of(material), material.response)
        significant = sum(issue.kind in SIGNIFICANT for issue in verdict.issues)
        scored.append((support_of(response, significant), row["correct"]))
        flagged["revise", row["correct"]] += verdict.should_revise
        gate = should_critique([result.failed for result in material.results], len(material.response))
        flagged["gate", row["correct"]] += gate.should_critique
    sizes = {correct: sum(label is correct for _, label in scored) for correct in (True, False)}
    part = "held back" if held_back else "tuned on"
    with capsys.disabled():
        sys.stdout.write(f"\nrules, answers {part}: {len(scored)}, AUC {auc(scored):.3f}; ")
        for name in ("revise", "gate"):
            wrong, right = (flagged[name, label] / sizes[label] for label in (False, True))
            sys.stdout.write(f"{name}: {wrong:.1%} of the wrong, {right:.1%} of the right; ")
    assert auc(scored) >= GOAL
    assert flagged["revise", True] / sizes[True] < flagged["revise", False] / sizes[False]


@pytest.mark.parametrize("held_back", [False, True])
def test_preferences_against_peoples(held_back: bool, capsys: pytest.CaptureFixture[str]) -> None:
    agree: defaultdict[str, list[float]] = defaultdict(list)
    longer: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows_of("human_pairs.jsonl.gz", held_back=held_back):
        if row["human_label"] == "tie":
            continue
        wanted = "first" if row["human_label"] == "a" else "second"
        pair = (row["response_a"], row["response_b"])
        said = comparison_answer(evidence_of(CritiqueMaterial(row["prompt"], ""), pair)).better
        by_length = "tie" if len(pair[0]) == len(pair[1]) else "first" if len(pair[0]) > len(pair[1]) else "second"
        for found, answer in ((agree, said), (longer, by_length)):
            found[row["source"]].append(0.5 if answer == "tie" else float(answer == wanted))
    with capsys.disabled():
        sys.stdout.write(f"\nrules, pairs {'held back' if held_back else 'tuned on'} (agreement; longer wins):")
        for source in sorted(agree):
            ours, theirs = (sum(found[source]) / len(found[source]) for found in (agree, longer))
            sys.stdout.write(f"\n  {source:30} {len(agree[source]):4}  {ours:.3f}  {theirs:.3f}")
    every, by_length_alone = ([one for found in by.values() for one in found] for by in (agree, longer))
    assert sum(every) > sum(by_length_alone)
