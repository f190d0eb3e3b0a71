"""An agent that asks for another customer's invoice in each task, by a name where an id is wanted; it calls RunTurn
alone."""

import json

from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from tests.faults.sidecars import Stub, channel, connected
from tests.faults.talk import Talk
from tests.faults.waiting import until
from tests.memory.recovering import until_observed
from tests.wire.calls import called, failed, finished, returned, started

CUSTOMERS = ("ACME 12", "Globex 7", "Initech", "Umbrella Foods", "Stark & Sons", "Wayne-Bros")
SIGNATURE = "get_invoice|not_found|absent invoic"


async def task(stub: Stub, number: int, *, told: bool) -> list[pb.TurnDirective]:
    """One task: the name is refused, the list brings the id that works. `told`: the agent waits for advice."""
    talk, name, key = Talk(stub), CUSTOMERS[number], f"cust-{number}"
    begin = started(session_id=f"task {number}", task=f"Send the invoice of {name}")
    begin.turn_id = f"task-{number}"
    await talk.say(
        begin,
        called("get_invoice", json.dumps({"customer": name}), "a", f"call-{number}"),
        failed(f"invoice not found: {name}", "a", f"failure-{number}"),
    )
    await until((lambda: bool(talk.said("advice"))) if told else (lambda: talk.received() == 3), within_s=20)
    await talk.say(
        called("list_customers", "{}", "b"),
        returned(key, "b"),
        called("get_invoice", json.dumps({"customer": key}), "c"),
        returned("17 EUR", "c"),
        finished(outcome=1),
    )
    await talk.ended()
    return talk.said("advice")


async def lived_with_all(address: str) -> memory_pb.SignatureRecoveries:
    """A task for each customer; at the last one the agent is told what helped with the others. Returns what is kept."""
    *earlier, last = range(len(CUSTOMERS))
    for number in earlier:
        async with connected(address) as stub:
            assert await task(stub, number, told=False) == []
        await until_observed(address, number + 1, SIGNATURE)
    async with connected(address) as stub:
        (advice,) = await task(stub, last, told=True)
    assert "In 5 of 5 earlier tries the call worked after `list_customers`." in advice.advice.block.text
    return await until_observed(address, len(CUSTOMERS), SIGNATURE)


async def everything_kept(address: str) -> str:
    """All that people are shown of recoveries, as text."""
    async with channel(address) as connection:
        stub: Stub = ReflectiveMemoryServiceStub(connection)
        listed = await stub.ListRecoveries(memory_pb.ListRecoveriesRequest(), timeout=60)
    return str(listed)
