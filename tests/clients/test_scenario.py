"""Every client passes the one scenario against a real sidecar, and no agent is held up by one that is killed."""

import contextlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.clients.full import FullConnection
from tests.clients.harness import SCENARIO, Sidecar, run_scenario, sidecar
from tests.clients.languages import LANGUAGES, Language, ready
from tests.clients.troubled import AWAY, REFUSED, RETRY_AFTER_S, STATUSES, Troubled
from tests.wire.access import ACME, UNKNOWN, Certificates, write_access

pytestmark = [
    pytest.mark.slow("five clients are built and run, with a sidecar that is killed"),
    pytest.mark.timeout(900),
]
# What the page of requirements allows the agent's loop to lose to the helper, at most.
LONGEST_MS = 50.0
# The turns of away.json, and the moments at which its sidecar goes and comes, are of so many.
THOUSAND = 1_000
# Streams in a row that fail, until a turn is lost; and calls, until a report is.
TRIES = 10
# Calls that HTTP/2 refuses in a row: of a turn more than gRPC makes again by itself; of a stub less than clients try.
REFUSALS = {"RunTurn": 5, "Critique": 7, "GetServerInfo": 2}


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Sidecar]:
    with sidecar(tmp_path) as running:
        yield running


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_the_scenario(language: Language, beside: Sidecar) -> None:
    """Seen to fail at the summary that counts each event once, for each client, when the helper gives an event another
    id each time that it is sent."""
    command = ready(language)
    ran = run_scenario(command, "scenario.json", beside, language.folder)
    steps = json.loads((SCENARIO / "scenario.json").read_text())
    assert int(ran.printed("passed")) <= len(steps)
    assert int(ran.printed("passed")) >= sum("needs" not in step for step in steps)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_who_may_call(language: Language, tmp_path: Path) -> None:
    command = ready(language)
    certificates = Certificates(tmp_path / "tls")
    access = write_access(tmp_path / "access.json")
    settings = {f"SIDEMIRROR_{name.upper()}": value for name, value in certificates.settings().items()}
    with sidecar(tmp_path, SIDEMIRROR_ACCESS_FILE=str(access), **settings) as beside:
        for name, token in (("token_file", ACME), ("wrong_token_file", UNKNOWN)):
            (tmp_path / name).write_text(f"{token}\n")
            beside.variables[name] = str(tmp_path / name)
        beside.variables["ca_file"] = str(certificates.ca)
        run_scenario(command, "access.json", beside, language.folder)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_turns_that_the_sidecar_fails_with(language: Language, tmp_path: Path) -> None:
    """One that always fails is lost after ten streams, with or without details; one that goes on between is not. What
    there is no room for waits as long as it was told to. A sidecar that answers a turn before the question whether it
    is there is busy. Of one whose stream breaks behind the summary nothing is asked for again, and what it was told
    first is reported on first. Its store or model is away, which it says itself: a verdict comes to nothing, and
    outcomes and goals are reported again. None of this is the sidecar's absence. That it is too busy, or has no answer
    now, is told once for each method.

    Seen to fail for each client when what it hears while it asks does not count, and when a stream that breaks behind
    the summary counts as any other; for Python, when a turn is lost after twelve, and when a refusal for now counts as
    absence; for Rust, when that it is too busy is not told; for all but Go, when every UNAVAILABLE counts as
    absence."""
    command = ready(language)
    with Troubled(tmp_path) as troubled:
        ran = run_scenario(command, "troubled.json", troubled, language.folder)
    streams = {kind: len(times) for kind, times in troubled.streams_s.items()}
    assert streams == {"busy": 1, "internal": TRIES, "bare": TRIES, "later": REFUSED + 1, "slowly": 22, "behind": 1}
    assert troubled.outcomes == ["first", "second"]
    for kind, count in (("outcome", 2), ("goal", 1)):
        times_s = troubled.reports_s[kind]
        assert len(times_s) == AWAY + count
        assert times_s[AWAY] - times_s[AWAY - 1] > 0.99 * RETRY_AFTER_S
    came, ended = troubled.streams_s["later"][1:], troubled.ends_s["later"]
    assert min(later - end for end, later in zip(ended, came, strict=False)) > 0.99 * RETRY_AFTER_S
    for kind, count in (("later", 3), ("slowly", 22)):
        assert len(troubled.durable[kind]) == len(set(troubled.durable[kind])) == count
    assert ran.errors.count("too busy for") == 2  # for lessons, and for a verdict
    assert ran.errors.count("has no answer now") == 1
    bare = ran.lines.index("step a turn that something between always fails with")
    assert [line for line in ran.lines[:bare] if line.startswith("told ")] == []


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_what_a_status_means(language: Language, tmp_path: Path) -> None:
    """A stream and a goal's report that always end with a status that is no refusal are tried ten times and then lost.
    It is the sidecar's absence where nobody says why, and told once. A call that the agent waits for comes to nothing,
    which is no absence.

    Seen to fail for each client as it was: CANCELLED of a stream was tried for ever, by three of them as an absence;
    UNKNOWN of a report was dropped at once by Go and Rust, and tried for ever by the others."""
    command = ready(language)
    with Troubled(tmp_path) as troubled:
        ran = run_scenario(command, "statuses.json", troubled, language.folder)
    assert [len(troubled.streams_s[kind]) for kind in (*STATUSES, "slow")] == [TRIES] * 5
    assert {kind: len(times) for kind, times in troubled.reports_s.items()} == dict.fromkeys(STATUSES, TRIES)
    told = [line for line in ran.lines if line.startswith("told ")]
    assert len(told) == 1
    assert ran.lines.index(told[0]) > ran.lines.index("step a turn that something between always fails with")


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_a_sidecar_that_ends_is_away(language: Language, tmp_path: Path) -> None:
    """It says so in an answer of its own, and a moment later nobody is there. Seen to fail for Python when that counts
    as an answer, and for Rust when events wait for the first response of the stream that takes the turn up."""
    command = ready(language)
    with Troubled(tmp_path) as troubled:
        ran = run_scenario(command, "ending.json", troubled, language.folder)
    assert len([line for line in ran.lines if line.startswith("told ")]) == 1


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_a_full_connection(language: Language, tmp_path: Path) -> None:
    """HTTP/2 refuses a turn's first streams and a call's first attempts (REFUSED_STREAM). Both are tried again, that
    for a verdict for as long as it may take. Nothing of the turn is lost, and nobody is told that the sidecar is away.

    Seen to fail for Python, Go and TypeScript when a refused stream counts as absence, for TypeScript also at the call
    when its error stays INTERNAL; at the verdict, for these three, with the stubs' four attempts alone."""
    command = ready(language)
    with Troubled(tmp_path) as troubled:
        full = FullConnection(troubled, refusals=REFUSALS)
        try:
            ran = run_scenario(command, "busy.json", full, language.folder)
        finally:
            full.end()
    assert set(full.refusals.values()) == {0}
    assert len(troubled.durable["full"]) == len(set(troubled.durable["full"])) == 3
    assert [line for line in ran.lines if line.startswith("told ")] == []


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_more_turns_than_streams(language: Language, tmp_path: Path) -> None:
    """Of a sidecar that allows two streams on a connection the third turn waits until one of the others is over: gRPC
    itself holds it back. Nobody is told that the sidecar is away. Seen to fail at the second turn's plan when one
    stream is allowed."""
    command = ready(language)
    with sidecar(tmp_path, SIDEMIRROR_LIMITS__STREAMS_PER_CONNECTION="2") as beside:
        ran = run_scenario(command, "full.json", beside, language.folder)
    assert [line for line in ran.lines if line.startswith("told ")] == []


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
@pytest.mark.parametrize("turns", [200, pytest.param(THOUSAND, marks=pytest.mark.long)])
def test_turns_with_the_sidecar_killed(language: Language, turns: int, beside: Sidecar) -> None:
    """The delay is counted without the time in which the machine did other work, which is no client's doing and has
    taken 100 ms and more: what the client itself takes is the same on a busy machine. The plain delay has a test of its
    own.

    The agent's callback that is told throws, each time.

    Seen to fail for each client, with turns that are not in the record, when it does not open another stream after one
    broke; and by the delay, when beginning a turn waits for 60 ms while the sidecar is away."""
    figures = killed_in_the_middle(language, beside, turns)
    assert figures["longest_ms"] <= LONGEST_MS


@pytest.mark.long
@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_the_plain_delay(language: Language, beside: Sidecar) -> None:
    """The same by the clock alone. Needs an idle machine. With -s it prints a line for each client:
    `uv run pytest -m long -s tests/clients -k plain_delay`."""
    figures = killed_in_the_middle(language, beside, THOUSAND)
    assert figures["plain_ms"] <= LONGEST_MS


def killed_in_the_middle(language: Language, beside: Sidecar, turns: int) -> dict[str, float]:
    """Figures of a run of so many turns, in which nothing was lost and the agent was told once."""
    command = ready(language)
    steps = json.loads((SCENARIO / "away.json").read_text())
    (away,) = (step["away"] for step in steps if "away" in step)
    away |= {name: away[name] * turns // THOUSAND for name in ("turns", "kill_at", "start_at")}
    played = beside.folder / "away.json"
    played.write_text(json.dumps(steps))
    ran = run_scenario(command, str(played), beside, language.folder)
    figures: dict[str, float] = json.loads(ran.printed("away"))
    sys.stdout.write(
        f"\n{language.name}: the agent's loop was held up for {figures['plain_ms']:.1f} ms at most by the clock, for "
        f"{figures['longest_ms']:.1f} ms without the machine's other work\n"
    )
    assert recorded(beside, ran.variables["run"], away["turns"], away["events"]) == []
    assert figures["dropped"] == 0
    assert figures["told"] == 1, [line for line in ran.lines if line.startswith("told ")]
    return figures


def recorded(beside: Sidecar, run: str, turns: int, events: int) -> list[str]:
    """What is not once and in its order in the record."""
    wrong = []
    expected = ["turn_started", *(f"e{place}" for place in range(events)), "turn_finished"]
    with contextlib.closing(grpc.insecure_channel(beside.address)) as channel:
        thinking = ThinkingServiceStub(channel)
        for number in range(turns):
            turn_id = f"away-{run}-{number}"
            try:
                entries = thinking.GetTurn(pb.GetTurnRequest(turn_id=turn_id, page_size=1000)).entries
            except grpc.RpcError as error:
                wrong.append(f"{turn_id}: {error}")
                continue
            events_there = [entry.event for entry in entries if entry.WhichOneof("entry") == "event"]
            there = [
                event.event_id if event.HasField("tool_called") else event.WhichOneof("kind") for event in events_there
            ]
            if there != expected:
                wrong.append(f"{turn_id}: {Counter(there)}")
    return wrong
