"""Failures recorded in `../shared/data/episodes/intercode.jsonl.gz`: is the same one recognised, across wordings?

`recurrence_judgements.jsonl` holds pairs of failed calls, named by episode and event, that had one signature, and
whether one lesson answers both, as judged by reading both. Strictly: two texts of a shell that differ in what was wrong
with the command are not the same. The pairs were drawn at random (seed 20261123) after the rule was made on other
samples: 60 of two wordings of one signature, the signatures by turns; 40 of failures as often as they occur. Two
wordings are two telling lines that differ when their details are masked.
"""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from sidemirror_server.memory.kin.signature import error_signature
from sidemirror_server.trace.failure import masked, telling_line
from tests.faults.figures import show
from tests.recorded import episodes

_LINES = Path(__file__).with_name("recurrence_judgements.jsonl").read_text(encoding="utf-8").splitlines()
JUDGED = [json.loads(line) for line in _LINES]
# The precision that was found, and the least that may be left of it.
FOUND = {"across wordings": (48, 60), "as they occur": (37, 40)}


def failure(episode_id: str, number: int) -> tuple[str, str]:
    (event,) = [one for one in episodes("intercode")[episode_id]["events"] if one["i"] == number]
    return event["name"], event["content"]


def test_the_precision_of_recurrence() -> None:
    """Prints it: of pairs that have one signature, how many are the same failure by a person's judgement."""
    right: Counter[str] = Counter()
    judged: Counter[str] = Counter()
    for pair in JUDGED:
        one, other = (error_signature(*failure(*pair[name])) for name in ("one", "other"))
        if one and one == other:
            judged[pair["sample"]] += 1
            right[pair["sample"]] += pair["same"]
    told = {name: f"{right[name]} of {judged[name]}: {right[name] / judged[name]:.0%}" for name in judged}
    show(f"recurrence, precision by hand: {told}")
    for name, (found, of) in FOUND.items():
        assert right[name] / judged[name] >= found / of - 0.01
        assert judged[name] >= 0.9 * of, "the rule has changed: judge a new sample"


def test_wordings_of_one_failure_come_together() -> None:
    """Prints how many: before, a failure was known by its masked line alone."""
    failed: list[Any] = [
        event
        for episode in episodes("intercode").values()
        for event in episode["events"]
        if event["type"] == "tool_error"
    ]
    wordings: dict[str, set[str]] = defaultdict(set)
    signed = 0
    for event in failed:
        signature = error_signature(event["name"], event["content"])
        if signature:
            signed += 1
            wordings[signature].add(f"{event['name']}|{masked(telling_line(event['content']))}")
    lines = {line for every in wordings.values() for line in every}
    show(f"{len(failed)} failures, {signed} with a signature: {len(lines)} wordings, {len(wordings)} signatures")
    assert (len(failed), signed) == (7_515, 7_330)
    assert len(wordings) < 0.55 * len(lines)
    assert sum(len(every) > 1 for every in wordings.values()) >= 30
