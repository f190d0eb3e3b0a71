"""What is checked in under generated/ is what the protos make today. Java is not: Maven makes it when it builds."""

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.architecture.repository import ROOT, checked, run_tool

pytestmark = pytest.mark.slow("five languages' generators run; tools/check runs it too")

# Per language: what its plugins need, and where and what they write.
LANGUAGES = {
    "python": ("python", ("sidemirror",), "*_pb2*.py*"),
    "go": ("go", ("sidemirror",), "*.go"),
    "typescript": ("npm", ("google", "grpc_health", "sidemirror"), "*_pb.*"),
    "rust": ("cargo", ("src/sidemirror",), "*.rs"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """generated/ made anew."""
    folder = tmp_path_factory.mktemp("made")
    checked(run_tool("tools/generate", "--output", str(folder)))
    return folder / "generated"


def contents(language: str, generated: Path) -> dict[str, bytes]:
    _, folders, pattern = LANGUAGES[language]
    sources = [path for folder in folders for path in (generated / language / folder).rglob(pattern)]
    return {
        path.relative_to(generated).as_posix(): path.read_bytes()
        for path in sources
        if path.parent.name != "__pycache__"
    }


@pytest.mark.timeout(1200)  # the first time, plugins are installed: those of Rust are compiled
@pytest.mark.parametrize("language", LANGUAGES)
def test_generated_code_is_fresh(language: str, made: Path) -> None:
    needed = LANGUAGES[language][0]
    if language != "python" and shutil.which(needed) is None:
        if os.environ.get("CI"):
            pytest.fail(f"{needed} is not installed")
        pytest.skip(f"{needed} is not installed: generated/{language} is not compared")

    new, kept = contents(language, made), contents(language, ROOT / "generated")

    assert new, "nothing was generated"
    assert sorted(kept) == sorted(new), "run tools/generate"
    stale = sorted(name for name, content in new.items() if kept[name] != content)
    assert stale == [], "run tools/generate"


def test_java_takes_in_every_file_of_the_contract() -> None:
    """Each file has a class of its own in Java, which its pom.xml names."""
    pom = (ROOT / "generated" / "java" / "pom.xml").read_text(encoding="utf-8")
    named = dict(re.findall(r'<with-options file="(\w+)" class="(\w+)"/>', pom))
    files = [path.stem for path in (ROOT / "protos" / "sidemirror" / "v1").glob("*.proto")]
    assert named == {file: file.title().replace("_", "") + "Proto" for file in files}
