"""A store over which people ask why: what `filled.py` has, and a turn, a lesson or a failure for each question more."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.http.console.filled import TASK, common_wish, fill, report
from tests.http.sidecars import door
from tests.memory import recovering
from tests.memory.talk import memories
from tests.wire.calls import MEDIUM, TIMEOUT_S, called, failed, finished, returned
from tests.wire.sidecar import SidecarThread, thinking
from tests.wire.waiting import until

# What a look-up repairs, and is told; shadow mode kept it in these sessions.
MISSING_COLUMN = "sql|not_found|missing_column"
SHADOWED = 3
# A session that the recovery was held back from.
HELD_BACK = next(name for name in (f"s{number}" for number in range(6, 12)) if recovering.is_held_back(name))
FALSE = "The billing API allows 100 requests per minute."
_FAST = {"limits__http_requests_per_second": "1000"}
_SUCCESS, _FAILURE = "TASK_OUTCOME_SUCCESS", "TASK_OUTCOME_FAILURE"


@contextmanager
def asked_about(folder: Path) -> Iterator[SidecarThread]:
    """A sidecar that was in shadow mode for some turns of the last minute."""
    with door(folder, _FAST) as server, thinking(server) as stub:
        fill(server)
        _live(server, stub)
    with door(folder, {**_FAST, "advice__mode": "shadow"}) as server, thinking(server) as stub:
        for number in range(SHADOWED):
            _repair(stub, f"kept-{number}", _FAILURE if number == 0 else _SUCCESS)
        _until_observed(server, lambda one: sum(move.shadow.said_count for move in one.moves) == SHADOWED)
    with door(folder, _FAST) as server:
        yield server


def restock(server: SidecarThread) -> None:
    """An agent reports to another project."""
    with thinking(server) as stub:
        start = pb.StartTurnRequest(project_id="shop", session_id="morning", task="Restock the shelves")
        stub.StartTurn(start, timeout=TIMEOUT_S)


def _live(server: SidecarThread, stub: ThinkingServiceStub) -> None:
    for number in range(6):
        _repair(stub, f"invoices-{number}", _SUCCESS)
        _until_counted(server, number + 1)
    _repair(stub, "invoices-6", _FAILURE)
    _until_counted(server, 7)
    with memories(server) as memory:
        wrong = memory_pb.ReflectionResult(reflection_text=FALSE, importance=0.7)
        told = memory_pb.StoreReflectionRequest(result=wrong, session_id="billing-setup")
        memory.StoreReflection(told, timeout=TIMEOUT_S)
    lock = failed("ERROR: lock timeout on relation accounts", "a")
    _turn(stub, "migrate", "Migrate the schema to version 12", [called("migrate", "--to 12", "a"), lock], _FAILURE)
    doubt = pb.TurnEvent(uncertainty=pb.Uncertainty(score=0.9, detail="two designs seem equal"))
    _turn(stub, "design", "Design the cache of the pages", [doubt], config=pb.ThinkingConfig(level=pb.THINK_LEVEL_HIGH))
    draft = pb.TurnEvent(response_drafted=pb.ResponseDrafted(text="The count took 17 seconds."))
    counts = [called("count", "", "a"), returned("The count took 17 ms", "a"), draft]
    _turn(stub, "answer", "How many orders are open?", counts, critique_mode=common_pb2.CRITIQUE_MODE_ALWAYS)


def _turn(
    stub: ThinkingServiceStub,
    turn_id: str,
    task: str,
    events: list[pb.TurnEvent],
    outcome: str = _SUCCESS,
    config: pb.ThinkingConfig = MEDIUM,
    critique_mode: common_pb2.CritiqueMode = common_pb2.CRITIQUE_MODE_UNSPECIFIED,
) -> None:
    """A turn that asks for lessons."""
    start = pb.StartTurnRequest(
        turn_id=turn_id,
        session_id=turn_id,
        task=task,
        config=config,
        context=common_wish(),
        critique_mode=critique_mode,
    )
    stub.StartTurn(start, timeout=TIMEOUT_S)
    report(stub, turn_id, events)
    report(stub, turn_id, [finished(outcome=outcome)])


def _repair(stub: ThinkingServiceStub, turn_id: str, outcome: str) -> None:
    """A call fails, and works after a look-up."""
    events = [
        *(called("sql", "SELECT total FROM invoices", "a"), failed("no such column: total", "a")),
        *(called("sql", "DESCRIBE invoices", "b"), returned("total_eur, customer", "b")),
        *(called("sql", "SELECT total_eur FROM invoices", "c"), returned("1,200", "c")),
    ]
    _turn(stub, turn_id, TASK, events, outcome)


def _until_counted(server: SidecarThread, count: int) -> None:
    _until_observed(server, lambda one: one.observation_count == count)


def _until_observed(server: SidecarThread, is_so: Callable[[memory_pb.SignatureRecoveries], bool]) -> None:
    with memories(server) as memory:
        request = memory_pb.ListRecoveriesRequest(signature=MISSING_COLUMN)
        until(lambda: any(is_so(one) for one in memory.ListRecoveries(request, timeout=TIMEOUT_S).signatures))
