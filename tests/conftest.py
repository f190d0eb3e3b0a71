import logging
from collections.abc import Iterator

import hypothesis
import pytest

# A property is not about time: on a busy machine Hypothesis' own deadline per example fails at random.
hypothesis.settings.register_profile("sidemirror", deadline=None)
hypothesis.settings.load_profile("sidemirror")

pytest_plugins = ["tests.postgres.fixtures", "tests.redis.fixtures"]


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A command that logs to the standard error of one test must not do so in the next, where that is closed."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
