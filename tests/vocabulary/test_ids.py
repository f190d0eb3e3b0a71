"""Ids that the server makes."""

from collections import deque

import pytest

from sidemirror_server.vocabulary import ids


class Raced(deque[int]):
    """Looks as if it held a number, which another thread takes before it is popped."""

    def __len__(self) -> int:
        return 1


def test_another_thread_takes_the_last_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail, with IndexError, when `new_id` asks beforehand whether there is one."""
    monkeypatch.setattr(ids, "_random", Raced())
    made = [ids.new_id(0) for _ in range(3)]
    assert len(set(made)) == 3
