"""Every clause of the port holds."""

import pytest
from sidemirror_conformance import goal_reflections as suite
from sidemirror_conformance.clauses import clauses_of
from sidemirror_dict_store import DictGoalReflections, Kept

CLAUSES = clauses_of(suite)


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str) -> None:
    """One clause, on a store of its own."""
    kept = Kept()
    await CLAUSES[clause](lambda: DictGoalReflections(kept))
