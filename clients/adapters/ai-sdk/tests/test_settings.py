"""What `sidemirror(...)` refuses, before any agent runs."""

from agents import copied, ran


def test_what_is_wrong_is_refused() -> None:
    ran(("node", "--test", copied("settings.test.mjs")))
