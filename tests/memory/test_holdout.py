"""What is held back from a block, and that a repeated call holds back the same."""

import contextlib
import sqlite3
from pathlib import Path

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.trials.evidence import Arm
from sidemirror_server.memory.trials.holdout import HELD_BACK, decided, drawn, held_of, without
from sidemirror_server.vocabulary.block import BlockItem, BlockLesson, Omitted, render
from sidemirror_server.vocabulary.origin import Origin
from tests.memory.talk import memories
from tests.wire.calls import TIMEOUT_S
from tests.wire.sidecar import sidecar

LESSONS = tuple(
    BlockLesson(BlockItem(name, 3, "reflection", f"Lesson {name}.", 0.5, Origin.AGENT), "Reflection")
    for name in "abcde"
)
TASK = "Find the order of a customer by its number"
REFLECTION = "The order of the customer was looked up by its number without the sign."
STRATEGY = "Look the orders of customers up with the leading sign of their number."
BLOCK = render("HEADING", LESSONS, 4, receipt_id="r")


def test_what_is_shown_is_drawn_and_nothing_else() -> None:
    assert drawn(BLOCK, {}, "r", 0.0) == ()
    arms = {trial.memory_id: trial.arm for trial in drawn(BLOCK, {}, "r", 0.5)}
    assert set(arms) == set("abcd"), "there was no room for the fifth"
    assert all((trial.version, trial.fraction) == (3, 0.5) for trial in drawn(BLOCK, {}, "r", 0.5))
    together = [drawn(BLOCK, {"b": "a", "c": "a"}, f"r{number}", 0.5) for number in range(50)]
    assert all(len({trial.arm for trial in trials[:3]}) == 1 for trials in together)
    assert {trials[0].arm for trials in together} == set(Arm)
    assert any(trials[0].arm is not trials[3].arm for trials in together)


def test_a_turn_decides_about_a_lesson_once() -> None:
    before = decided(("b",), ("c",), {"b": "a", "c": "d"})
    strategy_of = {"b": "a", "c": "d"}
    for number in range(20):
        assert drawn(BLOCK, strategy_of, f"r{number}", 0.9, before) == (), "b came of a, and c of d"
    assert held_of("abcd", strategy_of, before) == ("a", "b")
    alone = decided(("b",), (), {})
    assert {trial.memory_id for trial in drawn(BLOCK, {}, "r", 0.5, alone)} == set("acd")
    assert held_of("abcd", {}, alone) == ("b",)


def test_a_block_without_what_is_held_back() -> None:
    left = without(BLOCK, "HEADING", LESSONS, ("a", "c"), "r")
    assert [item.id for item in left.items] == ["b", "d"], "nothing takes their place"
    assert left.text == "[HEADING]\n• [Reflection] Lesson b.\n• [Reflection] Lesson d."
    assert left.omitted == (
        *(Omitted("e", "there is room for 4 items"), Omitted("a", HELD_BACK), Omitted("c", HELD_BACK)),
    )
    assert left.receipt_id == "r"
    nothing = without(BLOCK, "HEADING", LESSONS, tuple("abcd"), "r")
    assert (nothing.text, nothing.items, nothing.token_count, nothing.receipt_id) == ("", (), 0, "r")


def test_a_draw_is_the_same_after_a_crash(tmp_path: Path) -> None:
    """The block was built, and its answer was lost with all that was remembered of it.

    Seen to fail when the draw is made of a new random number: other lessons were held back.
    """
    requests = [pb.BuildMemoryContextRequest(task=TASK, holdout_fraction=0.5, request_id=f"r{n}") for n in range(10)]
    asked = pb.GetLessonStatisticsRequest()
    with sidecar(tmp_path) as server, memories(server) as stub:
        result = pb.ReflectionResult(reflection_text=REFLECTION, strategy_text=STRATEGY)
        # With a request_id of its own, what is drawn is the same in each run of the tests.
        stub.StoreReflection(pb.StoreReflectionRequest(result=result, request_id="lesson"), timeout=TIMEOUT_S)
        first = [stub.BuildMemoryContext(request, timeout=TIMEOUT_S) for request in requests]
        known = stub.GetLessonStatistics(asked, timeout=TIMEOUT_S)
    with contextlib.closing(sqlite3.connect(tmp_path / "data" / "sidemirror.db")) as connection, connection:
        assert connection.execute("DELETE FROM requests").rowcount >= len(requests)
    with sidecar(tmp_path) as server, memories(server) as stub:
        again = [stub.BuildMemoryContext(request, timeout=TIMEOUT_S) for request in requests]
        assert stub.GetLessonStatistics(pb.GetLessonStatisticsRequest(), timeout=TIMEOUT_S) == known, (
            "each is counted once"
        )
    assert [said(one) for one in again] == [said(one) for one in first]
    assert len({bool(one.block.items) for one in first}) == 2


def said(response: pb.BuildMemoryContextResponse) -> tuple[str, str, tuple[str, ...]]:
    """A block without scores, which fall as time goes on."""
    return response.block.receipt_id, response.block.text, tuple(left.id for left in response.block.omitted)
