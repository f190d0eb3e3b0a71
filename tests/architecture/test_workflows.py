"""The forge's workflows only call commands that a developer has too, and fetch nothing but the checkout."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.architecture.repository import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
# What every runner of the forge has.
_RUNNERS_OWN = re.compile(r"pipx install uv|sha256sum --check SHA256SUMS")
_OURS = re.compile(r'(?:sudo env PATH="\$PATH" HOME="\$HOME" (?:CI=true )?|uv run )?((?:\.ci|tools)/[\w-]+)(?: dist)?')
_USED = {"actions/checkout", "actions/upload-artifact"}


def steps(workflow: Any) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_each_step_is_a_command_of_the_project(path: Path) -> None:
    """Seen to fail with a step that installs by a pipe from the network."""
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for step in steps(workflow):
        if "uses" in step:
            assert step["uses"].partition("@")[0] in _USED
        elif not _RUNNERS_OWN.fullmatch(step["run"]):
            found = _OURS.fullmatch(step["run"])
            assert found is not None, step["run"]
            assert os.access(ROOT / found[1], os.X_OK)


def test_there_is_one_for_a_change_and_one_for_a_release() -> None:
    assert [path.stem for path in WORKFLOWS] == ["ci", "release"]
