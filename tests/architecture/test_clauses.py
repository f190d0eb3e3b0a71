"""Every clause that a port's docstring numbers has its test in the port's conformance suite, and the other way round.

A port is found by its clauses (`WQ1  …` at the start of a line), a suite by its functions (`wq1_…`), in any module.
"""

import re

import pytest

from tests.architecture.repository import ROOT

_CLAUSE = re.compile(r"^ +([A-Z]{2})(\d+) +\S", re.MULTILINE)
_TEST = re.compile(r"^async def ([a-z]{2})(\d+)_\w+\(", re.MULTILINE)


def numbered(folder: str, pattern: re.Pattern[str]) -> dict[str, list[int]]:
    """The numbers by prefix, in the order in which they stand in the files."""
    found: dict[str, list[int]] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        for prefix, number in pattern.findall(path.read_text(encoding="utf-8")):
            found.setdefault(prefix.upper(), []).append(int(number))
    return found


PORTS = numbered("server/sidemirror_server", _CLAUSE)
SUITES = numbered("tests/conformance", _TEST)


def test_finds_the_ports() -> None:
    assert {"WQ", "TL", "SE"} <= PORTS.keys()


@pytest.mark.parametrize("prefix", sorted(PORTS.keys() | SUITES.keys()))
def test_clauses_and_tests_match(prefix: str) -> None:
    clauses = PORTS.get(prefix, [])
    assert clauses == list(range(1, len(clauses) + 1)), "numbered from 1, each once, in order"
    assert sorted(SUITES.get(prefix, [])) == clauses
