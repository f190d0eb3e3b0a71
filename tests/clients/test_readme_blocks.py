"""The lines that the READMEs of Go, TypeScript and Java show beside their first programs: the compiler takes them."""

import re
import subprocess
from collections.abc import Sequence

import pytest

from tests.clients.languages import CLIENTS, LANGUAGES, ready

pytestmark = [pytest.mark.slow("three clients are built"), pytest.mark.timeout(600)]
_GO = """package main

import (
	"context"
	"fmt"

	sidemirror "github.com/sidemirror/sidemirror/clients/go"
	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/grpc/status"
)

func main() {}

func turn(ctx context.Context, client *sidemirror.Client, task string, goal *sidemirror.Goal) {
%s	_, _, _ = turn, messages, fmt.Sprint
}

func call(ctx context.Context, client *sidemirror.Client) error {
%s	return nil
}
"""
_TYPESCRIPT = """import { problemOf, type Sidemirror } from "@sidemirror/client";

export async function call(sidemirror: Sidemirror): Promise<void> {
%s}
"""
_JAVA = """import dev.sidemirror.client.*;
import dev.sidemirror.v1.*;
import io.grpc.StatusRuntimeException;
import java.util.List;
import java.util.concurrent.TimeUnit;

class Blocks {
  void turn(Sidemirror sidemirror, String task, List<String> messages) {
%s  }

  void call(Sidemirror sidemirror) {
%s  }
}
"""
_JAVAC = (
    'exec javac -Xlint:all -Werror -proc:none -d target/blocks -cp "target/classes:$(cat target/classpath)"'
    " target/blocks/Blocks.java"
)
# By the language: where its blocks stand, the file that they make, and what compiles it.
BLOCKS: dict[str, tuple[str, str, str, Sequence[str]]] = {
    "go": ("go", "main.go", _GO, ("go", "vet", "./target/blocks")),
    "typescript": (
        "ts", "blocks.ts", _TYPESCRIPT,
        ("npx", "tsc", "--noEmit", "--strict", "--module", "nodenext", "--target", "es2023", "--types", "node",
         "--lib", "es2023,esnext.disposable", "--skipLibCheck", "target/blocks/blocks.ts"),
    ),
    "java": ("java", "Blocks.java", _JAVA, ("sh", "-c", _JAVAC)),
}  # fmt: skip


@pytest.mark.parametrize("name", BLOCKS)
def test_the_other_blocks_compile(name: str) -> None:
    """All of them: a new one has to be put here."""
    ready(next(language for language in LANGUAGES if language.name == name))
    kind, file, form, command = BLOCKS[name]
    text = (CLIENTS / name / "README.md").read_text()
    # The first one is a program, which test_readmes.py runs.
    _, *blocks = re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == form.count("%s")
    here = CLIENTS / name / "target/blocks"
    here.mkdir(parents=True, exist_ok=True)
    (here / file).write_text(form % tuple(blocks))
    ran = subprocess.run(command, cwd=CLIENTS / name, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-6000:]
