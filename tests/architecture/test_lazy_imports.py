"""Start-up loads no SDK that is not used: they cost more time and memory than all the rest of the server."""

import subprocess
import sys

import pytest

SDKS = "{'anthropic', 'openai', 'httpx2', 'pydantic', 'genai_prices', 'jinja2'}"

SERVE = """
import asyncio, sys
from sidemirror_server.assembly import assemble
from sidemirror_server.settings import load

async def main(folder):
    async with assemble(load({"data_dir": folder, "address": "127.0.0.1:0"}, {})) as sidecar:
        await sidecar.start()
        await sidecar.drain()

asyncio.run(main(sys.argv[1]))
"""

MAKE = """
import sys
from sidemirror_server.models.adapters.anthropic import AnthropicModel
from sidemirror_server.models.adapters.openai_compatible import OpenAICompatibleModel
AnthropicModel("claude-haiku-5-5", "key")
OpenAICompatibleModel("gpt-5.5-mini", "key", "http://127.0.0.1:11434/v1")
"""

PREPARE = """
import asyncio, sys
from sidemirror_server.models.adapters.anthropic import AnthropicModel
asyncio.run(AnthropicModel("claude-haiku-5-5", "key").prepare())
"""


@pytest.mark.parametrize(
    ("program", "loaded"),
    [
        pytest.param(SERVE, "set()", id="serve with no key"),
        pytest.param(MAKE, "set()", id="a model that is made and not asked"),
        pytest.param(PREPARE, "{'anthropic', 'httpx2', 'pydantic'}", id="a model that is prepared"),
    ],
)
def test_sdks_are_loaded_when_they_are_used(program: str, loaded: str, tmp_path: object) -> None:
    check = f"\nfound = {SDKS} & sys.modules.keys()\nassert found == {loaded}, found"
    done = subprocess.run(
        [sys.executable, "-c", program + check, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
