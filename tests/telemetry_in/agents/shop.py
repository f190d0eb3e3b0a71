"""What the agents of `test_frameworks.py` have in common: a question, a database, and conversations.

Nothing here or in an agent says where spans go: that is in the environment alone.
"""

QUESTION = "How many orders are open?"
ANSWER = "There are 17."
MISSING = "Table 'shop.orders' doesn't exist"
TABLES = "orders_2026, customers"
CONVERSATIONS = ("c1", "c2", "c3", "c4", "c5")


def sql(query: str) -> str:
    """The agents' database. Raises ValueError for a table that is not there."""
    if "orders_2026" not in query:
        raise ValueError(MISSING)
    return "17"
