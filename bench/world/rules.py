"""Lives by the rules that the sidecar learns by, without the sidecar: all seeds in minutes.

`trail.py`, `moves.py` and `sentences.py` are the product's; what stands between them here (a turn's events, one telling
of a signature in a turn, rows by signature, one in ten withheld) is what `turns/` and `storage/` do for a sidecar. A
sidecar's reflections and nudges are not heard, so the figures are not to be mixed with those of `running.py`.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from bench.world.agent import Told
from bench.world.conventions import Call, World, world
from bench.world.running import HOUR_US, Arm, Lived, Trials, episode_of, outcome_of, plant
from sidemirror.v1 import common_pb2
from sidemirror_server.memory.recoveries.moves import SILENT_FRACTION, Recovery, recovery_of
from sidemirror_server.memory.recoveries.observation import Observation, Where
from sidemirror_server.memory.recoveries.sentences import said
from sidemirror_server.memory.recoveries.trail import Trail, apply, begin, close, end
from sidemirror_server.memory.recoveries.trail import told as noted
from sidemirror_server.memory.trials.evidence import is_held_back
from sidemirror_server.trace.event import Event, ToolCalled, ToolFailed, ToolReturned, origin_of
from sidemirror_server.vocabulary.ids import EventId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE

_CALL_US: Final = 1_000_000
_OUTCOMES: Final = {
    common_pb2.TASK_OUTCOME_SUCCESS: "success",
    common_pb2.TASK_OUTCOME_PARTIAL: "partial",
    common_pb2.TASK_OUTCOME_FAILURE: "failure",
}


class _Memory:
    """The observations of one world, and what they come to."""

    def __init__(self, withheld: float) -> None:
        self.withheld = withheld
        self.trials = Trials()
        self._rows: dict[str, list[Observation]] = defaultdict(list)
        self._known: dict[str, Recovery | None] = {}

    def recovery(self, signature: str) -> Recovery | None:
        if signature not in self._known:
            self._known[signature] = recovery_of(signature, self._rows[signature])
        return self._known[signature]

    def learn(self, rows: Sequence[Observation], held: dict[str, bool]) -> None:
        """Keeps rows. `held`: whether advice was withheld, by the signatures for which it was due."""
        for row in rows:
            self._rows[row.signature].append(row)
            self._known.pop(row.signature, None)
            if row.signature in held:
                self.trials = _counted(self.trials, row, is_held=held.pop(row.signature))


def _counted(trials: Trials, row: Observation, *, is_held: bool) -> Trials:
    shown, worked, held, held_worked = trials
    if is_held:
        return Trials(shown, worked, held + 1, held_worked + row.worked)
    return Trials(shown + 1, worked + row.worked, held, held_worked)


class _Turn:
    """A turn of an agent: folds its calls, and tells of recoveries."""

    def __init__(self, memory: _Memory, name: str, start_us: int) -> None:
        self._memory = memory
        self._name = name
        self._now_us = start_us
        self._calls = 0
        self._trail = Trail()
        self._held: dict[str, bool] = {}
        begin(self._trail, Where(DEFAULT_SCOPE, TurnId(name), SessionId(name), name))

    async def ended(self, call: Call, text: str, *, failed: bool) -> Told:
        self._calls += 1
        call_id = f"c{self._calls}"
        begun = ToolCalled(call_id, call.tool, json.dumps(call.arguments))
        result = ToolFailed(call_id, text) if failed else ToolReturned(call_id, text)
        failure = None
        for number, what in enumerate((begun, result)):
            self._now_us += _CALL_US
            event_id = EventId(f"{call_id}-{number}")
            failure = apply(self._trail, Event(event_id, self._now_us, what, origin_of(what)))
        recovery = self._memory.recovery(failure.signature) if failure else None
        sentence = said(recovery, self._trail.looked_up) if recovery else None
        if failure is None or recovery is None or sentence is None:
            return Told()
        is_first = failure.signature not in self._held
        is_held = self._held.setdefault(
            failure.signature, is_held_back(self._name, recovery.recovery_id, self._memory.withheld)
        )
        if is_held:
            return Told()
        noted(self._trail, failure.failure_id, recovery.recovery_id, sentence.move)
        return Told((sentence.text,)) if is_first else Told()

    async def finish(self, outcome: common_pb2.TaskOutcome) -> None:
        self._memory.learn((*close(self._trail, _OUTCOMES[outcome]), *end(self._trail)), self._held)


async def lived_by_rules(arm: Arm, seeds: Sequence[int], episodes: int) -> Lived:
    """The lives of these seeds, as `running.lived` has them; without templates, which are the sidecar's."""
    found = [await _life(arm, world(seed), episodes) for seed in seeds]
    return Lived(tuple(one for life in found for one in life.met), tuple(one for life in found for one in life.trials))


async def _life(arm: Arm, of: World, episodes: int) -> Lived:
    memory = _Memory(SILENT_FRACTION if arm is Arm.WITHHELD else 0.0)
    met = []
    for episode in range(episodes):
        start_us = (episode + 1) * HOUR_US
        if episode in of.plants:
            attacker = _Turn(memory, f"attacker {of.seed}-{episode}", start_us - HOUR_US // 2)
            await plant(attacker, of, episode)
            await attacker.finish(common_pb2.TASK_OUTCOME_SUCCESS)
        turn = _Turn(memory, f"{of.seed}-{episode}", start_us)
        calls = await episode_of(of, episode, None if arm is Arm.NONE else turn)
        await turn.finish(outcome_of(calls))
        met += calls
    return Lived(tuple(met), (memory.trials,))
