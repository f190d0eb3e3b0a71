"""A month of an agent's life: memories stay few, dreaming stays under its cap and costs less when nothing new happens,
and what was worth finding is found as before. Prints the days."""

from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.vocabulary.scope import Scope
from tests.faults.figures import show
from tests.memory.month import BUSY_DAYS, NEW_DAYS, Day, Life, Settings, a_life
from tests.memory.retrieval import Figures, measured, scope_of

SHORT, MONTH = 1_200, 10_000


def shown(days: list[Day]) -> str:
    lines = [" day  told  memories  pruned  questions  lessons      USD"]
    for number, day in enumerate(days, start=1):
        counts = f"{day.told:>5} {day.memories:>9,} {day.pruned:>7} {day.asked:>10} {day.made:>8}"
        lines.append(f"{number:>4} {counts} {day.spent_usd:>8.4f}")
    return "\n".join(lines)


def check(life: Life, settings: Settings, at_first: int) -> None:
    days = life.days
    assert max(day.spent_usd for day in days) <= settings.usd_per_day
    # While there is something new it dreams; when what comes is known or noise less and less; of nothing it does not.
    new, known, quiet = days[:NEW_DAYS], days[NEW_DAYS:BUSY_DAYS], days[BUSY_DAYS + 1 :]
    assert sum(day.made for day in new) > 2 * sum(day.made for day in known)
    assert spent(known) < 0.5 * spent(new)
    assert spent(quiet) == 0
    # What a week brings, and the lessons: not what a month does.
    lessons = 2 * sum(day.made for day in days)
    a_week = max(sum(day.told for day in days[at : at + settings.memory_days + 1]) for at in range(len(days)))
    assert max(day.memories for day in days) <= at_first + a_week + lessons
    # In the end there are the lessons, what was told again in the last week, and what was there at first.
    assert days[-1].memories <= at_first + lessons + days[NEW_DAYS - 1].memories // 2


def spent(days: list[Day]) -> float:
    """The mean of a day."""
    return sum(day.spent_usd for day in days) / len(days)


async def test_a_quiet_month(tmp_path: Path) -> None:
    """Seen to fail when nothing is pruned, and when every cluster with something new is asked about."""
    settings = Settings()
    async with a_life(tmp_path, [Scope("acme", "shop")], settings) as (life, _):
        await life.live(SHORT)
    show(shown(life.days))
    check(life, settings, 0)


@pytest.mark.long
@pytest.mark.timeout(1800)
async def test_ten_thousand_episodes(tmp_path: Path) -> None:
    """With the recorded retrieval sets among what it remembers."""
    cases = [("programming", True), ("HotpotQA", True), ("tau", False)]
    scopes = [scope_of(name, with_task=with_task) for name, with_task in cases]
    settings = Settings()

    async def found() -> dict[str, Figures]:
        search = SqliteMemorySearch(database)
        return {name: await measured(life.memories, search, name, with_task=with_task) for name, with_task in cases}

    async with a_life(tmp_path, scopes, settings) as (life, database):
        before = await found()
        at_first = await life.count()
        await life.live(MONTH)
        after = await found()
    show(shown(life.days))
    check(life, settings, at_first)
    for name, figures in before.items():
        now = after[name]
        show(
            f"{name}: recall@5 {figures.recall_at_5:.3f} → {now.recall_at_5:.3f}, "
            f"hit@1 {figures.hit_at_1:.3f} → {now.hit_at_1:.3f}"
        )
        assert now.recall_at_5 >= figures.recall_at_5 - 0.005
        assert now.hit_at_1 >= figures.hit_at_1 - 0.005
