"""What docs/many-teams.md shows is done as written: tokens of teams in one access file, a policy for each, what each
has spent, and the manifests of GitOps."""

import asyncio
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sidemirror_server.models.language_model import Purpose
from sidemirror_server.models.ledger import Amount
from sidemirror_server.rpc.boundary.access import read_access
from sidemirror_server.vocabulary.scope import Scope
from tests.acceptance.documents import ROOT
from tests.deploy.test_kubernetes import kustomized
from tests.faults.sidecars import running
from tests.postgres.databases import Databases
from tests.wire.sidecar import sidecar

PAGE = (ROOT / "docs" / "many-teams.md").read_text()
ADDRESS = "127.0.0.1:50091"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def typed(command: str, folder: Path, **more: str) -> str:
    """What a shell prints, with this test's `sidemirror`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SIDEMIRROR_")}
    environment = {**kept, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", **more}
    done = subprocess.run(
        ["sh", "-ec", command], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow("a process for each command")
def test_a_token_a_policy_and_the_spending_of_each_team(tmp_path: Path) -> None:
    tokens, access, policies, costs, usage, own = blocks("sh")
    typed(tokens + access, tmp_path)
    secrets = {path.name: path.read_text() for path in (tmp_path / "tokens").iterdir()}
    assert secrets[".gitignore"] == "*\n"
    # For a team that comes later: the others keep theirs.
    typed(tokens.replace("acme globex", "acme globex initech"), tmp_path)
    assert {path.name: path.read_text() for path in (tmp_path / "tokens").iterdir() if path.name in secrets} == secrets
    assert (tmp_path / "teams" / "initech.json").exists()
    found = read_access(tmp_path / "access.json")
    assert [(one.name, one.granted()[0], one.admin) for one in found] == [
        ("platform", "", True),
        ("acme", "acme", False),
        ("globex", "globex", False),
    ]
    assert {stat.S_IMODE((tmp_path / "tokens" / name).stat().st_mode) for name in ("acme", "platform")} == {0o600}
    assert "sha256" in (tmp_path / "teams" / "acme.json").read_text()
    with sidecar(tmp_path, settings={"access_file": str(tmp_path / "access.json")}) as server:
        shown = typed(policies.replace(ADDRESS, server.address), tmp_path)
        assert "acme/*: set by platform at " in shown
        assert "globex/*: set by platform at " in shown
        assert "nothing, as far as this token is good for" in typed(costs.replace(ADDRESS, server.address), tmp_path)
        looked = typed(own.replace(ADDRESS, server.address), tmp_path)
        assert "Looked in acme/default" in looked
        told = typed(usage.replace(ADDRESS, server.address), tmp_path, SIDEMIRROR_TOKEN_FILE="tokens/acme")
    assert re.search(r"tenant's on tenant .* 0.000000 USD .* 2.00 USD", told), "its own cap, with its figures"
    assert "Hidden: " in told, "what all share"


async def test_what_each_team_has_spent(databases: Databases, tmp_path: Path) -> None:
    """By the operator's role, though each row of contents is a tenant's. Seen to fail without the sums of the ledger's
    days."""
    async with databases.fresh() as name:
        url = databases.cluster.url("sidecar", name)
        async with running(tmp_path, database_url=url) as served:
            spending = served.sidecar.gateway._spending
            for tenant_id, tokens in (("acme", 300), ("acme", 30), ("globex", 7)):
                given = await spending.reserve(Scope(tenant_id, "p"), Purpose.CRITIQUE, Amount(tokens, 10**9), 60.0)
                spending.settle(given, Amount(tokens, tokens * 10**7))
            await spending.settled()
            command = f"sidemirror usage --by tenant --json --address {served.address}"
            told = json.loads(await asyncio.to_thread(typed, command, tmp_path))
    assert [(row["tenant_id"], row["tokens"], row["usd"]) for row in told["costs"]] == [
        ("acme", 330, pytest.approx(3.3)),
        ("globex", 7, pytest.approx(0.07)),
    ]
    assert told["all"]["today_tokens"] == 337


def test_the_migration_is_a_hook(tmp_path: Path) -> None:
    """Beside a clone, with the platform's namespace and every team's role."""
    (overlay,) = (block for block in blocks("yaml") if "kind: Kustomization" in block)
    shutil.copytree(ROOT / "deploy", tmp_path / "sidemirror" / "deploy")
    (tmp_path / "migration").mkdir()
    (tmp_path / "migration" / "kustomization.yaml").write_text(overlay)
    (job,) = kustomized(tmp_path / "migration")
    assert job["metadata"]["annotations"]["argocd.argoproj.io/hook"] == "PreSync"
    assert job["metadata"]["namespace"] == "sidemirror-platform"
    (migrate,) = job["spec"]["template"]["spec"]["containers"]
    assert migrate["image"] == "registry.example.com/sidemirror:0.1.0"
    assert migrate["args"][:3] == ["migrate", "--grant-to", "acme_sidecar"]


def test_the_route_is_one_of_alertmanagers() -> None:
    (route,) = (yaml.safe_load(block)["route"] for block in blocks("yaml") if block.startswith("route:"))
    assert [sorted(one) for one in route["routes"]] == [["matchers", "receiver"]]
