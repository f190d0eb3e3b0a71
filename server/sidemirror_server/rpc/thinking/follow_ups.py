"""What followed the failing calls at which a turn was told something, or nothing, for GetTurn."""

from collections.abc import Iterable

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.memory.recoveries.observation import NO_ATTEMPT, Observation, recovery_id
from sidemirror_server.memory.recoveries.observations import Observations
from sidemirror_server.thinking.record import Advised, Directive, Recorded
from sidemirror_server.vocabulary.ids import TurnId
from sidemirror_server.vocabulary.scope import Scope

# Of one page: so many kinds of failure are looked up, the first ones. Chosen here: each reads up to 1,000 rows.
_MOST = 50


async def follow_ups_of(
    store: Observations, scope: Scope, turn_id: TurnId, entries: Iterable[Recorded]
) -> list[pb.FailureFollowUp]:
    """What followed, in the order of the entries: of a kind of failure that which trials count, the first one that is
    observed in the turn. Raises StoreUnavailable."""
    directives = (one.what for one in entries if isinstance(one, Directive))
    told = dict.fromkeys(what.signature for what in directives if isinstance(what, Advised) and what.signature)
    found: list[pb.FailureFollowUp] = []
    for signature in list(told)[:_MOST]:
        rows = await store.of_signature(scope, signature)
        first = next((row for row in rows if row.where.turn_id == turn_id), None)
        if first is not None:
            found.append(_to_wire(first))
    return found


def _to_wire(row: Observation) -> pb.FailureFollowUp:
    return pb.FailureFollowUp(
        signature=row.signature,
        failure_event_id=row.failure_id,
        attempt_event_id=row.attempt_id,
        attempt_turn_id=row.last_turn_id,
        worked=row.worked,
        advised_recovery_id=row.advised,
        followed=row.followed,
        recovery_id=recovery_id(row.signature, row.move),
        has_attempt=row.move.kind not in NO_ATTEMPT,
        turn_failed=row.turn_failed,
    )
