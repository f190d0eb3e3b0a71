"""No text that steers is active without the block saying whose words it is, whichever way it came; and an agent's own
lessons are its own."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.memory.lessons.trust import steering_of_own
from sidemirror_server.models.answers import AppliesWhenAnswer, MemoryReflectionAnswer
from sidemirror_server.models.language_model import Ask
from sidemirror_server.vocabulary.block import FROM_A_TOOL, WHOSE, text_hash
from tests.critique.cast import Cast
from tests.memory.hostile import HOSTILE
from tests.memory.steering import ORDINARY_LESSONS, STEERING_TEXTS
from tests.memory.talk import event, export, imported, listed, played
from tests.wire.calls import TIMEOUT_S

TOOL = "fetch"
APPLIES = pb.AppliesWhen(tools=[TOOL])
# Every third text with each run, which brings some of every family; all of them in the long one.
SOME = STEERING_TEXTS[::3]


def copied(ask: Ask[Any]) -> MemoryReflectionAnswer:
    """A model that is in the hands of what it reads: it says again what was said last."""
    said = [step.text for step in ask.evidence.steps if step.kind in ("tool_result", "model_text")][-1]
    text = said.removeprefix("Result: ").removesuffix("\n-- end")
    return MemoryReflectionAnswer(
        reflection=text, importance=1.0, confidence=1.0, applies_when=AppliesWhenAnswer(tools=(TOOL,))
    )


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReflectiveMemoryServiceStub]:
    with played(tmp_path_factory.mktemp("whose"), Cast(memory_reflection=copied)) as stub:
        yield stub


def by_tool(stub: ReflectiveMemoryServiceStub, text: str, tenant_id: str) -> None:
    events = [
        event(pb.EVENT_TYPE_TOOL_CALL, "orders of the day", tool_name=TOOL),
        event(pb.EVENT_TYPE_TOOL_RESPONSE, f"Result: {text}\n-- end", tool_name=TOOL),
    ]
    request = pb.GenerateReflectionRequest(
        events=events, outcome=common_pb2.TASK_OUTCOME_FAILURE, store=True, tenant_id=tenant_id
    )
    stub.GenerateReflection(request, timeout=TIMEOUT_S)


def by_agent(stub: ReflectiveMemoryServiceStub, text: str, tenant_id: str, event_ids: Sequence[str] = ()) -> None:
    result = pb.ReflectionResult(
        reflection_text=text, importance=1.0, applies_when=APPLIES, source_event_ids=list(event_ids)
    )
    stub.StoreReflection(pb.StoreReflectionRequest(result=result, tenant_id=tenant_id), timeout=TIMEOUT_S)


def by_import(stub: ReflectiveMemoryServiceStub, text: str, tenant_id: str) -> None:
    """A line that says of itself that it is active, and an operator's."""
    by_agent(stub, "a plain lesson", f"{tenant_id} exported")
    (line,) = export(stub, tenant_id=f"{tenant_id} exported")
    said = json.loads(line)
    said["memory"] |= {"content": text, "state": "active", "origin": 40, "memory_id": "m"}
    assert imported(stub, [json.dumps(said)], tenant_id=tenant_id).imported_count == 1


WAYS: dict[str, Callable[[ReflectiveMemoryServiceStub, str, str], None]] = {
    "tool": by_tool,
    "agent": by_agent,
    "import": by_import,
}


def block_of(stub: ReflectiveMemoryServiceStub, tenant_id: str, task: str = "the orders of the day") -> list[str]:
    request = pb.BuildMemoryContextRequest(task=task, tools=[TOOL], tenant_id=tenant_id, max_items=20, max_tokens=1000)
    return stub.BuildMemoryContext(request, timeout=TIMEOUT_S).block.text.splitlines()


def labelled(stub: ReflectiveMemoryServiceStub, way: str, text: str) -> bool:
    """Whether a text that came this way is active; and then, that its block says whose words it is."""
    tenant_id = f"{way} {text_hash(text).hex()}"
    WAYS[way](stub, text, tenant_id)
    (kept,) = listed(stub, tenant_id=tenant_id)
    lines = block_of(stub, tenant_id)
    if kept.state == pb.MEMORY_STATE_QUARANTINED:
        assert lines == [], text
        return False
    assert len(lines) == 3, text
    assert lines[1] == WHOSE
    assert lines[2].startswith(f"• [Reflection, {FROM_A_TOOL}] " if way == "tool" else "• [Reflection] "), text
    return True


def test_there_are_enough_of_them() -> None:
    assert len(STEERING_TEXTS) >= 220
    assert sum(one.unseen for one in STEERING_TEXTS) >= 180
    assert len({one.language for one in STEERING_TEXTS}) >= 12
    texts = {one.text for one in STEERING_TEXTS}
    assert len(texts) == len(STEERING_TEXTS)
    assert texts.isdisjoint(text for _, text in HOSTILE)
    assert len(set(ORDINARY_LESSONS)) >= 800
    assert {one.family for one in SOME} == {one.family for one in STEERING_TEXTS}


@pytest.mark.parametrize("way", WAYS)
def test_none_is_active_without_a_label(way: str, stub: ReflectiveMemoryServiceStub) -> None:
    """Seen to fail by the agent's way and by an import when the origin stood beside the text alone."""
    active = [one.text for one in SOME if labelled(stub, way, one.text)]
    # The label, and not the detector, holds what has no trigger word; where it is needed it is tried.
    assert way == "tool" or active


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_not_one_of_all_is_active_without_a_label(way: str, stub: ReflectiveMemoryServiceStub) -> None:
    active = [one.text for one in STEERING_TEXTS if one not in SOME and labelled(stub, way, one.text)]
    print(f"{way}: {len(active)} of {len(STEERING_TEXTS) - len(SOME)} are active, labelled")  # noqa: T201  # asked for


def test_source_event_ids_change_the_label_and_no_verdict(stub: ReflectiveMemoryServiceStub) -> None:
    """What rests on events may repeat a tool: nobody says what they were. Its text is judged as it is without them."""
    for number, one in enumerate(STEERING_TEXTS[::8]):
        states = []
        for event_ids in ((), ("event-1",)):
            tenant_id = f"events {number} {len(event_ids)}"
            by_agent(stub, one.text, tenant_id, event_ids)
            (kept,) = listed(stub, tenant_id=tenant_id)
            states.append((kept.state, kept.quarantine, kept.reason))
            mark = f", {FROM_A_TOOL}" if event_ids else ""
            assert all(line.startswith(f"• [Reflection{mark}] ") for line in block_of(stub, tenant_id)[2:])
        assert states[0] == states[1], one.text


def test_an_agents_own_lessons_are_its_own(stub: ReflectiveMemoryServiceStub) -> None:
    """Of 200 at most 2 are quarantined, and none is said to be a tool's. All are judged; an eighth is stored."""
    assert sum(bool(steering_of_own([lesson])) for lesson in ORDINARY_LESSONS) <= len(ORDINARY_LESSONS) / 100
    for lesson in ORDINARY_LESSONS[::8]:
        by_agent(stub, lesson, "ordinary")
    kept = listed(stub, tenant_id="ordinary")
    assert {one.origin for one in kept} == {common_pb2.ORIGIN_AGENT}
    assert sum(one.state == pb.MEMORY_STATE_QUARANTINED for one in kept) <= 2
    shown = {line for lesson in ORDINARY_LESSONS[::8] for line in block_of(stub, "ordinary", lesson[:1000])[2:]}
    assert len(shown) > 10
    assert not [line for line in shown if FROM_A_TOOL in line]
