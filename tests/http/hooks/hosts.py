"""Codex and Gemini CLI as they are installed from npm, and OpenHands' SDK from PyPI, run without a person in scratch
homes.

`tools/install-hosts` installs them into `.cache/hosts`; tests that need them skip where they are missing, and fail
where CI is set. OpenHands needs a later Python than we do: where none was to be had, its tests skip in CI too.
"""

import json
import os
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sidemirror_server import cli
from tests.http.hooks.endpoint import Endpoint

HOSTS_FOLDER = Path(__file__).parents[3] / ".cache" / "hosts"
_BINARIES = HOSTS_FOLDER / "node_modules" / ".bin"
_OPENHANDS = Path(__file__).parent / "openhands"
# What OpenHands alone imports takes ten seconds of a core.
_PATIENCE_S = 400


class Ran(NamedTuple):
    """What a run printed, and what its model was asked; both without what differs from run to run."""

    output: str
    asked: str


class RealHost(ABC):
    """A host in a scratch home."""

    name = ""
    binary = ""
    # Whether two runs of several calls are equal, byte by byte.
    is_steady = True

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self._folder = folder
        for made in (self.home, self.work):
            made.mkdir(parents=True)
        for arguments in (("init", "-q", "-b", "main"), ("commit", "-q", "--allow-empty", "-m", "begin")):
            who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
            subprocess.run(("git", "-C", str(self.work), *who, *arguments), check=True, capture_output=True)

    def attach(self, monkeypatch: pytest.MonkeyPatch, data: Path, port: int, *more: str) -> None:
        """What a user types, with this home. It ends with 1 where the sidecar does not take the token, and has attached
        the host."""
        data.mkdir(parents=True, exist_ok=True)
        with monkeypatch.context() as patched:
            patched.setenv("HOME", str(self.home))
            patched.setenv("SIDEMIRROR_DATA_DIR", str(data))
            patched.setenv("SIDEMIRROR_HTTP_ADDRESS", f"127.0.0.1:{port}")
            assert cli.main(["attach", self.name, "--yes", *more]) in (0, 1)

    def run(self, scripted: Endpoint, prompt: str) -> Ran:
        """Runs the host until it has answered. Nothing of the environment is passed on but the path."""
        binary = self.program()
        self.configure(scripted.url)
        environment = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            **self.variables(scripted.url),
        }
        run = subprocess.run(
            (str(binary), *self.arguments(scripted.url, prompt)),
            cwd=self.work,
            env=environment | self.variables(scripted.url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        return Ran(self.plain(run.stdout), self.plain(json.dumps([self.turn_of(body) for body in scripted.requests])))

    def program(self) -> Path:
        """The host's program. Skips where it is not installed; in CI that fails."""
        return installed(_BINARIES / self.binary, self.binary)

    def plain(self, text: str) -> str:
        """A text without the path of this home."""
        return text.replace(str(self._folder), "FOLDER")

    @abstractmethod
    def configure(self, url: str) -> None:
        """Writes the host's own configuration, apart from hooks."""

    @abstractmethod
    def variables(self, url: str) -> dict[str, str]: ...

    @abstractmethod
    def arguments(self, url: str, prompt: str) -> tuple[str, ...]: ...

    @abstractmethod
    def turn_of(self, body: Any) -> Any:
        """What of a request to the model comes from the turn: messages, calls, results, without ids and times."""


class RealCodex(RealHost):
    name = "codex"
    binary = "codex"

    def configure(self, url: str) -> None:
        path = self.home / ".codex" / "config.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            'model = "scripted"\nmodel_provider = "scripted"\napproval_policy = "never"\n'
            'sandbox_mode = "danger-full-access"\n[model_providers.scripted]\nname = "scripted"\n'
            f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "SCRIPTED"\n'
        )

    def variables(self, url: str) -> dict[str, str]:
        return {"SCRIPTED": "none"}

    def arguments(self, url: str, prompt: str) -> tuple[str, ...]:
        # What a person does once in /hooks.
        return ("exec", "--dangerously-bypass-hook-trust", prompt)

    def turn_of(self, body: Any) -> Any:
        kept = []
        for item in body["input"]:
            if item.get("role") in ("user", "assistant", "developer") and item["type"] == "message":
                kept.append([item["role"], *(part["text"] for part in item["content"])])
            elif item["type"] == "function_call":
                kept.append([item["type"], item["arguments"]])
            elif item["type"] == "function_call_output":
                kept.append([item["type"], item["output"].partition("Output:\n")[2]])
        return kept


class RealGemini(RealHost):
    name = "gemini-cli"
    binary = "gemini"

    def configure(self, url: str) -> None:
        path = self.home / ".gemini" / "settings.json"
        path.parent.mkdir(exist_ok=True)
        given = json.loads(path.read_text()) if path.exists() else {}
        given |= {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "telemetry": {"enabled": False},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False},
        }
        path.write_text(json.dumps(given))

    def variables(self, url: str) -> dict[str, str]:
        return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def arguments(self, url: str, prompt: str) -> tuple[str, ...]:
        return ("--yolo", "-m", "gemini-2.5-pro", "-p", prompt)

    def turn_of(self, body: Any) -> Any:
        kept = []
        for content in body["contents"]:
            for part in content["parts"]:
                text = part.get("text", "")
                # The first message tells the date and the folder.
                if text and "<session_context>" not in text:
                    kept.append([content["role"], text])
                elif "functionCall" in part:
                    kept.append(["call", part["functionCall"]["args"]["command"]])
                elif "functionResponse" in part:
                    output = str(part["functionResponse"]["response"])
                    kept.append(
                        [
                            "result",
                            output.partition("\\nProcess Group PGID")[0],
                            output.partition("</untrusted_context>")[2],
                        ]
                    )
        return kept


class RealOpenHands(RealHost):
    """An agent of its SDK with a shell; OpenHands has no hook for what a user says once it runs by itself."""

    name = "openhands"
    # Without tmux its shell may take the end of the command before for that of this one, if the machine is slow.
    is_steady = False

    def program(self) -> Path:
        """The Python of its environment. Skips where there is no Python that OpenHands runs on."""
        if (HOSTS_FOLDER / "no-python-for-openhands").exists():
            pytest.skip("no Python that OpenHands needs was found, and none could be fetched: tools/install-hosts")
        return installed(HOSTS_FOLDER / "openhands" / "bin" / "python", "openhands-sdk")

    def configure(self, url: str) -> None:
        pass

    def variables(self, url: str) -> dict[str, str]:
        # Prices and news are fetched from elsewhere unless these say no.
        return {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENHANDS_SUPPRESS_BANNER": "1"}

    def arguments(self, url: str, prompt: str) -> tuple[str, ...]:
        return (str(_OPENHANDS / "run.py"), f"{url}/v1", prompt)

    def turn_of(self, body: Any) -> Any:
        kept = []
        for message in body["messages"]:
            if message["role"] == "system":
                continue
            content = message.get("content")
            texts = [content] if isinstance(content, str) else [part["text"] for part in content or ()]
            calls = [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
            kept.append([message["role"], *texts, *calls])
        return kept


def installed(program: Path, name: str) -> Path:
    """The program. Skips where it is not installed; in CI that fails."""
    if not program.exists():
        if os.environ.get("CI"):
            pytest.fail(f"{name} is not installed: tools/install-hosts")
        pytest.skip(f"{name} is not installed: tools/install-hosts")
    return program
