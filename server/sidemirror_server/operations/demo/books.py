"""The data of the demonstration: a small company's books, in a real SQLite file."""

import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path

CUSTOMER = "Ortega"
QUESTION = "How much does Ortega still owe us, in euros, once the discount in her contract is taken off?"

_CONTRACTS = (
    ("Ortega Lda. - yearly service agreement", 10),
    ("Silva e Filhos - single order", 0),
    ("Brandt GmbH - framework agreement", 5),
)
# customer, cents, currency, state
_INVOICES = (
    ("Ortega", 120_000, "USD", "open"),
    ("Ortega", 86_050, "USD", "open"),
    ("Ortega", 40_000, "USD", "paid"),
    ("Silva", 99_900, "USD", "open"),
    ("Brandt", 15_000, "USD", "open"),
)
# customer, cents; only the payment service has them
PAYMENTS = (("Ortega", 50_000), ("Silva", 20_000), ("Ortega", 12_500))
USD_IN_EUR = Decimal("0.92")

_TABLES = """
CREATE TABLE contracts (title TEXT NOT NULL, discount_percent INTEGER NOT NULL);
CREATE TABLE invoices (
    customer TEXT NOT NULL, amount_cents INTEGER NOT NULL, currency TEXT NOT NULL, state TEXT NOT NULL
);
"""


def write_books(path: Path) -> None:
    """Creates the SQLite file of the books."""
    with closing(sqlite3.connect(path)) as books, books:
        books.executescript(_TABLES)
        books.executemany("INSERT INTO contracts VALUES (?, ?)", _CONTRACTS)
        books.executemany("INSERT INTO invoices VALUES (?, ?, ?, ?)", _INVOICES)


def query_books(path: Path, query: str, *values: str) -> list[tuple[object, ...]]:
    """The rows of a read-only query. Raises sqlite3.Error."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as books:
        return list(books.execute(query, values))


def right_answer() -> Decimal:
    """In euros, from the figures above. Judges the agent's answer; the agent never sees it."""
    invoiced = sum(cents for customer, cents, _, state in _INVOICES if customer == CUSTOMER and state == "open")
    discount = next(percent for title, percent in _CONTRACTS if CUSTOMER in title)
    paid = sum(cents for customer, cents in PAYMENTS if customer == CUSTOMER)
    return owed_eur(invoiced, discount, paid, USD_IN_EUR)


def owed_eur(invoiced_cents: int, discount_percent: int, paid_cents: int, rate: Decimal) -> Decimal:
    """The amount left to pay, in euros, rounded to cents."""
    cents = Decimal(invoiced_cents) * (100 - discount_percent) / 100 - paid_cents
    return (cents * rate / 100).quantize(Decimal("0.01"))
