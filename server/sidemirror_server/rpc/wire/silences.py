"""Why nothing was told, as messages."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.wire.common import numbers_of
from sidemirror_server.vocabulary.silence import Gate, MissedGate, Silence, SilenceReason

# By their stored values; one of a later version has no number.
SILENCES = {reason.value: number for reason, number in numbers_of(SilenceReason, pb.SilenceReason).items()}
_GATES = {gate.value: number for gate, number in numbers_of(Gate, pb.RecoveryGate).items()}


def silence_to_wire(silence: Silence, signature: str) -> pb.Silence:
    """Why nothing was told, as a message."""
    return pb.Silence(
        reason=SILENCES.get(silence.reason),
        signature=signature,
        recovery_id=silence.recovery_id,
        tries=silence.tries,
        worked=silence.worked,
        missed_gate=missed_to_wire(silence.missed),
    )


def missed_to_wire(missed: MissedGate | None) -> pb.MissedGate | None:
    """The gate that a move did not pass, as a message; None for none."""
    if missed is None:
        return None
    return pb.MissedGate(gate=_GATES.get(missed.gate), needed=missed.needed, found=missed.found)
