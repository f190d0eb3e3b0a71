"""`uv run python -m bench.hooks [--failure] [--calls N]`: what hooks know of failures, and how long their calls take.

`--failure` needs the recorded data beside the checkout. 200 recorded tool outputs are told as each host tells them: 50
successes that hold the word error, 50 failures that do not, 50 other successes and 50 other failures; of a kind that
has fewer, others fill up. Precision and recall of what the hook makes of them, with what the host says of the failure,
and with the text alone, as where its transcript is missing or a tool is not a shell.
"""

import argparse
import http.client
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from bench.recovery_runs import results
from bench.split import Part
from sidemirror_server.http.hooks.hosts.happening import CallEnded
from sidemirror_server.http.hooks.table import HOSTS
from sidemirror_server.http.hooks.transcript import failed_in
from sidemirror_server.trace.failed import call_failed
from tests.architecture.repository import ROOT
from tests.http.callers import bearing
from tests.http.hooks.players import PLAYERS, ClaudeCode, Codex, Player
from tests.http.sidecars import door, token_of
from tests.wire.sidecar import SidecarThread

_EACH = 50
_DATA = ROOT.parent / "shared" / "data"
FAST = {"limits__http_requests_per_second": "10000"}


def sample() -> list[tuple[bool, str]]:
    """200 recorded outputs, each with whether it was a failure; the same ones each time."""
    every = sorted(
        {pair for recorded, _ in results(_DATA, Part.TUNING).values() for pair in recorded if pair[1].strip()}
    )
    random.Random(17).shuffle(every)
    kinds: dict[tuple[bool, bool], list[tuple[bool, str]]] = {}
    for failed, text in every:
        kinds.setdefault((failed, "error" in text.lower()), []).append((failed, text))
    chosen = [pair for pairs in kinds.values() for pair in pairs[:_EACH]]
    rest = [pair for pairs in kinds.values() for pair in pairs[_EACH:]]
    return chosen + rest[: 4 * _EACH - len(chosen)]


class Known(NamedTuple):
    """What the hooks of a host know of failures. `by_text`: by the text alone."""

    host: str
    by_text: bool
    precision: float
    recall: float


def known(pairs: Sequence[tuple[bool, str]]) -> Iterator[Known]:
    """What the hooks of each host make of these outputs."""
    with tempfile.TemporaryDirectory() as folder:
        for kind in PLAYERS:
            player: Any = kind(None, "bench", Path(folder))  # type: ignore[arg-type]  # nothing is sent
            by_host = [(failed, _failed(player, player.ran("run", text, int(failed)))) for failed, text in pairs]
            yield Known(player.host, False, *_figures(by_host))
            by_text = [(failed, _failed(player, _text_alone(player, text))) for failed, text in pairs]
            if kind.host not in (ClaudeCode.host, "cursor"):
                yield Known(player.host, True, *_figures(by_text))


def failure() -> None:
    """Prints precision and recall for each host."""
    pairs = sample()
    worded = sum("error" in text.lower() for failed, text in pairs if not failed)
    silent = sum("error" not in text.lower() for failed, text in pairs if failed)
    failures = sum(failed for failed, _ in pairs)
    print(f"{len(pairs)} outputs: {failures} failures, {silent} of them without the word error; ")
    print(f"{len(pairs) - failures} successes, {worded} of them with it.\n")
    print("| host | told by | precision | recall |\n|---|---|---|---|")
    for one in known(pairs):
        by = "the text alone" if one.by_text else "the host"
        print(f"| {one.host} | {by} | {one.precision:.3f} | {one.recall:.3f} |")


def _text_alone(player: Player, text: str) -> Any:
    """The payload of a tool of which the host says nothing but its text."""
    payload = player.ran("run", text, 0) | {"transcript_path": None}
    if "llmContent" in (payload.get("tool_response") or ()):
        payload["tool_response"] = {"llmContent": text}
    elif isinstance(payload.get("tool_response"), dict):
        payload["tool_response"] = {"content": [{"type": "text", "text": text}]}
    return payload


def _failed(player: Player, payload: Any) -> bool:
    host = HOSTS[player.host]
    happening = host.read(payload[host.event_field], payload)
    assert happening is not None
    ran = happening.what
    assert isinstance(ran, CallEnded)
    failed = ran.failed
    if failed is None and ran.transcript:
        failed = failed_in(ran.transcript, ran.call_id)
    # As what learns and what tells read it.
    return call_failed(ran.result, is_error=bool(failed), has_worked=failed is False)


def _figures(told: Sequence[tuple[bool, bool]]) -> tuple[float, float]:
    """Precision and recall."""
    hits = sum(failed and found for failed, found in told)
    found, failures = sum(found for _, found in told), sum(failed for failed, _ in told)
    return hits / max(1, found), hits / max(1, failures)


class Times(NamedTuple):
    """How long one kind of hook took, in milliseconds."""

    hook: str
    p50_ms: float
    p99_ms: float
    most_ms: float


def times(server: SidecarThread, folder: Path, count: int) -> Iterator[Times]:
    """How long `count` hooks of each kind take on one connection; those of the first kind are answered with nothing."""
    token = token_of(server.folder / "data")
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port)

    def post(body: bytes) -> float:
        began_s = time.perf_counter()
        connection.request("POST", "/hooks/codex", body, bearing(token) | {"sidemirror-timeout-ms": "20000"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
        return 1000 * (time.perf_counter() - began_s)

    player = Codex(server, "bench", folder)
    played: dict[str, Callable[[], Any]] = {
        "empty handler": lambda: {"hook_event_name": "Notification"},
        "a prompt": lambda: _next(player),
        "a call that worked": lambda: player.ran("git status", "clean", 0),
        "a call that failed": lambda: player.ran("git checkout x", "error: pathspec 'x' did not match", 1),
        "a final answer": lambda: player.answered("Done.", again=True)[0],
    }
    post(json.dumps(_next(player)).encode())
    for name, make in played.items():
        took = sorted(post(json.dumps(make()).encode()) for _ in range(count))
        yield Times(name, took[count // 2], took[int(count * 0.99)], took[-1])
        with suppress(OSError):
            post(json.dumps(_next(player)).encode())
    connection.close()


def calls(count: int) -> None:
    """Prints how long hooks take, beside a request that the same server answers with nothing."""
    print(f"| hook, {count} calls | p50 ms | p99 ms | most ms |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, door(Path(folder), FAST) as server:
        for one in times(server, Path(folder), count):
            print(f"| {one.hook} | {one.p50_ms:.2f} | {one.p99_ms:.2f} | {one.most_ms:.2f} |")


def _next(player: Player) -> Any:
    player.number += 1
    return player.asked("Switch to the branch of feature x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--failure", action="store_true", help="what hooks know of failures")
    parser.add_argument("--calls", type=int, default=0, metavar="N", help="how long N calls of each kind take")
    options = parser.parse_args()
    if options.failure or not options.calls:
        failure()
    if options.calls:
        calls(options.calls)


if __name__ == "__main__":
    main()
