"""Start-up loads no SDK that is not used: they cost more time and memory than all the rest of the server."""

import subprocess
import sys

import pytest

SDKS = "{'anthropic', 'openai', 'httpx2', 'pydantic', 'genai_prices', 'jinja2', 'mcp', 'qdrant_client', 'uvicorn'}"

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

SERVE_HTTP = SERVE.replace('"address"', '"http_address": "127.0.0.1:0", "address"')

MAKE = """
import sys
from sidemirror_server.models.adapters.anthropic import AnthropicModel
from sidemirror_server.models.adapters.openai_compatible import OpenAICompatibleModel
AnthropicModel("claude-haiku-5-5", "key")
OpenAICompatibleModel("gpt-5.5-mini", "key", "http://127.0.0.1:11434/v1")
"""

# A first call after that, to an address that refuses it.
PREPARE = """
import asyncio, socket, sys
from sidemirror_server.models.adapters.anthropic import AnthropicModel
from sidemirror_server.vocabulary.errors import ModelFailed
from tests.models.providers import real_ask

async def main(address):
    model = AnthropicModel("claude-haiku-5-5", "key", address)
    await model.prepare()
    loaded = set(sys.modules)
    try:
        await model.complete(real_ask(), 10.0)
    except ModelFailed:
        pass
    assert sys.modules.keys() == loaded, sys.modules.keys() - loaded
    await model.close()

with socket.socket() as held:
    held.bind(("127.0.0.1", 0))
    asyncio.run(main(f"http://127.0.0.1:{held.getsockname()[1]}"))
"""


@pytest.mark.parametrize(
    ("program", "loaded"),
    [
        pytest.param(SERVE, "set()", id="serve with no key"),
        pytest.param(SERVE_HTTP, "{'uvicorn'}", id="serve with a door for HTTP"),
        pytest.param(MAKE, "set()", id="a model that is made and not asked"),
        pytest.param(PREPARE, "{'anthropic', 'httpx2', 'pydantic'}", id="a model that is prepared, and its first call"),
    ],
)
def test_sdks_are_loaded_when_they_are_used(program: str, loaded: str, tmp_path: object) -> None:
    """A first call was seen to import more when it is not rehearsed."""
    check = f"\nfound = {SDKS} & sys.modules.keys()\nassert found == {loaded}, found"
    done = subprocess.run(
        [sys.executable, "-c", program + check, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("program", "is_loaded"), [(SERVE, False), (SERVE_HTTP, True)], ids=["without", "with"])
def test_the_console_is_loaded_with_the_door_alone(program: str, is_loaded: bool, tmp_path: object) -> None:
    check = "\nfound = {one for one in sys.modules if one.startswith('sidemirror_server.http')}\n"
    check += f"assert ('sidemirror_server.http.console.serving' in found) == bool(found) == {is_loaded}, found"
    done = subprocess.run(
        [sys.executable, "-c", program + check, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
