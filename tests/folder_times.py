"""With `--durations`: what each folder of the tests takes, beside the slowest tests. A plugin of pytest that
`conftest.py` names."""

from collections import defaultdict
from pathlib import PurePath

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.option.durations is None:
        return
    took_s = defaultdict[str, float](float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                took_s[str(PurePath(report.nodeid.partition("::")[0]).parent)] += report.duration
    terminalreporter.section("seconds of each folder, of all workers together")
    for folder, seconds in sorted(took_s.items(), key=lambda entry: -entry[1]):
        terminalreporter.write_line(f"{seconds:7.1f}s {folder}")
