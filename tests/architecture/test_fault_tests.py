"""Every fault test says on which deliberately broken build it was seen to fail: one that cannot fail shows nothing.

The line stands in the test's docstring, or in its module's for all of them. This test was itself seen to fail when the
line was taken from one of the tests (`test_a_test_without_the_line_is_found` keeps that).
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.repository import ROOT

FOLDERS = ("tests/faults", "tests/goals", "tests/postgres", "tests/redis")
FILES = ("tests/storage/test_sqlite_faults.py", "tests/wire/test_kill.py", "tests/work/test_kills.py")
# Tests of the harness, which breaks nothing of the product; and of rules that nothing breaks in on.
NOT_FAULTS = {
    "tests/faults/test_harness.py",
    "tests/goals/test_context.py",
    "tests/goals/test_importance.py",
    "tests/goals/test_reflect.py",
}
LINE = "een to fail"


def fault_tests() -> list[Path]:
    """The files that hold fault tests."""
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("test_*.py"))]
    found += [ROOT / name for name in FILES]
    return [path for path in found if path.relative_to(ROOT).as_posix() not in NOT_FAULTS]


def without_the_line(source: str) -> Iterator[str]:
    """The tests of a module that do not say on which broken build they were seen to fail."""
    module = ast.parse(source)
    if _says(module):
        return
    for node in ast.walk(module):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("test_") and not _says(node):
            yield node.name


def _says(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return LINE in " ".join((ast.get_docstring(node) or "").split())


def test_every_fault_test_was_seen_to_fail() -> None:
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in fault_tests()
        for name in without_the_line(path.read_text(encoding="utf-8"))
    ]
    assert missing == []
    assert len(fault_tests()) > 15


def test_a_test_without_the_line_is_found() -> None:
    planted = (
        'async def test_a() -> None:\n    """Seen to\n    fail when x."""\ndef test_b() -> None:\n    """Fails."""\n'
    )
    assert list(without_the_line(planted)) == ["test_b"]
    assert list(without_the_line(f'"""All of them: seen to fail when y."""\n{planted}')) == []
