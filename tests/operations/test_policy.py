"""`sidemirror policy` and `sidemirror advice` against a sidecar: what they set, what they show, what they refuse."""

import asyncio
import json
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import goal_reflection_pb2 as goal_pb
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.cli import main
from sidemirror_server.operations import policies as changing
from tests.faults.sidecars import running
from tests.memory.recovering import UNTOLD, live_through, until_observed
from tests.wire.access import ACME, INTRUDER, entry, write_access
from tests.wire.goals import failed_goal
from tests.wire.waiting import until_found


async def run(address: str, *arguments: str, code: int = 0) -> None:
    """Runs the command as from a shell."""
    assert await asyncio.to_thread(main, [*arguments, "--address", address]) == code


async def told(capsys: pytest.CaptureFixture[str], address: str, *arguments: str) -> Any:
    await run(address, *arguments, "--json")
    return json.loads(capsys.readouterr().out)


async def test_policy_set_and_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each value by itself: what is not named stays."""
    async with running(tmp_path) as served:
        address, acme = served.address, ("--scope", "acme/*")
        await run(address, "policy", "show")
        assert "default/default has no policy of its own." in capsys.readouterr().out
        days = ("--trace-days", "30", "--critique-days", "forever")
        await run(address, "policy", "set", *days, "--memory-importance", "0.25", "--memory-count", "7", *acme)
        await run(address, "policy", "set", "--usd-per-day", "2.5", "--tokens-per-day", "9", *acme)
        await run(address, "policy", "set", "--usd-per-day", "0.5", "--purpose", "dreaming", *acme)
        unset = ("--trace-days", "unset", "--tokens-per-day", "unset")
        capsys.readouterr()
        found = await told(capsys, address, "policy", "set", *unset, *acme)
        stored = found["tenant"]
        assert stored["policy"] == {
            "retention": {"critique_days": 0, "memory_importance": 0.25, "memory_count": "7"},
            "caps": [{"usd_per_day": 2.5}, {"purpose": "dreaming", "usd_per_day": 0.5}],
        }
        assert found["in_force"]["retention"]["trace_days"] == 90
        assert "project" not in found
        await run(address, "policy", "set", "--trace-days", "forever", "--scope", "acme/shop")
        shown = capsys.readouterr().out
        assert "Policy of tenant acme, project shop" in shown
        rows = [" ".join(line.replace("│", " ").replace("┃", " ").split()) for line in shown.splitlines()]
        assert {"critique days for ever for ever", "trace days for ever for ever", "memory count 7 7"} <= set(rows)
        assert {"cap 2.5 USD both", "cap on dreaming 0.5 USD both"} <= set(rows)
        assert "acme/shop: set at" in shown
        await run(address, "policy", "show", *acme)
        shown = capsys.readouterr().out
        assert "Policy of acme/*" in shown
        assert "project" not in shown
        rows = [" ".join(line.replace("│", " ").replace("┃", " ").split()) for line in shown.splitlines()]
        assert {"tenant", "memory count 7", "trace days", "cap on dreaming 0.5 USD"} <= set(rows)


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["policy", "set"], 2, "nothing to set"),
        (["policy", "set", "--trace-days", "1", "--purpose", "dreaming"], 2, "--purpose is about"),
        (["policy", "set", "--trace-days", "0"], 2, "a number of days from 1 to 36,500 is expected"),
        (["policy", "set", "--memory-count", "-1"], 2, "a whole number is expected"),
        (["policy", "set", "--usd-per-day", "much"], 2, "a number is expected"),
        (["policy", "show", "--scope", "*"], 2, "one project or tenant is expected, such as acme/shop or acme/*"),
        (["policy", "show", "--scope", "*/*"], 2, "'*/*': one project or tenant is expected"),
        (["policy", "show", "--scope", "acme"], 2, "'acme': one project or tenant is expected"),
        (["policy", "show", "--scope", "./no-such-folder"], 2, "'./no-such-folder' is no folder"),
        (["turns", "list", "--scope", "~no-such-user"], 2, "'~no-such-user' is no folder"),
        (["policy", "set", "--usd-per-day", "1", "--purpose", "fun"], 2, "policy set: --purpose: empty, or one of"),
        (["policy", "set", "--memory-importance", "2"], 2, "policy set: --memory-importance: "),
        (["advice", "off", "x" * 129], 1, "reflection_id"),
        (["advice", "off", "x" * 129, "--force"], 1, "policy.advice.silenced_ids[0]"),
        (["advice", "off", "m1"], 1, "m1: no lesson or recovery has this id; --force silences this id anyhow"),
        (["advice", "off", "lesson"], 1, "lesson: no lesson or recovery has this id; did you mean lessons?"),
        (["advice", "off", "Lessons"], 1, "Lessons: no lesson or recovery has this id; did you mean lessons?"),
        (["advice", "off", "Recoverys"], 1, "did you mean recoveries?"),
        (["advice", "off", "ALL"], 1, "did you mean all?"),
        (["advice", "on", "bogus"], 1, "bogus: nothing was off by this name\n"),
        (["advice", "on", "Lessons"], 1, "Lessons: nothing was off by this name; did you mean lessons?"),
        (["advice", "off", "lesson", "--scope", "default/*"], 1, "this is no kind of advice; did you mean lessons?"),
    ],
)
async def test_what_is_refused(
    arguments: list[str], code: int, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path) as served:
        try:
            found = await asyncio.to_thread(main, [*arguments, "--address", served.address])
        except SystemExit as refused:  # argparse
            found = int(refused.code or 0)
        assert (found, error in capsys.readouterr().err) == (code, True)
        assert "project" not in await told(capsys, served.address, "policy", "show")


async def test_lessons_are_silenced_by_their_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Memories and reflections of goals are known; a tenant's ids are not looked up."""
    async with running(tmp_path) as served:
        taught = await asyncio.to_thread(teach_at, served.address)
        for lesson_id in taught:
            await run(served.address, "advice", "off", lesson_id)
        await run(served.address, "advice", "off", "some-id", "--scope", "default/*")
        capsys.readouterr()
        found = await told(capsys, served.address, "advice", "show")
    assert found == {"off": [], "silenced_ids": ["some-id", *taught]}


def teach_at(address: str) -> list[str]:
    """The ids of a memory and of a goal's reflection that are stored."""
    with grpc.insecure_channel(address) as channel:
        result = memory_pb.ReflectionResult(reflection_text="Copy the report of each month.")
        request = memory_pb.StoreReflectionRequest(result=result)
        stored = ReflectiveMemoryServiceStub(channel).StoreReflection(request, timeout=60)
        goals = GoalReflectionServiceStub(channel)
        goals.ReportGoal(failed_goal("default"), timeout=60)
        asked = goal_pb.GetGoalReflectionsRequest(goal_id="g")
        (made,) = until_found(lambda: goals.GetGoalReflections(asked, timeout=60).reflections)
    return [stored.reflection_id, made.id]


async def test_advice_off_and_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path) as served:
        address = served.address

        async def says(*arguments: str, code: int = 0) -> list[str]:
            await run(address, "advice", *arguments, code=code)
            return capsys.readouterr().out.splitlines()

        own, both = "The policy of default/default turns off:", ["lessons: off", "recoveries: off"]
        assert await says("show") == ["lessons: on", "recoveries: on", f"{own} nothing"]
        assert await says("off", "lessons") == ["lessons: off", "recoveries: on", f"{own} lessons"]
        for _ in ("once", "and again"):
            said = await says("off", "m1", "--force")
            assert said == ["lessons: off", "recoveries: on", "lesson m1: off", f"{own} lessons, m1"]
        assert await says("off") == [*both, "lesson m1: off", f"{own} all, lessons, m1"]
        assert await says("on", "lessons", code=1) == [*both, "lesson m1: off", f"{own} all, m1"]
        assert await says("on") == ["lessons: on", "recoveries: on", "lesson m1: off", f"{own} m1"]
        assert await says("on", "m1") == ["lessons: on", "recoveries: on", f"{own} nothing"]
        # Other values of the policy stay, and the tenant's switch is stronger.
        await run(address, "policy", "set", "--trace-days", "3")
        await run(address, "advice", "off", "recoveries", "--scope", "default/*")
        capsys.readouterr()
        await run(address, "advice", "on", code=1)
        assert "still off, because the tenant's policy turns it off (--scope default/*)" in capsys.readouterr().err
        given = await told(capsys, address, "advice", "show")
        assert given == {"off": ["ADVICE_KIND_RECOVERIES"], "silenced_ids": []}
        found = await told(capsys, address, "policy", "show")
        assert found["project"]["policy"] == {"retention": {"trace_days": 3}}


@pytest.mark.parametrize("stored", [["first"], []], ids=["a policy is stored", "none is stored"])
async def test_a_change_is_made_again_where_somebody_was_faster(
    stored: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail when the change is made once, and where version 0 means any: the other's would be lost, or the
    command would end."""
    async with running(tmp_path) as served:
        for lesson_id in stored:
            await run(served.address, "advice", "off", lesson_id, "--force")
        read, interfered = changing.policies, list[bool]()

        def interfering(stub: SidecarServiceStub, options: Any) -> pb.GetPolicyResponse:
            found = read(stub, options)
            if not interfered:
                interfered.append(True)
                advice = pb.AdvicePolicy(silenced_ids=[*stored, "faster"])
                stub.SetPolicy(pb.SetPolicyRequest(policy=pb.Policy(advice=advice)), timeout=60)
            return found

        monkeypatch.setattr(changing, "policies", interfering)
        await run(served.address, "advice", "off", "second", "--force")
        capsys.readouterr()
        found = await told(capsys, served.address, "advice", "show")
        assert found == {"off": [], "silenced_ids": [*stored, "faster", "second"]}


async def test_with_tokens_it_takes_an_admins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    access = write_access(tmp_path / "access.json")
    async with running(tmp_path, access_file=str(access)) as served:
        for name, token, code in (("acme", ACME, 1), ("intruder", INTRUDER, 0)):
            file = tmp_path / name
            file.write_text(token)
            file.chmod(0o600)
            monkeypatch.setenv("SIDEMIRROR_TOKEN_FILE", str(file))
            await run(served.address, "policy", "set", "--trace-days", "3", "--scope", f"{name}/*", code=code)
        out, err = capsys.readouterr()
    assert "the token is no admin's: `admin` is missing from its entry in the access file" in err
    assert "intruder/*: set by intruder at" in out


async def test_an_admin_of_one_project_sees_what_applies_to_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is told that the tenant's policy may not be seen. Seen to fail when it is told that there is none."""
    entries = [entry("shop", ACME, ("acme", "shop"), admin=True), entry("ops", INTRUDER, ("acme", "*"), admin=True)]
    access = write_access(tmp_path / "access.json", entries)
    async with running(tmp_path, access_file=str(access)) as served:
        whole = ("--scope", "acme/*")

        async def as_token(token: str, *arguments: str, code: int = 0) -> tuple[str, str]:
            file = tmp_path / "token"
            file.touch(mode=0o600)
            file.write_text(token)
            monkeypatch.setenv("SIDEMIRROR_TOKEN_FILE", str(file))
            capsys.readouterr()
            await run(served.address, *arguments, code=code)
            return capsys.readouterr()

        await as_token(INTRUDER, "policy", "set", "--trace-days", "3", *whole)
        await as_token(INTRUDER, "advice", "off", "lessons", *whole)
        for command in ("policy", "advice"):
            out, err = await as_token(ACME, command, "show", *whole, code=1)
            assert err.startswith("sidemirror: acme/*: this token may not see its policy"), err
            assert "in force in acme/shop" in err
            assert "no policy of its own" not in out
            assert "turns off" not in out
            out, err = await as_token(INTRUDER, command, "show", *whole)
            assert ("acme/*" in out, err) == (True, "")
        out, _ = await as_token(ACME, "policy", "show")
        assert "tenant (hidden)" in out
        assert "acme/shop has no policy of its own." in out
        (days,) = [line for line in out.splitlines() if line.startswith("│ trace days")]
        assert [cell.strip() for cell in days.split("│")[1:-1]] == ["trace days", "", "", "3"]
        out, _ = await as_token(ACME, "advice", "show")
        assert out.splitlines()[0] == "lessons: off"


async def test_a_move_is_silenced_by_its_id(tmp_path: Path) -> None:
    """Seen to fail when only lessons are looked for."""
    async with running(tmp_path) as served:
        await live_through(served.address, UNTOLD)
        (move,) = (await until_observed(served.address, UNTOLD)).moves
        await run(served.address, "advice", "off", move.recovery_id)
