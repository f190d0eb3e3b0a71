"""Reflect and GenerateReflection find the decisive step of a failed run, in one way and as often as promised.

`who_and_when` (mingyin1/Agents_Failure_Attribution): runs of several agents, in which people marked a step and an
agent. What they marked only measures; the sidecar gets the events alone. The figures of the halves that the rules were
and were not tuned on are in `tests/models/test_attribution.py`.
"""

from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.operations.episodes import Episode, read_episodes, turns_of
from tests.faults.figures import show
from tests.recorded import episodes, recordings
from tests.wire.calls import TIMEOUT_S
from tests.wire.sidecar import sidecar, thinking

pytestmark = pytest.mark.slow("107 recorded runs through two RPCs")

# Design, section 18.
LEAST_STEP, LEAST_AGENT = 0.30, 0.58


def events_of(episode: Episode) -> list[pb.TurnEvent]:
    """All events of an episode, as those of one turn."""
    every = [event for turn in turns_of(episode, "", pb.ThinkingConfig()) for part in turn.parts for event in part]
    return [event for event in every if event.WhichOneof("kind") not in ("turn_started", "turn_finished")]


def test_both_find_the_same_step(tmp_path: Path) -> None:
    """Seen to fail when GenerateReflection cites what the lesson speaks of first."""
    data = recordings()
    marked = episodes("who_and_when")
    found: list[tuple[str, str, str]] = []
    with sidecar(tmp_path) as server, thinking(server) as turns, grpc.insecure_channel(server.address) as channel:
        memory = ReflectiveMemoryServiceStub(channel)
        for episode in read_episodes(data / "episodes" / "who_and_when.jsonl.gz"):
            assert isinstance(episode, Episode)
            events, task = events_of(episode), episode.task.description or ""
            start = pb.StartTurnRequest(session_id=episode.episode_id, user_message=task)
            turn_id = turns.StartTurn(start, timeout=TIMEOUT_S).plan.turn_id
            turns.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events), timeout=TIMEOUT_S)
            reflected = turns.Reflect(pb.ReflectRequest(turn_id=turn_id), timeout=TIMEOUT_S).result
            asked = memory_pb.GenerateReflectionRequest(turn_id=turn_id, outcome=common_pb2.TASK_OUTCOME_FAILURE)
            lesson = memory.GenerateReflection(asked, timeout=TIMEOUT_S).result
            found.append((episode.episode_id, reflected.cited_event_ids[0], lesson.source_event_ids[0]))
    for place, rpc in ((1, "Reflect"), (2, "GenerateReflection")):
        steps = agents = 0
        for one in found:
            run, event = marked[one[0]], int(one[place].rpartition("/")[2])
            steps += event == run["labels"]["mistake_event_index"]
            agents += str(run["events"][event]["name"]).split(" (")[0] == run["labels"]["mistake_agent"]
        step, agent = steps / len(found), agents / len(found)
        show(f"{rpc}: step {step:.1%}, agent {agent:.1%} of {len(found)} runs")
        assert step >= LEAST_STEP
        assert agent >= LEAST_AGENT
    # A turn keeps its first and last steps, and texts cut; an episode has more of both.
    same = sum(one[1] == one[2] for one in found)
    show(f"the same step in {same} of {len(found)} runs")
    assert same >= 0.9 * len(found)
