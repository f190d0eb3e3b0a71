"""ListRecoveries: what followed each recognised failure, for people."""

import asyncio
from collections.abc import Collection, Mapping, Sequence

import msgspec

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.recoveries.finding import RecoveryFinder
from sidemirror_server.memory.recoveries.forms import written
from sidemirror_server.memory.recoveries.moves import uncounted_in
from sidemirror_server.memory.recoveries.observation import NO_ATTEMPT, MoveKind, Observation, recovery_id
from sidemirror_server.memory.recoveries.observations import Observations
from sidemirror_server.memory.recoveries.review import MoveReview, reviewed
from sidemirror_server.memory.trials.evidence import ArmTally, LessonEvidence, added, evidence_of
from sidemirror_server.memory.trials.trials import Trials
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import PAGE_BYTES, place_in, size_of, token_for
from sidemirror_server.rpc.memory.lesson_arms import arm_to_wire, interval_to_wire, some_arm_to_wire
from sidemirror_server.rpc.wire.common import duration, numbers_of, timestamp
from sidemirror_server.rpc.wire.silences import SILENCES, missed_to_wire
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.text import enter

_KINDS = numbers_of(MoveKind, pb.RecoveryMoveKind)


class SignaturePlace(msgspec.Struct, frozen=True):
    """A place in the order of signatures."""

    signature: str


async def list_recoveries(
    store: Observations,
    trials: Trials,
    policies: PoliciesInForce,
    finder: RecoveryFinder,
    request: pb.ListRecoveriesRequest,
    call: Call,
) -> pb.ListRecoveriesResponse:
    advice = await policies.advice(call.scope)
    only = enter(request.signature)
    if request.include_observations and not only:
        raise BadInput([("include_observations", "only with signature")])
    size = size_of(request.page_size, 50)
    query = (call.scope, "recoveries", only)
    place = place_in(request.page_token, SignaturePlace, "page_token", *query)
    after = "" if place is None else place.signature
    wanted = await store.signatures(call.scope, after, size + 1) if not only else ((only,) if not after else ())
    shown: list[pb.SignatureRecoveries] = []
    room_bytes = PAGE_BYTES
    # One signature is read at a time: the rows of a page of them would not fit into memory.
    for signature in wanted[:size]:
        rows = await store.of_signature(call.scope, signature)
        if rows:
            moves = await asyncio.to_thread(reviewed, signature, rows, advice, finder.telling)
            tallies = await trials.tallies(call.scope, [(one.recovery_id, 1) for one in moves])
            wire = _signature_to_wire(signature, rows, moves, tallies)
            if request.include_observations:
                left_out = uncounted_in(rows)
                wire.observations.extend(_observation_to_wire(row, left_out) for row in rows)
            room_bytes -= wire.ByteSize()
            if room_bytes < 0 and shown:
                break
            shown.append(wire)
        after = signature
    has_more = bool(wanted) and after != wanted[-1]
    token = token_for(SignaturePlace(after), *query)
    return pb.ListRecoveriesResponse(signatures=shown, next_page_token=token if has_more else "")


def _signature_to_wire(
    signature: str,
    rows: Sequence[Observation],
    moves: Sequence[MoveReview],
    tallies: Mapping[str, Sequence[ArmTally]],
) -> pb.SignatureRecoveries:
    return pb.SignatureRecoveries(
        signature=signature,
        observation_count=len(rows),
        last_time=timestamp(rows[-1].at_us),
        moves=[_move_to_wire(one, evidence_of(tallies.get(one.recovery_id, ()))) for one in moves],
    )


def _observation_to_wire(row: Observation, left_out: Collection[str]) -> pb.RecoveryObservation:
    wire = pb.RecoveryObservation(
        failure_event_id=row.failure_id,
        turn_id=row.where.turn_id,
        session_id=row.where.session_id,
        time=timestamp(row.at_us),
        recovery_id=recovery_id(row.signature, row.move),
        worked=row.worked,
        advised_recovery_id=row.advised,
        followed=row.followed,
        shadow_recovery_id=row.shadow,
        last_turn_id=row.last_turn_id,
        is_from_telemetry=row.where.conversation is not None,
        is_uncounted=row.observation_id in left_out,
        turn_failed=row.turn_failed,
    )
    if row.move.kind not in NO_ATTEMPT:
        wire.pause.CopyFrom(duration(row.pause_ms * 1_000))
    return wire


def _move_to_wire(one: MoveReview, evidence: LessonEvidence) -> pb.RecoveryMove:
    shadow = one.shadow
    return pb.RecoveryMove(
        recovery_id=one.recovery_id,
        kind=_KINDS[one.move.kind],
        steps=one.move.steps,
        form=written(one.move.form),
        tries=one.unadvised.tries,
        worked=one.unadvised.worked,
        advised_tries=one.advised.tries,
        advised_worked=one.advised.worked,
        lowest_rate=one.low,
        is_told=bool(one.sentence) and one.silence is None,
        is_suspended=one.is_suspended,
        reason=one.reason,
        sentence=one.sentence,
        is_starter=one.is_starter,
        shown=arm_to_wire(evidence.shown),
        held_back=arm_to_wire(added(evidence.held_back, evidence.kept)),
        lift=evidence.lift,
        interval=interval_to_wire(evidence.interval),
        shadow=pb.ShadowTally(
            said_count=shadow.said,
            followed_count=shadow.followed.tries,
            followed_worked_count=shadow.followed.worked,
            otherwise_worked_count=shadow.otherwise.worked,
            token_count=shadow.tokens,
        )
        if shadow.said
        else None,
        silence=None if one.silence is None else SILENCES[one.silence],
        missed_gate=missed_to_wire(one.missed),
        interval_at_any_look=interval_to_wire(evidence.at_any_look),
        kept_in_shadow=some_arm_to_wire(evidence.kept),
    )
