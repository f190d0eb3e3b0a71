"""The page's program runs as written, and the compiler accepts it."""

import re
from pathlib import Path

import pytest
from agents import project, ran
from scripted import stories
from scripted.endpoint import Endpoint

FOLDER = Path(__file__).parents[1]
COMPILER = FOLDER.parents[2] / "node_modules/typescript/bin/tsc"
_PROGRAM = re.compile(r"^```ts\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def program() -> Path:
    found = _PROGRAM.search((FOLDER / "README.md").read_text())
    assert found is not None
    written = project() / "agent.ts"
    written.write_text(found[1])
    written.with_suffix(".mjs").write_text(found[1])
    return written


def test_the_program_runs(program: Path, endpoint: Endpoint, address: str) -> None:
    endpoint.script("gpt-5", [stories.BAD], [stories.GOOD], stories.RIGHT)
    known = {"OPENAI_BASE_URL": f"{endpoint.url}/v1", "OPENAI_API_KEY": "x", "SIDEMIRROR_ADDRESS": address}
    assert ran(("node", str(program.with_suffix(".mjs"))), **known) == f"{stories.RIGHT}\n"
    assert "[reflection] " in endpoint.seen["gpt-5"][1].request.text


def test_the_compiler_accepts_it(program: Path) -> None:
    strict = ("--strict", "--noEmit", "--target", "es2023", "--module", "nodenext", "--skipLibCheck")
    types = ("--typeRoots", str(COMPILER.parents[2] / "@types"), "--types", "node")
    ran(("node", str(COMPILER), *strict, *types, program.name))
