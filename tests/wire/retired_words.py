"""A turn that fails as a retired lesson says, for the embedded and the shared store."""

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from tests.faults.sidecars import Running, Stub, channel
from tests.wire.calls import called, failed

FAILURE = "no such table: orders"
SENTENCE = "There is no table `orders`: list or look up what exists before calling `sql` again."


async def reflected(served: Running, turn_id: str) -> pb.MidTurnReflection:
    """What a reflection on a failing call says, in a turn of its own."""
    start = pb.StartTurnRequest(turn_id=turn_id, session_id=turn_id, task="Count the orders")
    start.config.level = pb.THINK_LEVEL_MEDIUM
    await served.stub.StartTurn(start, timeout=60)
    events = [
        called("sql", "SELECT 1 FROM orders", "a"),
        failed(FAILURE, "a", f"f{turn_id}"),
    ]
    await served.stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events), timeout=60)
    answer: pb.ReflectResponse = await served.stub.Reflect(pb.ReflectRequest(turn_id=turn_id), timeout=60)
    return answer.result


async def retired_words_are_not_told(served: Running) -> None:
    """The rules make the sentence of each such failure; after its lesson is retired they do not say it."""
    before = await reflected(served, "before")
    assert (before.status, before.suggested_action) == (common_pb2.RESULT_STATUS_OK, SENTENCE)
    async with channel(served.address) as connection:
        memory: Stub = ReflectiveMemoryServiceStub(connection)
        store = memory_pb.StoreReflectionRequest(result={"reflection_text": SENTENCE})
        stored = (await memory.StoreReflection(store, timeout=60)).reflection_id
        assert (await reflected(served, "while active")).suggested_action == SENTENCE
        review = memory_pb.ReviewReflectionRequest(
            reflection_id=stored, state=memory_pb.MEMORY_STATE_RETIRED, reason="it harms"
        )
        await memory.ReviewReflection(review, timeout=60)
    after = await reflected(served, "after")
    assert (after.suggested_action, after.reflection) == ("", "")
    assert after.detail == f"it says what the retired lesson {stored} says"
