"""What goals ask: whether a retired lesson says the same (`turns/retired.py`)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from sidemirror_server.vocabulary.scope import Scope

# By text, the id of a retired lesson that says what it says; texts that none says are left out. Raises nothing but
# cancellation.
Retired = Callable[[Scope, Sequence[str]], Awaitable[Mapping[str, str]]]
