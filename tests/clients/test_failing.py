"""Behind which results an adapter waits for advice: those that the sidecar takes for failures, and few others. In
both languages that adapters are written in."""

import json
import subprocess
import time
from collections.abc import Sequence

import pytest

from bench.recovery_runs import results
from bench.split import Part
from sidemirror_client.failing import may_have_failed
from sidemirror_server.trace.failed import reports_failure
from tests.clients.languages import LANGUAGES, Language, ready
from tests.recorded import recordings
from tests.trace.test_failed import FAILED

# Of frameworks' own examples, and of the wordings that the sidecar knows.
MORE = (
    "Error: (sqlite3.OperationalError) no such column: Total",
    "Tool error: Please check your input and try again. (unknown location 'Pariss': did you mean 'Paris'?)",
    "Error executing tool: disk on fire",
    "{'status': 'error', 'error_message': 'no weather for NYC'}",
    '{"success": false, "data": null}',
    '{"items": [], "errors": ["too many"]}',
    "/home/josé/data: Is a directory",
    "/项目/数据.csv: connection refused",
    "no é code was there",
)
WORKED = (
    "",
    "\u0085",
    "[]",
    "done",
    "17",
    "[(17,)]",
    "Sunny, 25 degrees",
    '{"error": null, "data": 1}',
    '{"error": "", "output": "x"}',
    '{"error": [], "ok": true}',
    '{"exit_code": 0, "status": 200, "success": true}',
    '[{"error": "a row of a table of errors"}]',
    "name: Bob\ncity: Lisbon",
    "03/02 CITYCAB 18.40\n03/05 HOPPA 11.75",
)


HOSTILE = (
    "{" * 100_000,
    "{" + '"' * 99_999,
    '{"error"' + " " * 99_000 + "x",
    '{"error":' + " " * 99_000 + "x",
    "{" + '"code" : "4' * 9_000,
    "a: " * 30_000,
    "x: line 1: " * 9_000,
    "\n".join(["a (b): " + "n" * 390] * 20),
    "[" * 50_000,
)
# For each text of the list on stdin whether it may report a failure, and how many milliseconds that took.
_IN_NODE = """
import { mayHaveFailed } from "./dist/src/failing.js";
const given = await new Response(process.stdin).text();
const judged = JSON.parse(given).map((text) => {
  const began = performance.now();
  return [mayHaveFailed(text), performance.now() - began];
});
console.log(JSON.stringify(judged));
"""
# Those that adapters are written in.
both = pytest.mark.parametrize(
    "language", [one for one in LANGUAGES if one.name in ("python", "typescript")], ids=lambda language: language.name
)


def judged(language: Language, texts: Sequence[str]) -> list[tuple[bool, float]]:
    """Of each text whether it may report a failure, and how many milliseconds that took."""
    ready(language)
    if language.name == "python":
        return [_judged(text) for text in texts]
    command = ("node", "--input-type=module", "--eval", _IN_NODE)
    done = subprocess.run(
        command, input=json.dumps(texts), cwd=language.folder, capture_output=True, text=True, check=True
    )
    return [(may, took_ms) for may, took_ms in json.loads(done.stdout)]


def _judged(text: str) -> tuple[bool, float]:
    began_s = time.perf_counter()
    return may_have_failed(text), (time.perf_counter() - began_s) * 1000


@both
def test_a_failure_is_waited_for(language: Language) -> None:
    texts = [*FAILED, *MORE]
    assert [text for text, (may, _) in zip(texts, judged(language, texts), strict=True) if not may] == []


@both
def test_a_plain_result_is_not(language: Language) -> None:
    assert [text for text, (may, _) in zip(WORKED, judged(language, WORKED), strict=True) if may] == []


@both
def test_a_hostile_result_takes_no_time(language: Language) -> None:
    """The best of three: a machine may stop for a moment."""
    rounds = [judged(language, HOSTILE) for _ in range(3)]
    took_ms = [min(took_ms for _, took_ms in of_text) for of_text in zip(*rounds, strict=True)]
    assert [(text[:20], ms) for text, ms in zip(HOSTILE, took_ms, strict=True) if ms > 100] == []


@both
def test_recorded_results(language: Language) -> None:
    """Of every fourth result of the tuning part: of those that the sidecar takes for failures all but one in a hundred,
    and of the others one in thirty at most, which are waited for in vain."""
    texts = [text for recorded, _ in results(recordings(), Part.TUNING).values() for _, text in recorded if text]
    texts = texts[::4]
    found = [(reports_failure(text), may) for text, (may, _) in zip(texts, judged(language, texts), strict=True)]
    failed, others = [ours for theirs, ours in found if theirs], [ours for theirs, ours in found if not theirs]
    assert sum(failed) / len(failed) > 0.99
    assert sum(others) / len(others) < 1 / 30
