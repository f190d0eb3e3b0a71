"""The file for Docker Compose: settings of this server, in a form that it takes. No engine is asked."""

import re
from typing import Any

import pytest
import yaml

from sidemirror_server.operations.egress import exits
from sidemirror_server.settings import load, unknown_names
from tests.architecture.repository import ROOT

# What the file's user sets (Compose writes `${NAME:-default}` and `${NAME:?why}`).
GIVEN = {"QDRANT_API_KEY": "k", "SIDEMIRROR_EMBEDDING__NAME": "small", "OPENAI_API_KEY": "sk"}


@pytest.fixture
def services() -> Any:
    text = (ROOT / "deploy" / "compose" / "qdrant.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(re.sub(r"\$\{([A-Z_]+)(?::[-?][^}]*)?\}", lambda found: GIVEN[found[1]], text))["services"]


def test_the_sidecar_takes_its_settings(services: Any) -> None:
    environment = services["sidecar"]["environment"]
    assert unknown_names(environment) == ()
    settings = load({}, environment)
    assert (settings.store, settings.store_url.reveal()) == ("qdrant", "http://:k@qdrant:6333")
    assert [one.address for one in exits({}, environment) if one.what == "Qdrant"] == ["http://qdrant:6333"]


def test_qdrant_is_a_pinned_version_with_a_key_and_reached_from_this_machine_only(services: Any) -> None:
    qdrant = services["qdrant"]
    assert qdrant["image"].count(":") == 1
    assert not qdrant["image"].endswith(":latest")
    assert qdrant["environment"]["QDRANT__SERVICE__API_KEY"] == "k"
    assert all(port.startswith("127.0.0.1:") for port in qdrant["ports"])
