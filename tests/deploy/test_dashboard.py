"""The dashboard: each panel keeps to the job, namespace, pod and instance that were chosen, and Prometheus reads it."""

import json
import re
from pathlib import Path

import yaml

from tests.deploy.test_kubernetes import DEPLOY
from tests.deploy.tools import ran, tool

DASHBOARD = json.loads((DEPLOY / "grafana" / "sidemirror.json").read_text())
EXPRESSIONS = {
    f"{panel['title']} {target['refId']}": target["expr"]
    for panel in DASHBOARD["panels"]
    for target in panel.get("targets", ())
}
# From the widest to the narrowest: the values of each are those of the ones before it.
CHOSEN = ("job", "namespace", "pod", "instance")


def test_every_panel_keeps_to_what_was_chosen() -> None:
    """Seen to fail without the namespace and the pod, which alerts name."""
    assert len(EXPRESSIONS) > 30
    selector = ",".join(f'{name}=~"${name}"' for name in CHOSEN)
    for name, expression in EXPRESSIONS.items():
        series = re.findall(r"\b(?:sidemirror|process)_\w+(\{[^}]*\})?", expression)
        assert series, name
        assert [one for one in series if not one.startswith("{" + selector)] == [], name


def test_what_can_be_chosen() -> None:
    """All that there is, also where series have no namespace: `.*` matches a label that is not there."""
    _, *variables = DASHBOARD["templating"]["list"]
    assert [one["name"] for one in variables] == list(CHOSEN)
    for place, one in enumerate(variables):
        before = ",".join(f'{name}=~"${name}"' for name in CHOSEN[:place])
        series = "sidemirror_streams_open" + (f"{{{before}}}" if before else "")
        assert one["query"] == f"label_values({series}, {one['name']})"
        assert (one["multi"], one["includeAll"], one["allValue"]) == (True, True, ".*")


def test_prometheus_understands_each(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{place}", "expr": re.sub(r"\$\w+", ".*", expression)}
        for place, expression in enumerate(EXPRESSIONS.values())
    ]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in ran(tool("promtool"), "check", "rules", str(tmp_path / "rules.yaml"))
