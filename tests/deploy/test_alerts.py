"""The alerts by Prometheus' own tool: each fires on its fault and none on a good day (`alerts.yaml`), and each has its
runbook. Seen to fail with `a and b > limit` in SidemirrorMemory, which could never fire, with a rule left out,
and with each part of SidemirrorModelFails left out or changed."""

import re
from typing import Any

import yaml

from tests.architecture.repository import ROOT
from tests.deploy.tools import ran, tool

RULES = ROOT / "deploy" / "prometheus-rules.yaml"
CASES = ROOT / "tests" / "deploy" / "alerts.yaml"
RUNBOOK = "https://github.com/sidemirror/sidemirror/blob/main/deploy/alerts.md#"


def rules() -> list[Any]:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return list(group["rules"])


def test_each_fires_on_its_fault_and_none_on_a_good_day() -> None:
    assert "SUCCESS" in ran(tool("promtool"), "test", "rules", str(CASES))


def test_no_alert_is_left_out() -> None:
    good_day, _, *faults = yaml.safe_load(CASES.read_text())["tests"]
    names = [rule["alert"] for rule in rules()]
    assert [case["alertname"] for case in good_day["alert_rule_test"]] == names
    fired = [case["alertname"] for fault in faults for case in fault["alert_rule_test"] if case["exp_alerts"]]
    assert list(dict.fromkeys(fired)) == names


def test_each_names_its_section_of_the_runbook() -> None:
    sections = re.findall(r"^## (\w+)$", (ROOT / "deploy" / "alerts.md").read_text(), re.MULTILINE)
    assert sections == [rule["alert"] for rule in rules()]
    assert [rule["annotations"]["runbook_url"] for rule in rules()] == [RUNBOOK + name.lower() for name in sections]
