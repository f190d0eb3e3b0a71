"""What the tests of the clients share: how the Java machine is started."""

import pytest

from tests.clients.harness import ROOT


@pytest.fixture(autouse=True)
def light_java(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Java agent that lives for seconds starts as Maven does: the second compiler takes more than it does.
    Tests that measure have the compilers that users have."""
    if request.node.get_closest_marker("long") is None:
        monkeypatch.setenv("JAVA_FLAGS", (ROOT / ".mvn/jvm.config").read_text().strip())
