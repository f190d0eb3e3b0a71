"""What every adapter of the port `GoalReflections` does, clause by clause.

Each test is given a function that opens the port on one empty store; called again, it gives another object on it.
"""

import asyncio
import itertools
import random
from collections.abc import Callable, Iterable

import msgspec

from sidemirror_server.goals.record import GoalReflection, GoalState
from sidemirror_server.goals.store import MOST_PER_GOAL, GoalReflections
from sidemirror_server.goals.words import words_of
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE, Scope

OpenGoalReflections = Callable[[], GoalReflections]

ONE, OTHER, THIRD = Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop")
T0 = 1_773_238_980_000_000  # 2026-03-11T14:23:00Z
S = 1_000_000
DAY = 24 * 3600 * S


def reflection(reflection_id: str, goal_id: str = "g", at_us: int = T0, **fields: object) -> GoalReflection:
    made = GoalReflection(
        reflection_id, goal_id, "Research prices", f"insight {reflection_id}", 0.5, GoalState.COMPLETED, at_us,
        Origin.AGENT,
    )  # fmt: skip
    return msgspec.structs.replace(made, **fields)


def ids(reflections: Iterable[GoalReflection]) -> list[str]:
    return [one.reflection_id for one in reflections]


def goals(found: Iterable[tuple[GoalReflection, ...]]) -> list[str]:
    """The ids of goals, each of which has the reflections of that goal only."""
    listed = []
    for goal in found:
        (goal_id,) = {one.goal_id for one in goal}
        listed.append(goal_id)
    return listed


async def gr1_the_first_of_an_id_is_kept(open_reflections: OpenGoalReflections) -> None:
    reflections = open_reflections()
    first = reflection(
        "r1", "Grüße \U0001f642", objective='A "plain" task\n{[/]}\\ é', insight="] } , [ { \\\" 'x' \u2028 \U0001f642",
        importance=0.8, goal_state=GoalState.FAILED, origin=Origin.TOOL, created_us=T0 + 123_456,
    )  # fmt: skip
    assert await reflections.of_goal(ONE, first.goal_id, T0) == ()
    assert await reflections.put(ONE, first, T0 + S) is True
    again = msgspec.structs.replace(first, insight="another", created_us=T0 + 9 * S)
    assert await open_reflections().put(ONE, again, T0 + 9 * S) is False
    second = reflection("r2", first.goal_id, T0 + S, importance=1.0)
    assert await reflections.put(ONE, second, T0 + S) is True
    assert await open_reflections().of_goal(ONE, first.goal_id, T0 + 9 * S) == (second, first)
    # Nor does the goal come before others by what was not kept.
    await reflections.put(ONE, reflection("r3", "h", T0 + 5 * S), T0 + 5 * S)
    assert await reflections.put(ONE, again, T0 + 9 * S) is False
    assert goals(await reflections.recent(ONE, T0 + 9 * S)) == ["h", first.goal_id]
    racing = [reflection("raced", "race", insight=str(number)) for number in range(8)]
    kept = await asyncio.gather(*(reflections.put(ONE, one, T0) for one in racing))
    assert sum(kept) == 1
    assert len(await reflections.of_goal(ONE, "race", T0)) == 1


async def gr2_a_goal_has_its_three_newest(open_reflections: OpenGoalReflections) -> None:
    reflections = open_reflections()
    # Two of one time are in the order of their ids, downwards.
    made = [reflection(f"r{number}", at_us=T0 + number // 2 * 2) for number in range(1, 6)]
    for place, order in enumerate(itertools.permutations(made)):
        if place % 12 and place != 119:  # some of them, and the one from the newest to the oldest
            continue
        goal_id = f"g{place}"
        for number, one in enumerate(order, start=1):
            kept = await reflections.put(ONE, msgspec.structs.replace(one, goal_id=goal_id), T0 + 10)
            newer = [other for other in order[: number - 1] if (other.created_us, other.reflection_id) > (
                one.created_us, one.reflection_id)]  # fmt: skip
            assert kept is (len(newer) < 3)
        assert ids(await reflections.of_goal(ONE, goal_id, T0 + 10)) == ["r5", "r4", "r3"]


async def gr3_recent_goals(open_reflections: OpenGoalReflections) -> None:
    reflections = open_reflections()
    assert await reflections.recent(ONE, T0) == ()
    order = list(range(14))
    random.Random(1).shuffle(order)
    for number in order:
        await reflections.put(ONE, reflection(f"r{number}", f"g{number}", T0 + number * S), T0 + DAY)
    assert goals(await reflections.recent(ONE, T0 + DAY)) == [f"g{number}" for number in range(13, 3, -1)]
    # A newer reflection brings a goal to the front, an older one does not.
    await reflections.put(ONE, reflection("new", "g2", T0 + 20 * S), T0 + DAY)
    await reflections.put(ONE, reflection("old", "g9", T0 - 20 * S), T0 + DAY)
    found = await reflections.recent(ONE, T0 + DAY)
    assert goals(found) == ["g2", *(f"g{number}" for number in range(13, 4, -1))]
    assert ids(found[0]) == ["new", "r2"]
    assert ids(found[5]) == ["r9", "old"]


async def gr4_what_is_seven_days_old_is_not_shown(open_reflections: OpenGoalReflections) -> None:
    reflections = open_reflections()
    for number in range(3):
        await reflections.put(ONE, reflection(f"r{number}", at_us=T0 + number * DAY), T0 + 2 * DAY)
    await reflections.put(ONE, reflection("other", "h", T0), T0 + 2 * DAY)

    async def shown(now_us: int) -> tuple[list[str], list[str], list[str]]:
        alike = await reflections.similar(ONE, words_of("research prices"), 10, now_us)
        of_goal = await reflections.of_goal(ONE, "g", now_us)
        return ids(of_goal), goals(await reflections.recent(ONE, now_us)), goals(alike)

    assert await shown(T0 + 7 * DAY - 1) == (["r2", "r1", "r0"], ["g", "h"], ["g", "h"])
    assert await shown(T0 + 7 * DAY) == (["r2", "r1"], ["g"], ["g"])
    assert await shown(T0 + 9 * DAY - 1) == (["r2"], ["g"], ["g"])
    assert await shown(T0 + 9 * DAY) == ([], [], [])
    assert await shown(T0 - 8 * DAY) == (["r2", "r1", "r0"], ["g", "h"], ["g", "h"])


async def gr5_a_clock_that_was_ahead_has_cost_nothing(open_reflections: OpenGoalReflections) -> None:
    reflections = open_reflections()
    await reflections.put(ONE, reflection("r1", "g", T0), T0)
    await reflections.put(ONE, reflection("r2", "h", T0), T0)
    for days in (8, -8):
        now_us = T0 + days * DAY
        await reflections.of_goal(ONE, "g", now_us)
        await reflections.recent(ONE, now_us)
        await reflections.similar(ONE, words_of("prices"), 2, now_us)
        await reflections.put(ONE, reflection(f"at {days}", "h", now_us), now_us)
        await reflections.put(ONE, reflection(f"new at {days}", "i", now_us), now_us)
        await reflections.delete(ONE, "i", now_us)
    assert ids(await reflections.of_goal(ONE, "g", T0)) == ["r1"]
    assert "r2" in ids(await reflections.of_goal(ONE, "h", T0))
    assert set(goals(await reflections.recent(ONE, T0))) == {"g", "h"}
    assert ids(await reflections.of_goal(ONE, "g", T0 + 7 * DAY - 1)) == ["r1"]


async def gr6_delete(open_reflections: OpenGoalReflections) -> None:
    reflections = open_reflections()
    assert await reflections.delete(ONE, "g", T0) == 0
    for number in range(1, 5):
        await reflections.put(ONE, reflection(f"r{number}", at_us=T0 + number), T0 + 9)
        await reflections.put(ONE, reflection(f"h{number}", "h", T0 + number), T0 + 9)
    assert await reflections.delete(ONE, "g", T0 + 9) == 3
    assert await reflections.delete(ONE, "g", T0 + 9) == 0
    assert await reflections.of_goal(ONE, "g", T0 + 9) == ()
    assert goals(await reflections.recent(ONE, T0 + 9)) == ["h"]
    assert goals(await reflections.similar(ONE, words_of("prices"), 9, T0 + 9)) == ["h"]
    # What was made before comes back by no repeated put.
    for number in range(1, 5):
        assert await reflections.put(ONE, reflection(f"r{number}", at_us=T0 + number), T0 + 60 * S) is False
    assert await reflections.of_goal(ONE, "g", T0 + 60 * S) == ()
    assert await reflections.put(ONE, reflection("at", at_us=T0 + 9), T0 + 60 * S) is False
    assert await reflections.put(ONE, reflection("after", at_us=T0 + 10), T0 + 60 * S) is True
    assert ids(await reflections.of_goal(ONE, "g", T0 + 60 * S)) == ["after"]
    assert goals(await reflections.recent(ONE, T0 + 60 * S)) == ["g", "h"]


async def gr7_similar_goals(open_reflections: OpenGoalReflections) -> None:
    reflections = open_reflections()
    objectives = {
        "a": "Research competitor pricing",
        "b": "Research the pricing of competitors in Europe",
        "c": "Send the weekly report",
        "d": "Research competitors",
        "e": "Überprüfe die Preise",
        "f": "Research competitor pricing",
    }
    for number, (goal_id, objective) in enumerate(objectives.items()):
        await reflections.put(ONE, reflection(f"r{goal_id}", goal_id, T0 + number, objective=objective), T0 + 9)

    async def alike(task: str, limit: int = 10) -> list[str]:
        return goals(await reflections.similar(ONE, words_of(task), limit, T0 + 9))

    assert await alike("research competitor pricing") == ["f", "a", "b", "d"]
    assert await alike("research competitor pricing", 2) == ["f", "a"]
    assert await alike("Reports, weekly!") == ["c"]
    assert await alike("uberprufe") == ["e"]
    assert await alike("something else") == []
    assert await alike("") == []
    # The newest objective is what a goal is known by.
    await reflections.put(ONE, reflection("rc2", "c", T0 + 9, objective="Bake bread"), T0 + 9)
    assert await alike("bake bread") == ["c"]
    assert await alike("weekly report") == []


async def gr8_concurrent_puts(open_reflections: OpenGoalReflections) -> None:
    one, other = open_reflections(), open_reflections()
    made = [reflection(f"r{number:03}", f"g{number % 4}", T0 + number) for number in range(80)]
    chance = random.Random(2)
    chance.shuffle(made)
    await asyncio.gather(*(chance.choice([one, other]).put(ONE, each, T0 + S) for each in made))
    for number in range(4):
        newest = [f"r{76 - 4 * back + number:03}" for back in range(3)]
        assert ids(await one.of_goal(ONE, f"g{number}", T0 + S)) == newest
    assert goals(await one.recent(ONE, T0 + S)) == ["g3", "g2", "g1", "g0"]


async def gr9_scopes_never_meet(open_reflections: OpenGoalReflections) -> None:
    reflections = open_reflections()
    scopes = (ONE, OTHER, THIRD, DEFAULT_SCOPE, Scope("a:b", "c"), Scope("a", "b:c"), Scope("default", "default:x"))
    own = [reflection("r", "g", T0 + number, insight=str(number)) for number in range(len(scopes))]
    for scope, one in zip(scopes, own, strict=True):
        assert await reflections.of_goal(scope, "g", T0) == ()
        assert await reflections.recent(scope, T0) == ()
        assert await reflections.similar(scope, words_of("prices"), 9, T0) == ()
        assert await reflections.put(scope, one, T0) is True
    for scope, one in zip(scopes, own, strict=True):
        assert await reflections.of_goal(scope, "g", T0) == (one,)
        assert await reflections.recent(scope, T0) == ((one,),)
        assert await reflections.similar(scope, words_of("prices"), 9, T0) == ((one,),)
    assert await reflections.delete(OTHER, "g", T0 + S) == 1
    for scope, one in zip(scopes, own, strict=True):
        assert await reflections.of_goal(scope, "g", T0) == (() if scope == OTHER else (one,))
        assert await reflections.recent(scope, T0) == (() if scope == OTHER else ((one,),))


SPELT = (
    "a", "A", "a:b", "a%3Ab", "a%3ab", "*", "?", "[a]", "a*", "\\*", "{a}", "a b", "a\tb", "%", "%25", "g:1:2", "é",
    "e\u0301", "\U0001f642", "recent_goals:", "reflection:a", "'\"", "x" * 128,
)  # fmt: skip


async def gr10_ids_are_apart_however_they_are_spelt(open_reflections: OpenGoalReflections) -> None:
    reflections = open_reflections()
    for scope in (DEFAULT_SCOPE, ONE):
        for number, goal_id in enumerate(SPELT):
            assert await reflections.put(scope, reflection(f"r{number}", goal_id, T0 + number), T0) is True
        for number, goal_id in enumerate(SPELT):
            assert ids(await reflections.of_goal(scope, goal_id, T0)) == [f"r{number}"]
        assert goals(await reflections.recent(scope, T0)) == list(SPELT[:-11:-1])
        assert await reflections.delete(scope, "*", T0 + S) == 1
        assert await reflections.of_goal(scope, "*", T0) == ()
        assert len(await reflections.of_goal(scope, "a*", T0)) == 1


async def gr11_one_reflection_is_removed_and_refused(open_reflections: OpenGoalReflections) -> None:
    reflections = open_reflections()
    own = [reflection(f"r{number}", "g", T0 + number, objective=text)
           for number, text in enumerate(("prices of apples", "prices of pears", "weights of pears"))]  # fmt: skip
    for one in own:
        await reflections.put(ONE, one, T0)
    await reflections.put(ONE, reflection("r0", "h", T0, objective="others"), T0)
    await reflections.put(OTHER, own[0], T0)
    assert await reflections.remove(ONE, "g", "r0", T0 + S) is True
    assert await open_reflections().remove(ONE, "g", "r0", T0 + S) is False
    assert await reflections.remove(ONE, "none", "r1", T0 + S) is False
    assert await reflections.of_goal(ONE, "g", T0) == (own[2], own[1])
    assert await reflections.put(ONE, own[0], T0 + S) is False
    assert await reflections.of_goal(ONE, "g", T0) == (own[2], own[1])
    assert goals(await reflections.similar(ONE, words_of("apples"), 9, T0)) == []
    assert goals(await reflections.similar(ONE, words_of("pears"), 9, T0)) == ["g"]
    assert goals(await reflections.recent(ONE, T0)) == ["g", "h"]
    assert await reflections.remove(ONE, "g", "r2", T0 + S) is True
    assert await reflections.remove(ONE, "h", "r0", T0 + S) is True
    assert await reflections.of_goal(ONE, "h", T0) == ()
    assert goals(await reflections.recent(ONE, T0)) == ["g"]
    assert await reflections.of_goal(OTHER, "g", T0) == (own[0],)
    # One that newer ones took the place of has words in the index all the same.
    for number, text in enumerate(("plums", *["cherries"] * MOST_PER_GOAL)):
        await reflections.put(ONE, reflection(f"t{number}", "trimmed", T0 + number, objective=text), T0)
    assert await reflections.remove(ONE, "trimmed", "t0", T0 + S) is False
    assert goals(await reflections.similar(ONE, words_of("cherries"), 9, T0)) == ["trimmed"]


async def gr12_every_reflection_is_named(open_reflections: OpenGoalReflections) -> None:
    reflections = open_reflections()
    assert await reflections.every(ONE) == ()
    for scope in (DEFAULT_SCOPE, ONE, OTHER):
        for number, goal_id in enumerate((*SPELT, SPELT[0])):
            own = reflection(f"{scope.project_id} {number}", goal_id, T0 + number)
            assert await reflections.put(scope, own, T0) is True
    goal_of = dict(enumerate((*SPELT, SPELT[0])))
    for scope in (DEFAULT_SCOPE, ONE):
        named = {(goal_id, f"{scope.project_id} {number}") for number, goal_id in goal_of.items()}
        found = await open_reflections().every(scope)
        assert set(found) == named
        assert len(found) == len(named)
