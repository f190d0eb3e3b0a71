"""What a machine may lack: on CI that fails a test, elsewhere the test is skipped with the reason."""

import os
import shutil
from typing import NoReturn

import pytest


def lacks(what: str) -> NoReturn:
    """This machine lacks something that the test needs."""
    if os.environ.get("CI"):
        pytest.fail(f"{what}; CI installs it (.ci/run)")
    pytest.skip(what)


def need(*programs: str) -> None:
    """Skips or fails unless all of these programs are installed."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        lacks(f"{', '.join(missing)} is not installed")
