"""The made-up organisation: its conventions, an agent in it, and its figures; scaled down, through a real sidecar."""

import re
from random import Random

import pytest

from bench.world import conventions
from bench.world.agent import Met, Role, Told, live, named
from bench.world.conventions import CHANGES_AT, EPISODES, Call, Option, Situation, passes, world
from bench.world.figures import (
    MOST_FAILURES_AFTER,
    MOST_FOLLOWED_AFTER,
    After,
    Taught,
    after_change,
    goals,
    lift,
    taught,
)
from bench.world.plot import svg
from bench.world.process import own_process
from bench.world.rules import lived_by_rules
from bench.world.running import Arm, Lived, Trials, lived

SEEDS = range(1, 6)


def situations(seed: int, episode: int) -> list[Situation]:
    """One of each convention."""
    of = world(seed)
    return [of.situation(name, episode, Random(f"{seed} {episode} {name}")) for name in conventions.CONVENTIONS]


@pytest.mark.parametrize("episode", [0, CHANGES_AT])
def test_what_is_right_repairs_and_its_name_is_not_in_the_refusal(episode: int) -> None:
    for seed in SEEDS:
        for one in situations(seed, episode):
            always = [option for option in one.options if all(passes(one, option, Random(at)) for at in range(50))]
            assert always == [option for option in one.options if option in (one.right, one.false)]
            assert one.right is None or one.right.name not in re.findall(r"\w+", one.refusal)


def test_what_repaired_it_before_the_change_repairs_it_no_more() -> None:
    for seed in SEEDS:
        of = world(seed)
        before, after = (of.situation("moved_flag", at, Random(1)) for at in (CHANGES_AT - 1, CHANGES_AT))
        assert after.outdated == before.right != after.right


def test_a_seed_is_the_same_world_each_time() -> None:
    assert world(3).situations(7) == world(3).situations(7) != world(4).situations(7)


class Says:
    """Answers each refusal with the same sentence."""

    def __init__(self, sentence: str) -> None:
        self._sentence = sentence

    async def ended(self, call: Call, text: str, *, failed: bool) -> Told:
        return Told((self._sentence,)) if failed else Told()


async def test_an_agent_tries_first_what_it_was_told() -> None:
    of, episode = world(1), 0
    met = []
    for seed in range(20):
        one = of.situation("field", episode, Random(seed))
        assert one.right is not None
        met.append(await live(one, of, episode, Says(f"`{one.right.name}` worked in 5 of 5."), Random(seed)))
    refused = [one for one in met if one.failed]
    assert len(refused) > 10
    assert all((one.told, one.tried, one.repaired) == ((Role.RIGHT,), (Role.RIGHT,), True) for one in refused)


def test_the_same_call_again_is_named_by_its_sentence() -> None:
    again, other = Option("", Call("a", {})), Option("b", Call("a", {"b": 1}))
    assert named([other, again], ["In 5 of 5 earlier tries `q` worked when it was sent again at once."]) == [again]
    assert named([other, again], ["its error says “`b` is wrong”, a failure of b: call `a` otherwise"]) == []
    assert named([other, again], ["In 5 of 5 earlier tries `q` worked with `b` set to true."]) == [other]


async def test_what_helped_is_told_and_what_was_planted_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through a real sidecar, in a world of two conventions; a seed in which agents soon try what is right."""
    some = {name: conventions.CONVENTIONS[name] for name in ("field", "planted")}
    monkeypatch.setattr(conventions, "CONVENTIONS", some)
    monkeypatch.setattr(conventions, "PER_EPISODE", len(some))
    found = await lived(Arm.RECOVERIES, [2], 10)
    assert {(one.convention, role) for one in found.met for role in one.told} == {("field", Role.RIGHT)}
    advised = [one for one in found.met if one.told]
    assert all(one.repaired for one in advised)
    (trials,) = found.trials
    assert (trials.shown, trials.shown_worked, trials.held_back) == (len(advised), len(advised), 0)
    assert taught(found.met)[0].repaired <= 8


async def test_a_sidecar_in_a_process_of_its_own_teaches_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is installed, with one showing in ten held back, and by the machine's clock."""
    some = {name: conventions.CONVENTIONS[name] for name in ("field", "planted")}
    monkeypatch.setattr(conventions, "CONVENTIONS", some)
    monkeypatch.setattr(conventions, "PER_EPISODE", len(some))
    found = await lived(Arm.WITHHELD, [2], 12, own_process)
    assert {(one.convention, role) for one in found.met for role in one.told} == {("field", Role.RIGHT)}
    assert all(one.repaired for one in found.met if one.told)
    (trials,) = found.trials
    assert trials.shown == trials.shown_worked == sum(bool(one.told) for one in found.met)
    # No episode begins when time is over.
    assert (await lived(Arm.WITHHELD, [2], 10, own_process, -1.0)).met == ()


async def test_the_bounds_by_the_rules_alone() -> None:
    """One seed in full: what changes is told before and after, and is not told wrongly for long."""
    found = await lived_by_rules(Arm.RECOVERIES, [3], EPISODES)
    told = {(one.convention, role) for one in found.met for role in one.told}
    assert told >= {(name, Role.RIGHT) for name in ("look_up", "field", "rate", "moved_flag")}
    assert {role for _, role in told} <= {Role.RIGHT, Role.OTHER, Role.OUTDATED}
    (after,) = after_change(found.met)
    assert 0 < after.followed <= MOST_FOLLOWED_AFTER
    assert after.last <= MOST_FAILURES_AFTER


async def test_one_in_ten_is_withheld() -> None:
    (trials,) = (await lived_by_rules(Arm.WITHHELD, [3], EPISODES)).trials
    assert 0 < trials.held_back < trials.shown / 4
    assert trials.shown_worked / trials.shown > trials.held_back_worked / trials.held_back


def met(episode: int, *, told: tuple[Role, ...] = (), tried: Role = Role.RIGHT, convention: str = "moved_flag") -> Met:
    works = tried is Role.RIGHT
    return Met(*(1, episode, convention, True, told, (tried,), works, works, works, 2))


def test_how_soon_it_is_told() -> None:
    rows = [met(0), met(1, tried=Role.OTHER), met(2), met(3, told=(Role.RIGHT,)), met(4)]
    assert taught(rows) == [Taught(1, "moved_flag", 2, told=True)]
    assert taught(rows[:3]) == [Taught(1, "moved_flag", 2, told=False)]


def test_what_is_told_after_the_change() -> None:
    outdated = (Role.OUTDATED,)
    late = [
        met(CHANGES_AT, told=outdated, tried=Role.OUTDATED),
        met(CHANGES_AT + 1),
        met(CHANGES_AT + 2, told=outdated, tried=Role.OTHER),
        met(CHANGES_AT + 3),
    ]
    assert after_change([met(5, told=(Role.RIGHT,)), *late]) == [After(1, 3, 1)]
    assert after_change([met(5), *late]) == []


def test_a_life_that_ends_before_the_change_says_nothing_of_it() -> None:
    """Seen to fail: silence after a change that had not come counted as met."""
    lives = {arm: Lived((met(5, told=(Role.RIGHT,)),), ()) for arm in (Arm.NONE, Arm.WITHHELD)}
    short = goals(lives, Arm.WITHHELD)
    assert not any("change" in line or "outdated" in line for line in short)
    lives[Arm.WITHHELD] = Lived((met(5, told=(Role.RIGHT,)), met(CHANGES_AT)), ())
    assert len(goals(lives, Arm.WITHHELD)) == len(short) + 2


def test_the_lift_of_advice() -> None:
    found = lift([Trials(10, 9, 10, 2)] * 5)
    assert found == pytest.approx((0.7, 0.7, 0.7))


def test_the_plot_has_a_line_for_each_arm() -> None:
    lives = {arm: Lived((met(0), met(25)), ()) for arm in Arm}
    drawn = svg(lives)
    assert drawn.count("<polyline") == 2 * len(Arm)
    assert all(f">{arm}<" in drawn for arm in Arm)
