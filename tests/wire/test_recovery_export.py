"""What recoveries are counted from leaves in an export, and counts in the store that imports it."""

import json
from pathlib import Path
from typing import Any

import grpc
import pytest
from msgspec.structs import replace

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import sidecar_pb2, thinking_pb2
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.memory.recoveries import moves
from sidemirror_server.vocabulary.scope import Scope
from tests.conformance.observations import observation
from tests.faults.sidecars import Running, channel, connected, running
from tests.memory.recovering import FAILURE, SENTENCE, UNTOLD, live_through, observed, session, until_observed
from tests.wire.access import ACME, EVERYWHERE, bearer, entry, write_access

DAY_US = 24 * 3_600 * 1_000_000


@pytest.fixture
def nothing_is_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)


async def exported(address: str, token: str = "", **fields: Any) -> list[str]:
    async with channel(address) as connection:
        stub = ReflectiveMemoryServiceStub(connection)
        sent = bearer(token) if token else ()
        request = pb.ExportReflectionsRequest(**{"include_observations": True, **fields})
        return [
            line async for part in stub.ExportReflections(request, timeout=60, metadata=sent) for line in part.lines
        ]


async def imported(address: str, lines: list[str], token: str = "", **scope: str) -> pb.ImportReflectionsResponse:
    async with channel(address) as connection:
        stub = ReflectiveMemoryServiceStub(connection)
        parts = [pb.ImportReflectionsRequest(lines=lines, **scope)]
        answer: pb.ImportReflectionsResponse = await stub.ImportReflections(
            iter(parts), timeout=60, metadata=bearer(token) if token else ()
        )
    return answer


async def found(address: str) -> pb.FindRecoveriesResponse:
    """What anyone is told; the request's id is the same everywhere, and so is the receipt's."""
    request = pb.FindRecoveriesRequest(
        request_id="moved", tool="sql", error_text=FAILURE, arguments="SELECT 1 FROM orders"
    )
    async with channel(address) as connection:
        answer: pb.FindRecoveriesResponse = await ReflectiveMemoryServiceStub(connection).FindRecoveries(
            request, timeout=60
        )
    return answer


async def erased(address: str, **what: str) -> None:
    async with channel(address) as connection:
        await SidecarServiceStub(connection).Erase(sidecar_pb2.EraseRequest(**what), timeout=60)


async def lived(served: Running) -> list[str]:
    await live_through(served.address, UNTOLD)
    async with connected(served.address) as stub:
        await session(stub, "s6", told=True)
    await until_observed(served.address, UNTOLD + 1)
    return [line for line in await exported(served.address) if "observation" in json.loads(line)]


@pytest.mark.usefixtures("nothing_is_held_back")
async def test_an_empty_store_answers_as_the_one_that_was_exported(tmp_path: Path) -> None:
    async with running(tmp_path / "first") as served:
        lines = await lived(served)
        assert len(lines) == UNTOLD + 1
        # Whoever does not ask for them reads one memory in each line, as before.
        unasked = await exported(served.address, include_observations=False)
        assert not any("observation" in json.loads(line) for line in unasked)
        told, counts = await found(served.address), await observed(served.address)
    assert SENTENCE in told.block.text
    async with running(tmp_path / "second") as served:
        assert not (await found(served.address)).block.text
    async with running(tmp_path / "third") as served:
        answer = await imported(served.address, lines)
        assert (answer.imported_count, answer.known_count, answer.refused_count) == (UNTOLD + 1, 0, 0)
        assert await found(served.address) == told
        again = await imported(served.address, lines)
        assert (again.imported_count, again.known_count) == (0, UNTOLD + 1)
        after = await observed(served.address)
        # What was shown and held back is counted in trials, which stay where they were made.
        for counted in (counts, after):
            for move in counted.moves:
                for name in ("shown", "held_back", "lift", "interval", "interval_at_any_look"):
                    move.ClearField(name)
        assert after == counts
        assert [line for line in await exported(served.address) if "observation" in json.loads(line)] == lines


@pytest.fixture
async def lines(tmp_path: Path) -> list[str]:
    """What a sidecar exports that has seen a failure in as many sessions as the gate asks for."""
    async with running(tmp_path / "elsewhere") as served:
        await live_through(served.address, UNTOLD)
        return [line for line in await exported(served.address) if "observation" in json.loads(line)]


async def test_a_session_with_the_id_of_a_foreign_one_gives_it_no_subject(lines: list[str], tmp_path: Path) -> None:
    """Seen to fail when the subjects of an imported observation were those of its session as well."""
    session_id = json.loads(lines[0])["observation"]["where"]["session_id"]
    async with running(tmp_path / "other") as served:
        await imported(served.address, lines)
        async with connected(served.address) as stub:
            wish = thinking_pb2.CreateSessionRequest(session_id=session_id, subject_ids=["bert"])
            await stub.CreateSession(wish)
        assert [line for line in await exported(served.address) if "observation" in json.loads(line)] == lines


async def test_what_no_import_takes_is_not_exported(tmp_path: Path) -> None:
    """A change of more arguments at once than a line may have. Seen to fail: it was exported, and then refused."""
    one = observation(Scope("default", "default"), "t", 1)
    steps = tuple(f"argument_{number}" for number in range(51))
    many = replace(observation(Scope("default", "default"), "t", 2), move=replace(one.move, steps=steps))
    async with running(tmp_path) as served:
        for each in (one, many):
            assert await served.sidecar._stores.observations.put(Scope("default", "default"), each)
        (line,) = await exported(served.address)
        assert json.loads(line)["observation"]["failure_id"] == one.failure_id
        answer = await imported(served.address, [line])
        assert (answer.known_count, answer.refused_count) == (1, 0)


def changed(line: str, **fields: Any) -> str:
    record = json.loads(line)
    return json.dumps({**record, "observation": {**record["observation"], **fields}})


async def test_a_line_beyond_the_limits_is_refused_and_the_others_count(tmp_path: Path, lines: list[str]) -> None:
    """Seen to fail when a line was taken as it stood."""
    line = lines[0]
    record = json.loads(line)
    where = record["observation"]["where"]
    late_us = record["observation"]["at_us"] + 2 * DAY_US
    bad = [
        json.dumps({**record, "sidemirror": 2}),
        json.dumps({**record, "memory": {}}),
        json.dumps({**record, "observation": None}),
        json.dumps({**record, "subjects": ["turn:s1"]}),
        changed(line, where=None),
        changed(line, where={**where, "turn_id": ""}),
        changed(line, where={**where, "session_id": "x" * 129}),
        changed(line, where={**where, "identity": "a\nb"}),
        changed(line, signature="none"),
        changed(line, signature="sql|not_found|" + "x" * 1_000),
        changed(line, move={"kind": "prayed"}),
        changed(line, label="x" * 300_000),
        changed(line, at_us=-1),
        # What is to come would outlive what is newer.
        changed(line, at_us=late_us),
        changed(line, at_us="now"),
        changed(line, pause_ms=2**40),
        # Within its bytes, and more than a failing call gives.
        changed(line, label="sql\n"),
        changed(line, label="x" * 257),
        changed(line, then=["SELECT"] * 8),
        changed(line, then=["x" * 257]),
        changed(line, move={"kind": "changed", "steps": ["a"] * 51}),
        changed(line, move={"kind": "changed", "steps": ["a\n"]}),
        changed(line, move={"kind": "changed", "steps": ["a"], "form": ["digits", "free text"]}),
        changed(line, dialect="<oracle>"),
        changed(line, label="x" * 40_000),
        line[: len(line) // 2] + "}",
    ]
    async with running(tmp_path) as served:
        answer = await imported(served.address, [*bad, *lines])
        assert [one.number for one in answer.refused] == list(range(1, len(bad) + 1))
        assert all(one.reason and "xxx" not in one.reason for one in answer.refused)
        assert (answer.imported_count, answer.refused_count) == (UNTOLD, len(bad))
        assert (await observed(served.address)).observation_count == UNTOLD


async def test_whose_it_was_does_not_matter(tmp_path: Path, lines: list[str]) -> None:
    """An observation is of the project that imports it, by an id of its own."""
    async with running(tmp_path) as served:
        assert (await imported(served.address, lines, project_id="other")).imported_count == UNTOLD
        assert (await imported(served.address, lines, project_id="third")).imported_count == UNTOLD
        assert (await observed(served.address)).observation_count == 0


async def test_where_there_are_tokens_an_admin_moves_observations(tmp_path: Path, lines: list[str]) -> None:
    """Else a token that reports two tries a day could have a repair told at once. Seen to fail without the check."""
    access = write_access(
        tmp_path / "access.json", [entry("acme", ACME), entry("root", EVERYWHERE, ("acme", "*"), admin=True)]
    )
    async with running(tmp_path, access_file=str(access)) as served:
        scope = {"tenant_id": "acme", "project_id": "shop"}
        answer = await imported(served.address, lines, ACME, **scope)
        assert (answer.imported_count, answer.refused_count) == (0, UNTOLD)
        assert "admin" in answer.refused[0].reason
        assert (await imported(served.address, lines, EVERYWHERE, **scope)).imported_count == UNTOLD
        # Nor does it read whose tokens and which subjects they name.
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await exported(served.address, ACME, **scope)
        assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED
        assert await exported(served.address, ACME, include_observations=False, **scope) == []
        assert len(await exported(served.address, EVERYWHERE, **scope)) == UNTOLD


async def test_what_was_imported_is_erased_and_comes_back_no_more(tmp_path: Path, lines: list[str]) -> None:
    """By turn, by session and by whom it is about, though none of these is stored here."""
    about = json.dumps({**json.loads(lines[2]), "subjects": ["subject:anna"]})
    own = [json.loads(line)["observation"]["where"] for line in lines]
    async with running(tmp_path) as served:
        assert (await imported(served.address, [*lines[:2], about, *lines[3:]])).imported_count == UNTOLD
        (of_anna,) = [line for line in await exported(served.address) if "anna" in line]
        assert of_anna.replace(" ", "") == about.replace(" ", "")
        await erased(served.address, turn_id=own[0]["turn_id"])
        await erased(served.address, session_id=own[1]["session_id"])
        await erased(served.address, subject_id="anna")
        assert (await observed(served.address)).observation_count == UNTOLD - 3
        answer = await imported(served.address, [*lines[:2], about, *lines[3:]])
        assert (answer.erased_count, answer.known_count, answer.imported_count) == (3, UNTOLD - 3, 0)


async def test_what_was_imported_goes_with_its_age(tmp_path: Path, lines: list[str]) -> None:
    """Its turns are not here, so that they do not take it with them. Seen to fail when nothing else did."""
    old_us = json.loads(lines[0])["observation"]["at_us"] - 8 * DAY_US
    async with running(tmp_path, retention__trace_days="7") as served:
        await imported(served.address, [changed(lines[0], at_us=old_us), *lines[1:]])
        assert (await observed(served.address)).observation_count == UNTOLD
        served.sidecar.retention._prune_at_s = 0.0  # it may have been there already, and rests
        await served.sidecar.retention.forget()
        assert (await observed(served.address)).observation_count == UNTOLD - 1
