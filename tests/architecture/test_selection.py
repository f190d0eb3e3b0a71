"""Which tests a run takes, on a small project of its own; and that what left the default is listed."""

import re

import pytest

from tests import selection
from tests.architecture.repository import ROOT

pytest_plugins = ["pytester"]
INI = f"""
[pytest]
testpaths = tests
pythonpath = {ROOT}
asyncio_default_fixture_loop_scope = function
addopts = -m "not long" -p tests.selection
markers =
    slow: left out
    long: left out
"""
FILES = {
    "test_quick": "def test_quick(): pass",
    "test_kills": "from pytest import mark\npytestmark = mark.slow\ndef test_kill(): pass\ndef test_stop(): pass",
    "test_mixed": """from pytest import mark
def test_near(): pass
@mark.slow
def test_far(): pass
@mark.long
def test_for_ever(): pass
""",
}
SLOW = {"test_kill", "test_stop", "test_far"}
ALL = {"test_quick", "test_near"} | SLOW


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini(INI)
    folder = pytester.mkdir("tests")
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(text)
    return pytester


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        ([], {"test_quick", "test_near"}),
        (["-x"], {"test_quick", "test_near"}),
        (["--all"], ALL),
        (["tests"], ALL),
        (["tests/test_kills.py"], {"test_kill", "test_stop"}),
        (["tests/test_kills.py::test_stop"], {"test_stop"}),
        (["-k", "far or quick"], {"test_far", "test_quick"}),
        (["-m", "slow"], SLOW),
        (["-m", "long"], {"test_for_ever"}),
        (["--last-failed"], ALL),
    ],
)
def test_what_a_run_takes(arguments: list[str], taken: set[str], project: pytest.Pytester) -> None:
    listed = project.runpytest_inprocess("--collect-only", "-q", *arguments).stdout.str()
    assert set(re.findall(r"::(\w+)", listed)) == taken


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ([], 4),
        (["--all"], 4),
        (["tests"], 4),
        (["tests/test_kills.py", "tests"], 4),
        (["tests/test_kills.py", "tests/test_quick.py"], 0),
        (["tests/test_kills.py"], 0),
        (["tests/test_kills.py::test_stop", "tests/test_kills.py::test_kill"], 0),
        (["-s"], 0),
        (["--pdb"], 0),
        (["-m", "long"], 0),
    ],
)
def test_how_many_share_a_run(arguments: list[str], count: int, project: pytest.Pytester) -> None:
    assert selection.workers(project.parseconfig(*arguments)) == count


@pytest.mark.parametrize(("arguments", "workers"), [([], True), (["-n", "0"], False), (["-p", "no:xdist"], False)])
def test_whether_workers_share_a_run(arguments: list[str], workers: bool, project: pytest.Pytester) -> None:
    ended = project.runpytest_subprocess(*arguments)
    assert ("4 workers" in ended.stdout.str()) is workers
    ended.stdout.re_match_lines([r".*\b2 passed.*"])


@pytest.mark.parametrize(
    ("test", "unit"),
    [
        ("tests/clients/test_scenario.py::test_the_scenario[go]", "go"),
        ("tests/clients/test_behaviour.py::test_an_outage[kill-start-java]", "java"),
        ("tests/clients/test_behaviour.py::test_an_outage[kill-start-python]", "tests/clients/test_behaviour.py"),
        ("tests/clients/test_rust_calls.py::test_every_rpc_is_there_as_what_it_is", "rust"),
        ("tests/clients/test_typescript_package.py::test_it", "typescript"),
        ("tests/clients/test_adapters.py::test_it[newest]", "tests/clients/test_adapters.py"),
        ("tests/wire/test_turns.py::test_it[go]", "tests/wire/test_turns.py"),
    ],
)
def test_what_one_worker_takes_together(test: str, unit: str) -> None:
    assert selection.shared(test) == unit


def test_every_slow_file_is_listed() -> None:
    """CONTRIBUTING names each file with tests that left the default, and no other; each mark says why."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("| left out by default |")[2].partition("\n\n")[0]
    listed = re.findall(r"`(tests/[\w/]+\.py)`", table)
    marks = {
        path.relative_to(ROOT).as_posix(): re.findall(r"pytest\.mark\.slow\b(.?)", path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
    }
    assert sorted(listed) == [path for path, found in marks.items() if found]
    assert [path for path, found in marks.items() if set(found) - {"("}] == []


def test_no_file_takes_back_its_marks() -> None:
    """A second `pytestmark` would."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    assert [
        path for path in files if len(re.findall(r"^pytestmark\b", path.read_text(encoding="utf-8"), re.M)) > 1
    ] == []
