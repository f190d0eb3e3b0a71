"""Large events of many turns at once, from the TypeScript client."""

import json
import subprocess
from pathlib import Path

from tests.clients.harness import sidecar
from tests.clients.languages import LANGUAGES, ready

(TYPESCRIPT,) = (language for language in LANGUAGES if language.name == "typescript")
# 25 MB, reported before a stream of these turns is open. Prints how often the sidecar was told as away, and how many
# events are left.
_IN_NODE = """
import { connect, TaskOutcome } from "./dist/src/index.js";
let away = 0;
const sidemirror = connect({ address: process.argv[1], onAway: () => away++ });
await sidemirror.waitUntilReady();
const turns = Array.from({ length: 50 }, () => {
  const turn = sidemirror.beginTurn();
  for (let call = 0; call < 2; call++) turn.toolReturned("x".repeat(250_000));
  return turn;
});
await Promise.all(turns.map((turn) => turn.advice({ timeoutMs: 20_000 })));
for (const turn of turns) turn.finish(TaskOutcome.UNSPECIFIED);
await sidemirror.flush(60_000);
console.log(JSON.stringify([away, (await sidemirror.close()).events]));
"""


def test_they_are_no_absence(tmp_path: Path) -> None:
    """A connection of Node.js that holds 10 MB refuses streams, unless it is told otherwise. Seen to fail: the sidecar
    was told as away, and every turn's stream was given up."""
    ready(TYPESCRIPT)
    with sidecar(tmp_path) as beside:
        command = ("node", "--input-type=module", "--eval", _IN_NODE, beside.address)
        done = subprocess.run(command, cwd=TYPESCRIPT.folder, capture_output=True, text=True, check=True, timeout=120)
    assert json.loads(done.stdout) == [0, 0]
