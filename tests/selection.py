"""Which tests a run takes, and how many processes share them. A plugin of pytest that `conftest.py` names.

A run that chooses nothing leaves out the tests marked `slow`. One that names a path or a node id, or is given --all,
-k, -m or --last-failed, takes them too. The tests marked `long` are left out by the expression in pyproject.toml.
"""

import re
from collections.abc import Generator

import pytest

# The machines that this is developed on, and CI's, have two cores. A worker waits nearly half of its time: for
# processes that it starts, and for time limits.
_WORKERS = 4
_BY_DEFAULT = "not long"
# Workers share the tests by file, but those of a client that is built as one: its folder is where it is built and run.
_LANGUAGES = "go|java|rust|typescript"
_OF_A_CLIENT = re.compile(rf"tests/clients/(?:test_({_LANGUAGES})_|.*[\[-]({_LANGUAGES})\]$)")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="take the tests marked `slow` too: all but those marked `long`")


def leaves_out_slow(config: pytest.Config) -> bool:
    option = config.option
    chosen = config.args_source is pytest.Config.ArgsSource.ARGS or option.all or option.keyword or option.lf
    return not chosen and option.markexpr == _BY_DEFAULT


def workers(config: pytest.Config) -> int:
    """None (0) for named files, which are done before a worker has started; for whoever looks at the terminal, to read
    what a test prints or to debug it; and for the long tests, which measure."""
    option = config.option
    looked_at = option.capture == "no" or option.usepdb or option.trace
    files = all(name.partition("::")[0].endswith(".py") for name in config.args)
    return 0 if looked_at or files or option.markexpr != _BY_DEFAULT else _WORKERS


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Before pytest-xdist looks at its options: `-n` says otherwise, and so does `-p no:xdist`."""
    option = config.option
    if config.pluginmanager.hasplugin("xdist") and not hasattr(config, "workerinput") and not option.tx:
        option.numprocesses = workers(config) if option.numprocesses is None else option.numprocesses
        option.dist = "loadfile" if option.dist == "no" else option.dist
        option.loadscopereorder = False  # by number of tests; the order of collection is better
    return (yield)


def shared(nodeid: str) -> str:
    """What one worker takes with this test: its file, or its client's language."""
    file = nodeid.partition("::")[0]
    client = _OF_A_CLIENT.match(nodeid)
    return (client[1] or client[2]) if client else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    if config.option.dist != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    scheduling = LoadFileScheduling(config, log)
    scheduling._split_scope = shared
    return scheduling


def pytest_report_header(config: pytest.Config) -> str:
    return "without the slow tests: --all takes them" if leaves_out_slow(config) else ""


@pytest.hookimpl(tryfirst=True)  # before -m looks at the markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks what compares itself with the machine as `timed`. Where workers share the tests, files with slow ones come
    first, so that all workers end at much the same time."""
    for item in items:
        if "machine" in getattr(item, "fixturenames", ()):
            item.add_marker("timed")
    slow = {item for item in items if item.get_closest_marker("slow")}
    if leaves_out_slow(config):
        items[:] = [item for item in items if item not in slow]
        config.hook.pytest_deselected(items=list(slow))
    elif hasattr(config, "workerinput"):
        first = {item.path for item in slow}
        items.sort(key=lambda item: item.path not in first)
