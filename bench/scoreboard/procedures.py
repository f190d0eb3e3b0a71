"""Proced_mem_bench (github.com/qpiai/Proced_mem_bench, Apache-2.0), read from a clone of it.

336 trajectories of household tasks, and 40 questions with the trajectories that show how. These were judged by a
language model among those that share a word with the question; all others count as wrong. Nothing of it is kept here.
"""

import json
from pathlib import Path
from typing import Any

_INSIDE = "procedural_memory_benchmark"


def trajectories(clone: Path) -> dict[str, str]:
    """Each trajectory as one text: its task, then each state with what was done in it. By their ids."""
    read = _read(clone / _INSIDE / "data/corpus/agentinstruct_trajectories.json")["trajectories"]
    return {one["task_instance_id"]: _told(one) for one in read}


def _told(trajectory: dict[str, Any]) -> str:
    steps = (f"{pair['state']} -> {pair['action']}" for pair in trajectory["state_action_pairs"])
    return "\n".join([f"Task: {trajectory['task_description']}", *steps])


def questions(clone: Path) -> list[dict[str, Any]]:
    """Each question with the ids of the trajectories that are right."""
    read = _read(clone / _INSIDE / "benchmark/data/query_bank.json")["queries"]
    return [
        {"query": one["query_text"], "relevant": [right["trajectory_id"] for right in one["relevant_trajectories"]]}
        for one in read
    ]


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
