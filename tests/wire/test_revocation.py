"""Tokens that are taken away: by a file without them. A file that cannot be used takes none away."""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import common_pb2, sidecar_pb2
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.rpc.boundary.access import Token, read_access
from sidemirror_server.rpc.boundary.secret_files import CannotUse, Reread
from tests.faults.clocks import SetClock
from tests.memory.talk import export
from tests.models.endpoint import LOCAL, unused_url
from tests.wire.access import ACME, EVERYWHERE, INTRUDER, UNKNOWN, bearer, entry, write_access
from tests.wire.calls import bad_field, refusal_of, refused
from tests.wire.sidecar import PATIENCE_S, sidecar
from tests.wire.test_identity import UNAUTHENTICATED, kept_open, listed
from tests.wire.waiting import until

# Within which a token is revoked, a stream of it included: issue 13, point 7.
REVOKED_S = 10.0


def emptied(file: Path) -> None:
    os.truncate(file, 0)


def emptied_then_deleted(file: Path) -> None:
    emptied(file)
    file.unlink()


def swapped(file: Path) -> None:
    """As Kubernetes does it with a secret that loses a key: the link to what was mounted leads nowhere."""
    file.unlink()
    file.symlink_to(file.with_name("..data") / file.name)


def half_written(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def emptied_for_all(file: Path) -> None:
    emptied(file)
    file.chmod(0o644)


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def a_ring(file: Path) -> None:
    file.unlink()
    file.symlink_to(file)


EMPTY: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "no bytes": emptied,
    "blanks": lambda file: file.write_text(" \n"),
    "no tokens": lambda file: write_access(file, []),
    "a link to nothing": swapped,
    "emptied, then deleted": emptied_then_deleted,
}
BROKEN: dict[str, Callable[[Path], object]] = {
    "half-written": half_written,
    "no JSON": lambda file: file.write_text("tokens: []"),
    "another form": lambda file: file.write_text("{}"),
    "a bad entry": lambda file: file.write_text(json.dumps({"tokens": [{"name": "acme"}]})),
    "read by others": lambda file: file.chmod(0o644),
    "emptied, and read by others": emptied_for_all,
    "a folder": a_folder,
    "a link to itself": a_ring,
}


class Watched:
    """An access file with one token, and what a server makes of it each second."""

    def __init__(self, folder: Path) -> None:
        self.file = write_access(folder / "access.json", [entry("acme", ACME)])
        self.clock = SetClock()
        self.told: list[CannotUse | None] = []
        self._reread = Reread[tuple[Token, ...]](
            (self.file,), lambda: read_access(self.file), self.clock, self.told.append, when_empty=()
        )

    def names_after(self, seconds: int) -> list[str]:
        """The tokens' names once that time has passed."""
        found: tuple[Token, ...] = ()
        for _ in range(seconds):
            self.clock.advance(1.0)
            found = self._reread.current()
        return [token.name for token in found]


@pytest.mark.parametrize("change", EMPTY.values(), ids=EMPTY)
def test_a_file_without_tokens_ends_them(change: Callable[[Path], object], tmp_path: Path) -> None:
    """Once, after as long as a file may be away while it is replaced. Seen to fail without `when_empty`."""
    watched = Watched(tmp_path)
    change(watched.file)
    assert watched.names_after(2) == ["acme"]
    assert watched.told == []
    assert watched.names_after(1) == []
    assert len(watched.told) == 1
    assert watched.names_after(60) == []
    assert len(watched.told) == 1
    watched.file.unlink(missing_ok=True)
    write_access(watched.file, [entry("acme-2", ACME)])
    assert watched.names_after(1) == ["acme-2"]
    assert watched.told[-1] is None


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_changes_nothing(change: Callable[[Path], object], tmp_path: Path) -> None:
    """It is told at once, and once. Seen to fail when `Reread` takes every CannotUse for an emptied file."""
    watched = Watched(tmp_path)
    change(watched.file)
    assert watched.names_after(1) == ["acme"]
    assert len(watched.told) == 1
    assert watched.names_after(60) == ["acme"]
    assert len(watched.told) == 1
    assert ACME not in str(watched.told)


@pytest.mark.parametrize("away", [Path.unlink, emptied, swapped], ids=["deleted", "no bytes", "a link to nothing"])
def test_a_file_that_is_away_for_a_moment_changes_nothing(away: Callable[[Path], object], tmp_path: Path) -> None:
    """Written in place, or removed and put back; the time begins anew with each. Seen to fail with EMPTY_FOR_S = 0."""
    watched = Watched(tmp_path)
    for _ in range(3):
        away(watched.file)
        assert watched.names_after(2) == ["acme"]
        write_access(watched.file, [entry("acme", ACME)])
        assert watched.names_after(1) == ["acme"]
    assert watched.told == [None] * 3


def test_an_emptied_file_that_is_being_written_changes_nothing(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    whole = watched.file.read_bytes()
    emptied(watched.file)
    assert watched.names_after(1) == ["acme"]
    watched.file.write_bytes(whole[:40])
    assert watched.names_after(5) == ["acme"]
    watched.file.write_bytes(whole)
    assert watched.names_after(1) == ["acme"]


def test_a_deleted_file_ends_calls_and_streams_in_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Over a socket, and while nobody calls: the log tells it, and the next call is refused. Seen to fail when `serve`
    does not follow the tokens, and without `when_empty`."""
    file = write_access(tmp_path / "access.json", [entry("acme", ACME)])
    with (
        caplog.at_level(logging.INFO),
        sidecar(tmp_path, settings={"access_file": str(file)}) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        emptied(file)
        until(lambda: "access_file_emptied" in caplog.text, REVOKED_S)
        assert listed(channel, bearer(ACME), tenant_id="acme") == UNAUTHENTICATED
        write_access(file, [entry("acme", ACME)])
        until(lambda: "access_file_changed" in caplog.text, REVOKED_S)
        stub = ThinkingServiceStub(channel)
        events = [pb.TurnEvent(turn_started=pb.TurnStarted(task="t"))]
        start = [pb.RunTurnRequest(tenant_id="acme", events=events)]
        streams: list[Any] = [
            stub.RunTurn(kept_open(start), timeout=PATIENCE_S, metadata=bearer(ACME)),
            stub.WatchTurns(pb.WatchTurnsRequest(tenant_id="acme"), timeout=PATIENCE_S, metadata=bearer(ACME)),
        ]
        for stream in streams:
            next(stream)
        caplog.clear()
        began_s = time.monotonic()
        file.unlink()
        for stream in streams:
            heard = []
            with pytest.raises(grpc.RpcError) as caught:
                heard.extend(stream)
            assert refusal_of(caught.value) == UNAUTHENTICATED
            assert "the token is not known any more" in str(heard[-1])
        assert time.monotonic() - began_s < REVOKED_S
        assert listed(channel, bearer(ACME), tenant_id="acme") == UNAUTHENTICATED
        (line,) = [vars(record) for record in caplog.records if record.message == "access_file_emptied"]
        assert line["reason"] == f"{file}: No such file or directory; no token is good any more"


def test_a_half_written_file_ends_nothing_and_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Over a socket, while nobody calls."""
    file = write_access(tmp_path / "access.json", [entry("acme", ACME)])
    with (
        sidecar(tmp_path, settings={"access_file": str(file)}) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        half_written(file)
        until(lambda: "access_file_not_read" in caplog.text, REVOKED_S)
        assert listed(channel, bearer(ACME), tenant_id="acme") is None
        (line,) = [vars(record) for record in caplog.records if record.message == "access_file_not_read"]
        assert line["reason"].endswith("; nothing changes")
        assert ACME[:20] not in str(line)


@pytest.mark.parametrize("field", ["tenant_id", "project_id"])
def test_an_import_goes_to_one_project(field: str, tmp_path: Path) -> None:
    """A later message that names another is refused, even by a token that is good for both; what came before is kept.
    Seen to fail when `import_reflections` looks at the first message only."""
    with sidecar(tmp_path) as server, grpc.insecure_channel(server.address) as channel:
        stub = ReflectiveMemoryServiceStub(channel)
        for text in ("A first lesson.", "A second lesson."):
            given = memory_pb.StoreReflectionRequest(tenant_id="from", result={"reflection_text": text})
            stub.StoreReflection(given, timeout=PATIENCE_S)
        first, second = export(stub, tenant_id="from")
        begun = {"tenant_id": "acme", "project_id": "shop"}
        lines = [
            memory_pb.ImportReflectionsRequest(lines=[first], **begun),
            memory_pb.ImportReflectionsRequest(lines=[]),
            memory_pb.ImportReflectionsRequest(lines=[second], **{field: "another"}),
        ]
        assert refused(lambda: stub.ImportReflections(iter(lines), timeout=PATIENCE_S)) == bad_field(field)
        assert export(stub, **begun) == [first]
        assert export(stub, **(begun | {field: "another"})) == []


@pytest.fixture
def informed(tmp_path: Path) -> Iterator[SidecarServiceStub]:
    """A sidecar of the tenant `house`, with tokens and with caps on every level."""
    access = [
        entry("acme", ACME),
        entry("shop", INTRUDER, ("acme", "shop")),
        entry("platform", EVERYWHERE, ("*", "*")),
    ]
    settings = {
        "access_file": str(write_access(tmp_path / "access.json", access)),
        "tenant_id": "house",
        "project_id": "kitchen",
        "spend__usd_per_day": "5",
        "spend__tenant_usd_per_day": "2",
        "spend__project_usd_per_day": "1",
    }
    with sidecar(tmp_path, settings=settings) as server, grpc.insecure_channel(server.address) as channel:
        yield SidecarServiceStub(channel)


@pytest.mark.parametrize(
    ("token", "levels", "own"),
    [
        (EVERYWHERE, {"TOTAL", "PURPOSE", "TENANT", "PROJECT"}, ("house", "kitchen")),
        (ACME, {"TENANT", "PROJECT"}, ("acme", "kitchen")),
        (INTRUDER, {"PROJECT"}, ("acme", "shop")),
    ],
    ids=["everybody's", "a tenant's", "a project's"],
)
def test_a_token_is_told_nothing_of_others(
    token: str, levels: set[str], own: tuple[str, str], informed: SidecarServiceStub
) -> None:
    """Neither what they have spent of a common cap, nor whose the sidecar is. Seen to fail when `get_server_info` does
    not look at the token."""
    request = sidecar_pb2.GetServerInfoRequest(tenant_id="acme", project_id="shop")
    found = informed.GetServerInfo(request, timeout=PATIENCE_S, metadata=bearer(token))
    shown = {sidecar_pb2.SpendLevel.Name(cap.level).removeprefix("SPEND_LEVEL_") for cap in found.spend_caps}
    assert shown == levels
    hidden = {sidecar_pb2.SpendLevel.Name(cap.level).removeprefix("SPEND_LEVEL_") for cap in found.hidden_caps}
    assert hidden == {"TOTAL", "PURPOSE", "TENANT", "PROJECT"} - levels, "without figures"
    assert (found.tenant_id, found.project_id) == own
    assert ("house" in str(found)) == (token == EVERYWHERE)


def test_a_cap_that_prevents_others_questions_is_told_to_whom_it_covers(tmp_path: Path) -> None:
    """Asked for another project than the one whose questions it prevents. Seen to fail when `_is_others` does not look
    at the token, and when it does not look at the scope."""
    access = [entry("acme", ACME), entry("shop", INTRUDER, ("acme", "shop")), entry("platform", EVERYWHERE, ("*", "*"))]
    settings = {
        "access_file": str(write_access(tmp_path / "access.json", [*access, entry("other", UNKNOWN)])),
        "spend__project_usd_per_day": "0.000001",
        "model__provider": "openai_compatible",
        "model__name": LOCAL,
        "model__base_url": f"{unused_url()}/v1",
        "model__input_usd_per_mtok": "1",
        "model__output_usd_per_mtok": "1",
    }
    with sidecar(tmp_path, settings=settings) as server, grpc.insecure_channel(server.address) as channel:
        result = common_pb2.ToolResult(name="sql", content="no such column: totl", is_error=True)
        question = pb.ReflectRequest(tenant_id="acme", project_id="shop", tool_results=[result])
        reflected = ThinkingServiceStub(channel).Reflect(question, timeout=PATIENCE_S, metadata=bearer(INTRUDER)).result
        assert reflected.status == common_pb2.RESULT_STATUS_SKIPPED_SPEND

        def told(token: str, tenant_id: str, project_id: str) -> list[tuple[str, str, int]]:
            request = sidecar_pb2.GetServerInfoRequest(tenant_id=tenant_id, project_id=project_id)
            info = SidecarServiceStub(channel).GetServerInfo(request, timeout=PATIENCE_S, metadata=bearer(token))
            return [(cap.tenant_id, cap.project_id, cap.refused_count) for cap in info.refusing_caps]

        assert told(EVERYWHERE, "", "") == told(ACME, "acme", "blog") == [("acme", "shop", 1)]
        # Its own is among its caps, and nobody else's is told.
        assert told(INTRUDER, "acme", "shop") == told(ACME, "acme", "shop") == told(UNKNOWN, "other", "blog") == []
