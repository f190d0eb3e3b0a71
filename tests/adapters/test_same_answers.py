"""SQLite and Postgres are driven with the same operations, through every port but memories, and answer the same."""

import pytest

from tests.adapters.same_advice import AdviceOperations
from tests.adapters.same_stores import run
from tests.adapters.same_turns import TurnOperations
from tests.adapters.same_work import WorkOperations
from tests.postgres.databases import Databases


class SameAnswers(TurnOperations, WorkOperations, AdviceOperations):
    """All these operations among each other. Memories are in test_same_memories.py and test_same_vectors.py."""


def test_same_operations_same_answers(databases: Databases) -> None:
    run(SameAnswers, databases, examples=12, steps=50, shrink=False)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_same_operations_same_answers_for_long(databases: Databases) -> None:
    run(SameAnswers, databases, examples=300, steps=100, shrink=True)
