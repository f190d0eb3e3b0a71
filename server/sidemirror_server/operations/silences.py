"""Says why a turn was told nothing, by the codes that are on its record. Used by `turns.py` and `turns_why.py`."""

from collections.abc import Mapping
from typing import Any

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.memory.recoveries.gates import gate_told
from sidemirror_server.vocabulary.silence import Gate, MissedGate

_GATES = {pb.RecoveryGate.Value(f"RECOVERY_GATE_{gate.name}"): gate.value for gate in Gate}

_OFF = {
    pb.SILENCE_REASON_SHADOW: "the sidecar was in shadow mode, which tells nothing",
    pb.SILENCE_REASON_OFF_BY_SETTING: "a setting of the sidecar turned it off",
    pb.SILENCE_REASON_NO_ROOM: "it did not fit into the tokens of a block",
    pb.SILENCE_REASON_STORE_AWAY: "the store was away or too slow",
}
_AT_START = {
    **_OFF,
    pb.SILENCE_REASON_NOT_ASKED: "its start did not ask for any",
    pb.SILENCE_REASON_NOTHING_KNOWN: "the project had no lesson",
    pb.SILENCE_REASON_NOTHING_FITS: "no lesson fitted the task",
    pb.SILENCE_REASON_HELD_BACK: "what fitted was held back by a draw",
    pb.SILENCE_REASON_OFF_BY_POLICY: "a policy turned lessons off",
    pb.SILENCE_REASON_SILENCED: "a policy silenced what fitted",
    pb.SILENCE_REASON_SHELL: "the host has a shell, and no person had reviewed what fitted",
}
_AT_FAILURE = {
    **_OFF,
    pb.SILENCE_REASON_NOTHING_KNOWN: "no repair was known for this failure",
    pb.SILENCE_REASON_GATE: "what was tried before did not pass the gates",
    pb.SILENCE_REASON_SUSPENDED: "what is known was suspended: it failed twice in succession after it was told",
    pb.SILENCE_REASON_NOTHING_TO_ADD: "what is known was done already, or is for another kind of call",
    pb.SILENCE_REASON_HELD_BACK: "what is known was held back by a draw, one in ten, to see what happens without it",
    pb.SILENCE_REASON_OFF_BY_POLICY: "a policy turned recoveries off",
    pb.SILENCE_REASON_SILENCED: "a policy silenced what is known",
    pb.SILENCE_REASON_SHELL: "the host has a shell, and what is known may not be told there",
    pb.SILENCE_REASON_TOLD_ALREADY: "the turn was told of it already",
}

# How the ids of turns begin that are made of spans (`telemetry_in/turn_events.py`).
_OF_SPANS = "otlp-"


def why_no_lesson(reason: int) -> str:
    """Why a turn started without a lesson; empty where that is not on record."""
    return _said(_AT_START, reason)


def recalled_later(turn: pb.Turn, reason: int) -> str:
    """What a turn that started without a lesson for this `reason` was given after that, because its agent asked. What
    it asked for has a receipt, which stands by itself. Empty if it was given nothing, and its start had asked."""
    count = turn.recalled_count
    if count:
        return f"; the agent asked later, and was given {count} lesson{'' if count == 1 else 's'}"
    if reason != pb.SILENCE_REASON_NOT_ASKED:
        return ""
    if turn.turn_id.startswith(_OF_SPANS):
        return "; it is made of spans, and what its agent was given when it asked is no part of it"
    return "; what it asked for later, if anything, has a line of its own"


def why_no_advice(silence: pb.Silence) -> str:
    """Why nothing was told at a failing call, with the tries that were known then, and the gate. Ids are not cut:
    callers do."""
    noun = "try" if silence.tries == 1 else "tries"
    tries = f" (without advice it had worked in {silence.worked} of {silence.tries} {noun})" if silence.tries else ""
    gate = f": {_gate(silence.missed_gate)}" if silence.HasField("missed_gate") else ""
    return f"{_said(_AT_FAILURE, silence.reason)}{tries}{gate}"


def _gate(missed: pb.MissedGate) -> str:
    return gate_told(MissedGate(_GATES.get(missed.gate, str(missed.gate)), missed.needed, missed.found))


def _said(sentences: Mapping[Any, str], reason: int) -> str:
    if not reason:
        return ""
    return sentences.get(reason, f"reason {reason}, which this version does not know")
