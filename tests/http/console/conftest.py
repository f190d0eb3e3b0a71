"""What the tests of the console share: a browser."""

from collections.abc import Iterator

import pytest

from tests.http.chromium import Browser, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(autouse=True)
def _pages_of_one_test(request: pytest.FixtureRequest) -> Iterator[None]:
    if "browser" not in request.fixturenames:
        yield
        return
    with request.getfixturevalue("browser").pages():
        yield
