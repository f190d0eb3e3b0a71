"""What the agents of `test_told_to_frameworks.py` have in common: a shell in which a table is looked for."""

import os

QUESTION = "How many orders are open?"
ANSWER = "There are 17."
AT_A_LOSS = "I do not know."
BAD, LOOK_UP = "sqlite3 shop.db 'SELECT count(*) FROM orderz'", "sqlite3 shop.db .tables"
GOOD = "sqlite3 shop.db 'SELECT count(*) FROM orders_2026'"
FAILURE = "Error: in prepare, no such table: orderz"
CONVERSATIONS = os.environ.get("CONVERSATIONS", "").split()

_OUTPUTS = {LOOK_UP: "customers  orders_2026", GOOD: "17"}


def bash(command: str) -> str:
    """What the command prints. Raises ValueError where it fails."""
    if command not in _OUTPUTS:
        raise ValueError(FAILURE)
    return _OUTPUTS[command]
