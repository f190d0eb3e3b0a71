"""Agents of frameworks with real exporters, in environments of their own, where only variables say where spans go.

The packages come from the package indexes; uv or npm makes the environment.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.telemetry_in.agents.shop import ANSWER
from tests.telemetry_in.scripted import Called

AGENTS = Path(__file__).parent / "agents"
# What any agent in Python needs: it finds the instrumentations that are installed, and exports as variables say.
_PYTHON = ("opentelemetry-distro", "opentelemetry-exporter-otlp")
_NODE = ("@ai-sdk/openai-compatible@2", "@opentelemetry/api@1", "@opentelemetry/sdk-node", "ai@6", "zod@4")


class Setup(NamedTuple):
    """An agent, the packages that it needs, and the variables by which its spans have texts. `has_conversations`: its
    spans say which conversation they are of."""

    agent: str
    packages: Sequence[str] = ()
    variables: Mapping[str, str] = {}
    has_conversations: bool = True


# Without them Google ADK's spans have what tools get and return, and neither questions nor answers.
WITH_TEXTS = {
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
}
# By the names of the recorded ones (`captures.py`).
SETUPS = {
    "google-adk": Setup("google_adk_agent.py", ("google-adk",), WITH_TEXTS),
    "langchain-openinference": Setup(
        "langchain_agent.py", ("langchain", "langchain-openai", "openinference-instrumentation-langchain")
    ),
    "langchain-traceloop": Setup(
        "langchain_agent.py", ("langchain", "langchain-openai", "opentelemetry-instrumentation-langchain")
    ),
    "openai-agents-openinference": Setup(
        "openai_agents_agent.py",
        ("openai-agents", "openinference-instrumentation-openai-agents"),
    ),
    "openai-agents-traceloop": Setup(
        "openai_agents_agent.py",
        ("openai-agents", "opentelemetry-instrumentation-openai-agents"),
        has_conversations=False,
    ),
    "pydantic-ai": Setup("pydantic_ai_agent.py", ("pydantic-ai-slim[openai]",)),
    "vercel-ai-6": Setup("vercel_agent.mjs"),
}


# What each agent does in a run.
STEPS = (
    Called("run_sql", {"query": "SELECT count(*) FROM orders"}),
    Called("list_tables", {}),
    Called("run_sql", {"query": "SELECT count(*) FROM orders_2026"}),
)


def in_order(results: list[str]) -> Called | str:
    """The script of their model: each call, then the answer."""
    return STEPS[len(results)] if len(results) < len(STEPS) else ANSWER


class Destination(NamedTuple):
    """Where spans go: the address, how it is spoken to (`grpc` or `http/protobuf`), and the headers."""

    endpoint: str
    protocol: str = "grpc"
    headers: str = ""


def run(setup: Setup, to: Destination, model: str, folder: Path, *packages: str, **more: str) -> list[str]:
    """Runs the agent and returns the lines that it prints. `model`: the address of `scripted.py`; `folder`: where a
    project of npm is made; `packages`, `more`: packages and variables beside those of the set-up. An agent that fails
    is an AssertionError."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    environment = {
        **known,
        "OTEL_EXPORTER_OTLP_ENDPOINT": to.endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": to.protocol,
        "OTEL_EXPORTER_OTLP_HEADERS": to.headers,
        "OPENAI_BASE_URL": f"{model}/v1",
        "OPENAI_API_KEY": "none",
        "GEMINI_BASE_URL": model,
        "GOOGLE_API_KEY": "none",
        **setup.variables,
        **more,
    }
    if setup.agent.endswith(".mjs"):
        shutil.copy(AGENTS / setup.agent, folder)
        quiet = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline")
        _done(["npm", "install", *quiet, *_NODE], environment, folder)
        command = ["node", setup.agent]
    else:
        wanted = [part for package in (*setup.packages, *_PYTHON, *packages) for part in ("--with", package)]
        python = ["opentelemetry-instrument", "python", str(AGENTS / setup.agent)]
        command = ["uv", "run", "--no-project", "--isolated", *wanted, *python]
    return _done(command, environment, folder).splitlines()


_OURS = ("OTEL_", "OPENAI_", "GOOGLE_", "VIRTUAL", "SIDEMIRROR_", "PYTHON")


def _done(command: Sequence[str], environment: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout
