"""Who may call: tokens, whose they are, and that nobody else's data is seen with them."""

import asyncio
import hashlib
import itertools
import logging
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidemirror.v1 import goal_reflection_pb2 as goal_pb
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import sidecar_pb2 as sidecar_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.rpc.boundary import streams
from sidemirror_server.rpc.boundary.access import Grant, Token
from sidemirror_server.settings import BadSettings
from sidemirror_server.storage.postgres.memories import PostgresMemories
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from tests.faults.clocks import SetClock
from tests.wire.access import ACME, EVERYWHERE, EXPIRED, INTRUDER, UNKNOWN, bearer, entry, write_access
from tests.wire.calls import Refusal, refusal_of
from tests.wire.sidecar import PATIENCE_S, SidecarThread, sidecar
from tests.wire.test_other_tenants import CANARY, METHODS, SHOWN, Owned, answers, requests
from tests.wire.waiting import until

UNAUTHENTICATED = Refusal(grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")
DENIED = Refusal(grpc.StatusCode.PERMISSION_DENIED, "SCOPE_NOT_PERMITTED")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    """A sidecar with tokens; its own scope is default/default, which none of them is good for."""
    folder = tmp_path_factory.mktemp("guarded")
    with sidecar(folder, settings={"access_file": str(write_access(folder / "access.json"))}) as server:
        yield server


@pytest.fixture
def channel(guarded: SidecarThread) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(guarded.address) as opened:
        yield opened


def listed(channel: grpc.Channel, metadata: Any, **scope: Any) -> Refusal | None:
    """How ListSessions is refused; None when it is answered."""
    try:
        ThinkingServiceStub(channel).ListSessions(
            pb.ListSessionsRequest(**scope), timeout=PATIENCE_S, metadata=metadata
        )
    except grpc.RpcError as error:
        return refusal_of(error)
    return None


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param(None, id="none"),
        pytest.param(bearer(UNKNOWN), id="unknown"),
        pytest.param(bearer(EXPIRED), id="expired"),
        pytest.param(bearer(ACME[:-1]), id="cut short"),
        pytest.param(bearer(""), id="empty"),
        pytest.param(bearer(ACME) * 2, id="twice"),
        pytest.param((("authorization", f"Basic {ACME}"),), id="another scheme"),
        pytest.param((("authorization", ACME),), id="no scheme"),
        pytest.param((("x-token", ACME),), id="another header"),
    ],
)
def test_without_a_good_token_nothing_is_answered(channel: grpc.Channel, metadata: Any) -> None:
    """Seen to fail when `caller_of` returns None for a token that it does not find."""
    assert listed(channel, metadata, tenant_id="acme") == UNAUTHENTICATED


def test_a_token_is_good_for_its_tenant_only(channel: grpc.Channel) -> None:
    assert listed(channel, bearer(ACME), tenant_id="acme") is None
    assert listed(channel, bearer(ACME), tenant_id="acme", project_id="shop") is None
    assert listed(channel, bearer(ACME), tenant_id="intruder") == DENIED
    # Not even for the sidecar's own.
    assert listed(channel, bearer(ACME), tenant_id="default") == DENIED
    assert listed(channel, bearer(ACME), tenant_id="default", project_id="default") == DENIED


def test_empty_fields_mean_the_only_scope_of_the_token(tmp_path: Path) -> None:
    access = [
        entry("shop", ACME, ("acme", "shop")),
        entry("two", INTRUDER, ("acme", "shop"), ("acme", "lab")),
        entry("platform", EVERYWHERE, ("*", "*")),
    ]
    file = write_access(tmp_path / "access.json", access)
    with (
        sidecar(tmp_path, settings={"access_file": str(file)}) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        stub = ThinkingServiceStub(channel)
        request = pb.CreateSessionRequest(session_id="s")
        stub.CreateSession(request, timeout=PATIENCE_S, metadata=bearer(ACME))
        found = pb.GetSessionRequest(session_id="s", tenant_id="acme", project_id="shop")
        assert stub.GetSession(found, timeout=PATIENCE_S, metadata=bearer(INTRUDER)).session.session_id == "s"
        assert listed(channel, bearer(INTRUDER)) == DENIED
        assert listed(channel, bearer(INTRUDER), tenant_id="acme", project_id="lab") is None
        # Its only tenant need not be named beside a project.
        assert listed(channel, bearer(INTRUDER), project_id="lab") is None
        assert listed(channel, bearer(INTRUDER), project_id="other") == DENIED
        assert listed(channel, bearer(ACME), tenant_id="acme", project_id="lab") == DENIED
        assert listed(channel, bearer(EVERYWHERE)) is None
        assert listed(channel, bearer(EVERYWHERE), tenant_id="anybody") is None


def test_empty_fields_mean_the_only_tenant_of_the_token(tmp_path: Path) -> None:
    """Whoever is granted all projects of one tenant names nothing, or a project alone. Seen to fail when `own_scope`
    knows tokens of one project only."""
    access = [
        entry("acme", ACME),
        entry("two tenants", INTRUDER, ("acme", "*"), ("globex", "*")),
        entry("a project of all", UNKNOWN, ("*", "shop")),
        entry("platform", EVERYWHERE, ("*", "*")),
    ]
    settings = {"access_file": str(write_access(tmp_path / "access.json", access)), "project_id": "main"}
    with sidecar(tmp_path, settings=settings) as server, grpc.insecure_channel(server.address) as channel:
        stub = ThinkingServiceStub(channel)

        def where(token: str, **asked: Any) -> Any:
            """The scopes that a session is found in which was made so."""
            name = f"{token[:2]}-{asked}"
            stub.CreateSession(pb.CreateSessionRequest(session_id=name, **asked), metadata=bearer(token))
            found = []
            for tenant_id in ("acme", "globex", "default"):
                for project_id in ("main", "default", "shop"):
                    listing = pb.ListSessionsRequest(tenant_id=tenant_id, project_id=project_id)
                    sessions = stub.ListSessions(listing, metadata=bearer(EVERYWHERE)).sessions
                    found += [(tenant_id, project_id)] * any(one.session_id == name for one in sessions)
            return found

        # The sidecar's own project, as for a request that names the tenant alone.
        assert where(ACME) == where(ACME, tenant_id="acme") == [("acme", "main")]
        assert where(ACME, project_id="shop") == [("acme", "shop")]
        assert where(EVERYWHERE) == [("default", "main")]
        assert where(EVERYWHERE, project_id="shop") == [("default", "shop")]
        assert listed(channel, bearer(ACME), tenant_id="default") == DENIED
        assert listed(channel, bearer(ACME), tenant_id="globex", project_id="main") == DENIED
        # Nobody knows which tenant is meant.
        assert listed(channel, bearer(INTRUDER)) == listed(channel, bearer(INTRUDER), project_id="shop") == DENIED
        assert listed(channel, bearer(UNKNOWN)) == DENIED
        assert where(UNKNOWN, project_id="shop") == [("default", "shop")]
        told = SidecarServiceStub(channel).GetServerInfo(sidecar_pb.GetServerInfoRequest(), metadata=bearer(ACME))
        assert (told.tenant_id, told.project_id) == ("acme", "main")


NAMES = ("*", "default", "acme", "globex")


def test_no_token_has_an_own_scope_that_it_is_not_granted() -> None:
    """Of every pair of grants. Seen to fail when the own scope is not held against the grants."""
    grants = [Grant(tenant_id, project_id) for tenant_id in NAMES for project_id in NAMES]
    for pair in [*itertools.combinations(grants, 2), *((one,) for one in grants)]:
        token = Token("t", b"", pair, None)
        own = token.own_scope(DEFAULT_SCOPE)
        assert own is None or (token.covers(own) and "*" not in (own.tenant_id, own.project_id) and own.tenant_id), pair
        # More tenants than one, and not the sidecar's: none is meant.
        if len({one.tenant_id for one in pair}) > 1 and not token.covers(DEFAULT_SCOPE):
            assert own is None, pair


def test_health_needs_no_token(channel: grpc.Channel) -> None:
    health: Any = health_pb2_grpc.HealthStub(channel)
    assert health.Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE_S).status == 1


def test_every_rpc_asks_for_a_token_and_knows_whose_it_is(guarded: SidecarThread, channel: grpc.Channel) -> None:
    """With another tenant's ids, in every RPC of the contract: without a token, with a foreign one, and with one's own.
    Seen to fail when `scope_of` does not look at what the token covers."""
    owned = Owned(guarded.address, bearer(ACME))
    for method in METHODS:
        for request in requests(method, "acme", owned):
            assert answers(channel, method, request) is grpc.StatusCode.UNAUTHENTICATED, method.name
            assert answers(channel, method, request, bearer(EXPIRED)) is grpc.StatusCode.UNAUTHENTICATED, method.name
            assert answers(channel, method, request, bearer(INTRUDER)) is grpc.StatusCode.PERMISSION_DENIED, method.name
        for request in requests(method, "intruder", owned):
            found = answers(channel, method, request, bearer(INTRUDER))
            if isinstance(found, list):
                assert CANARY not in "".join(map(str, found)), f"{method.name} {request}"
            else:
                assert found is not grpc.StatusCode.PERMISSION_DENIED
    shown = {
        method.name
        for method in METHODS
        for request in requests(method, "acme", owned)
        if isinstance(found := answers(channel, method, request, bearer(ACME)), list)
        and CANARY in "".join(map(str, found))
    }
    assert shown >= SHOWN


def test_each_refused_call_leaves_one_line_without_the_token(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """On a server that has refused nobody yet; test_refusals.py has how many lines there are of many."""
    file = write_access(tmp_path / "access.json")
    with (
        caplog.at_level(logging.INFO),
        sidecar(tmp_path, settings={"access_file": str(file)}) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        listed(channel, None, tenant_id="acme")
        listed(channel, bearer(UNKNOWN), tenant_id="acme")
        listed(channel, bearer(EXPIRED), tenant_id="acme")
        listed(channel, bearer(INTRUDER), tenant_id="acme", project_id="shop")
        listed(channel, bearer(ACME), tenant_id="acme")
    lines = [vars(record) for record in caplog.records if record.message == "call_refused"]
    assert [(line["reason"], line["token"]) for line in lines] == [
        ("the call carries no token", ""),
        ("the token is not known", ""),
        ("the token has expired", "old"),
        ("the token is not good for this tenant and project", "intruder"),
    ]
    assert (lines[3]["tenant_id"], lines[3]["project_id"]) == ("acme", "shop")
    assert {line["method"] for line in lines} == {"sidemirror.v1.ThinkingService/ListSessions"}
    assert all(line["peer"].startswith("unix:") for line in lines)
    for token in (ACME, INTRUDER, EXPIRED, UNKNOWN):
        assert token not in str(lines)


def test_tokens_are_replaced_without_a_restart(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """First both are good, then only the new one. A file that cannot be used changes nothing. Seen to fail when
    `Reread.current` does not look again."""
    file = write_access(tmp_path / "access.json", [entry("acme", ACME)])
    with (
        sidecar(tmp_path, settings={"access_file": str(file)}) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        new = entry("acme-2", INTRUDER, ("acme", "*"))
        assert listed(channel, bearer(INTRUDER), tenant_id="acme") == UNAUTHENTICATED
        write_access(file, [entry("acme", ACME), new])
        until(lambda: listed(channel, bearer(INTRUDER), tenant_id="acme") is None)
        assert listed(channel, bearer(ACME), tenant_id="acme") is None
        write_access(file, [new])
        until(lambda: listed(channel, bearer(ACME), tenant_id="acme") == UNAUTHENTICATED)
        write_access(file, [entry("acme", ACME)], mode=0o644)
        until(lambda: listed(channel, bearer(UNKNOWN)) == UNAUTHENTICATED and "access_file_not_read" in caplog.text)
        assert listed(channel, bearer(INTRUDER), tenant_id="acme") is None
        assert listed(channel, bearer(ACME), tenant_id="acme") == UNAUTHENTICATED


def test_only_the_digest_of_a_token_need_be_in_the_file(tmp_path: Path) -> None:
    known = {
        "name": "acme",
        "sha256": hashlib.sha256(ACME.encode()).hexdigest(),
        "grants": [{"tenant_id": "acme"}],
    }
    file = write_access(tmp_path / "access.json", [known])
    with (
        sidecar(tmp_path, settings={"access_file": str(file)}) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        assert listed(channel, bearer(ACME), tenant_id="acme") is None
        assert listed(channel, bearer(INTRUDER), tenant_id="acme") == UNAUTHENTICATED


def test_a_token_ends_when_it_says(tmp_path: Path) -> None:
    """And not before. Seen to fail when `caller_of` does not look at the time."""
    file = write_access(tmp_path / "access.json", [entry("acme", ACME, expires="2027-01-15T08:00:01Z")])
    clock = SetClock(1_800_000_000_000_000)  # a second before
    with (
        sidecar(tmp_path, settings={"access_file": str(file)}, clock=clock) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        assert listed(channel, bearer(ACME), tenant_id="acme") is None
        clock.advance(1.0)
        assert listed(channel, bearer(ACME), tenant_id="acme") == UNAUTHENTICATED


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o660, 0o620, 0o666, 0o610])
def test_a_file_that_others_can_use_is_refused(mode: int, tmp_path: Path) -> None:
    """Seen to fail when `read_secret` does not look at the mode."""
    file = write_access(tmp_path / "access.json", mode=mode)
    with pytest.raises(BadSettings, match=f"access_file .*its mode is {mode:04o}"):
        SidecarThread(tmp_path, settings={"access_file": str(file)}).start()


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o440, 0o640])
def test_a_file_that_only_its_group_can_read_is_taken(mode: int, tmp_path: Path) -> None:
    file = write_access(tmp_path / "access.json", mode=mode)
    with sidecar(tmp_path, settings={"access_file": str(file)}):
        pass


GRANTS = [{"tenant_id": "t"}]
GOOD = {"name": "a", "token": ACME, "grants": GRANTS}


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ([], "no token in it"),
        ([{"name": "a", "grants": GRANTS}], "either `token` or `sha256`"),
        ([{**GOOD, "token": "short-secret"}], "20 to 1,024 printable"),
        ([{**GOOD, "grants": []}], "length >= 1"),
        ([{**GOOD, "grants": [{"tenant": "t"}]}], "unknown field"),
        ([{**GOOD, "expires": "2026-01-01"}], "a time with its zone"),
        ([GOOD, {**GOOD, "name": "b"}], "a and b are the same token: make another one"),
        ([GOOD, {**GOOD, "token": INTRUDER}], "two tokens have the same name, a"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_without_telling_what_is_in_it(
    entries: list[dict[str, Any]], told: str, tmp_path: Path
) -> None:
    file = write_access(tmp_path / "access.json", entries)
    with pytest.raises(BadSettings, match=told) as refused:
        SidecarThread(tmp_path, settings={"access_file": str(file)}).start()
    assert "SIDEMIRROR_ACCESS_FILE" in str(refused.value)
    assert ACME not in str(refused.value)
    assert "short-secret" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "{}", "tokens: []"])
def test_a_file_that_is_no_such_json(text: str, tmp_path: Path) -> None:
    file = tmp_path / "access.json"
    file.touch(mode=0o600)
    file.write_text(text)
    with pytest.raises(BadSettings, match="SIDEMIRROR_ACCESS_FILE"):
        SidecarThread(tmp_path, settings={"access_file": str(file)}).start()


def test_the_sockets_mode_and_folder(tmp_path: Path) -> None:
    import os

    own = str(os.getgid())
    given = {"socket": str(tmp_path / "run" / "s"), "socket_mode": "0600", "socket_group": own}
    server = SidecarThread(tmp_path, settings=given)
    server.start()
    try:
        found = (tmp_path / "run" / "s").stat()
        assert stat.S_IMODE(found.st_mode) == 0o600
        assert found.st_gid == os.getgid()
        assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o750
    finally:
        server.stop()
    with pytest.raises(BadSettings, match=r"socket_group .*there is no such group"):
        SidecarThread(tmp_path, settings={"socket_group": "no-such-group"}).start()


def test_a_pipe_is_no_access_file(tmp_path: Path) -> None:
    """Whoever opens one waits for a writer. Seen to fail when `read_secret` opens it like any file: no end."""
    import os

    pipe = tmp_path / "access.json"
    os.mkfifo(pipe, 0o600)
    with pytest.raises(BadSettings, match="it is no file"):
        SidecarThread(tmp_path, settings={"access_file": str(pipe)}).start()


@pytest.mark.parametrize(
    ("then", "refusal", "reason"),
    [
        pytest.param([], UNAUTHENTICATED, "the token is not known any more", id="removed"),
        pytest.param(
            [entry("acme", ACME, expires="2026-01-01T00:00:00Z")], UNAUTHENTICATED, "the token has expired", id="ended"
        ),
        pytest.param(
            [entry("acme", ACME, ("elsewhere", "*"))],
            DENIED,
            "the token is no longer good for this tenant and project",
            id="narrowed",
        ),
    ],
)
def test_streams_end_with_their_token(
    then: list[dict[str, Any]],
    refusal: Refusal,
    reason: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They say why, and another token's go on. Seen to fail when `StreamTimes._tick` does not ask, and for imports and
    exports when `Lasting.begun` does not hand on what to ask."""
    for store in (SqliteMemories, PostgresMemories):
        monkeypatch.setattr(store, "list", never)
    monkeypatch.setattr(streams, "_LOOK_AT_TOKEN_S", 0.2)
    other = entry("acme-2", INTRUDER, ("acme", "*"))
    file = write_access(tmp_path / "access.json", [entry("acme", ACME), other])
    with (
        sidecar(tmp_path, settings={"access_file": str(file), "heartbeat_s": "0.2"}) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        thinking, goals = ThinkingServiceStub(channel), GoalReflectionServiceStub(channel)
        memories = ReflectiveMemoryServiceStub(channel)
        start = [pb.RunTurnRequest(tenant_id="acme", events=[pb.TurnEvent(turn_started=pb.TurnStarted(task="t"))])]
        watch = pb.WatchTurnsRequest(tenant_id="acme", new_only=True)
        goal_watch = goal_pb.WatchGoalReflectionsRequest(tenant_id="acme", new_only=True)

        def opened(token: str) -> list[Any]:
            given: dict[str, Any] = {"timeout": PATIENCE_S, "metadata": bearer(token)}
            return [
                thinking.RunTurn(kept_open(start), **given),
                thinking.WatchTurns(watch, **given),
                goals.WatchGoalReflections(goal_watch, **given),
            ]

        def of_memories(token: str) -> list[Any]:
            """Streams that say nothing: an import that goes on, and an export from a store that takes its time."""
            given: dict[str, Any] = {"timeout": PATIENCE_S, "metadata": bearer(token)}
            lines = kept_open([memory_pb.ImportReflectionsRequest(tenant_id="acme")])
            exported = memories.ExportReflections(memory_pb.ExportReflectionsRequest(tenant_id="acme"), **given)
            return [memories.ImportReflections.future(lines, **given), exported]

        barred, others = opened(ACME), opened(INTRUDER)
        for stream in (*barred, *others):
            next(stream)
        silent, going_on = of_memories(ACME), of_memories(INTRUDER)
        until(lambda: server.admission.streams == 10)
        write_access(file, [*then, other])
        for stream in barred:
            heard = []
            with pytest.raises(grpc.RpcError) as caught:
                heard.extend(stream)
            assert refusal_of(caught.value) == refusal
            assert reason in str(heard[-1])
        for call in silent:
            error = call.exception(PATIENCE_S)
            assert isinstance(error, grpc.RpcError)
            assert refusal_of(error) == refusal
            assert reason in str(error)
        for call in going_on:
            assert not call.done()
            call.cancel()
        for stream in others:
            next(stream)
            stream.cancel()
    lines = [vars(record) for record in caplog.records if record.message == "call_refused"]
    assert [(line["reason"], line["token"], line["tenant_id"]) for line in lines] == [(reason, "acme", "acme")]


def kept_open(requests: list[Any]) -> Iterator[Any]:
    """These, and no end of the agent's side before the test's."""
    yield from requests
    threading.Event().wait(PATIENCE_S / 8)


async def never(*_: Any) -> Any:
    """A store that does not answer."""
    await asyncio.Event().wait()
