"""What agents of the tests go through, told by the models' answers: the same stories for every framework."""

from scripted.wire import Answer, Call, Request

TASK = "How many orders are there?"
FAILURE = "Table 'shop.orders' doesn't exist"
BAD = Call("run_sql", {"query": "SELECT count(*) FROM orders"})
LOOK = Call("run_sql", {"query": "SHOW TABLES"})
GOOD = Call("run_sql", {"query": "SELECT count(*) FROM orders_2026"})
RIGHT = "There are 17 orders."
GUESS = "I could not count the orders."
# What the sidecar says once it has seen LOOK repair BAD in five sessions.
ADVICE = "the call worked after `SHOW TABLES`"
REPAIRED: tuple[Answer, ...] = ([BAD], [LOOK], [GOOD], RIGHT)
SESSIONS = 5

PAYMENTS_TASK = "What did I spend on taxis?"
PAYMENTS = "03/02 CITYCAB 18.40\n03/05 HOPPA 11.75\n03/13 CITYCAB 32.60"
WRONG_TOTAL = "You spent 18.40 + 11.75 + 32.60 = 64.75 altogether."
RIGHT_TOTAL = "You spent 18.40 + 11.75 + 32.60 = 62.75 altogether."
MISCOUNTED: tuple[Answer, ...] = ([Call("search_payments", {"text": "taxi"})], WRONG_TOTAL, RIGHT_TOTAL)

PAY_TASK = "Pay invoice 77."
PAY = Call("pay_invoice", {"invoice": 77})
PAID, UNPAID = "I have paid invoice 77.", "Invoice 77 is not paid: you declined it."


def sql(query: str) -> str:
    """The database's answer. Raises ValueError."""
    if query == "SHOW TABLES":
        return "orders_2026, customers"
    if "orders_2026" in query:
        return "17"
    raise ValueError(FAILURE)


def listener(request: Request) -> Answer:
    """A model that does what it is told to at a failing call, and gives up without."""
    if request.number == 0:
        return [BAD]
    if ADVICE not in request.text:
        return GUESS
    return REPAIRED[request.number]


def session_outcome(answer: str) -> int:
    """A judge of outcomes: SUCCESS for the right answer, else FAILURE."""
    return 1 if answer in (RIGHT, RIGHT_TOTAL) else 2


def unmarked_sql(query: str) -> str:
    """The database's answer, whose failures are texts, as in LangChain's SQLDatabaseToolkit."""
    try:
        return sql(query)
    except ValueError as error:
        return f"Error: {error}"
