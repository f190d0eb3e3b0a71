"""Whose calls are refused: one line when they begin and one when they have ended, with what finds the token's owner,
and the same in GetServerInfo and doctor."""

import asyncio
import hashlib
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import sidecar_pb2
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.rpc.boundary import refusals, strangers
from sidemirror_server.rpc.boundary.access import Grant, Token
from sidemirror_server.rpc.boundary.refusals import Refusals
from sidemirror_server.rpc.boundary.strangers import Stranger, Strangers
from tests.faults.clocks import SetClock
from tests.faults.waiting import until
from tests.operations.test_doctor import found_now
from tests.wire.access import ACME, EVERYWHERE, EXPIRED, INTRUDER, UNKNOWN, bearer, entry, write_access
from tests.wire.sidecar import PATIENCE_S, SidecarThread, sidecar
from tests.wire.test_refusals import lines, refuse
from tests.wire.waiting import until as until_seen

OF_UNKNOWN = f"sha256:{hashlib.sha256(UNKNOWN.encode()).hexdigest()[:8]}"
ENTRIES = [
    entry("acme", ACME),
    entry("intruder", INTRUDER),
    entry("old", EXPIRED, expires="2026-01-01T00:00:00Z"),
    entry("platform", EVERYWHERE, ("*", "*")),
]


@pytest.fixture(autouse=True)
def _all_levels(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.INFO):
        yield


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[SidecarThread]:
    given = {"access_file": str(write_access(tmp_path / "access.json", ENTRIES))}
    with sidecar(tmp_path, settings=given) as server:
        yield server


def refused_callers(server: SidecarThread, token: str, tenant: str) -> list[sidecar_pb2.RefusedCaller]:
    with grpc.insecure_channel(server.address) as channel:
        request = sidecar_pb2.GetServerInfoRequest(tenant_id=tenant)
        info = SidecarServiceStub(channel).GetServerInfo(request, timeout=PATIENCE_S, metadata=bearer(token))
    return list(info.refused_callers)


def test_a_stranger_is_one_line_and_its_number_of_calls(
    guarded: SidecarThread, caplog: pytest.LogCaptureFixture
) -> None:
    """With the fingerprint of its token, and nothing else of it. Seen to fail when each call is told, and when every
    token is told of strangers."""
    refuse(guarded.address, UNKNOWN, 30)
    refuse(guarded.address, EXPIRED, 3)
    told = lines(caplog, "call_refused")
    assert [(line["reason"], line["token"], line.get("fingerprint")) for line in told] == [
        ("the token is not known", "", OF_UNKNOWN),
        ("the token has expired", "old", None),
    ]
    assert not re.search("(d4){5}|(c3){5}", str([vars(record) for record in caplog.records]))
    first, second = refused_callers(guarded, EVERYWHERE, "acme")
    assert (first.reason, first.token, first.fingerprint, first.call_count) == (
        *("the token is not known", "", OF_UNKNOWN),
        30,
    )
    assert first.peer.startswith("unix:")
    assert 0 < first.first_time.ToMicroseconds() <= first.last_time.ToMicroseconds()
    assert (second.token, second.tenant_id, second.call_count) == ("old", "old", 3)
    assert refused_callers(guarded, ACME, "acme") == []


def test_a_word_that_is_no_token_has_no_fingerprint(guarded: SidecarThread, caplog: pytest.LogCaptureFixture) -> None:
    """Eight digits would be enough to guess it. Seen to fail when every word has one."""
    refuse(guarded.address, "sunshine-2024", 1)
    (line,) = lines(caplog, "call_refused")
    assert (line["reason"], line.get("fingerprint")) == ("the token is not known", None)


def test_a_token_that_was_removed_keeps_its_name(
    guarded: SidecarThread, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Although nobody has called with it before. Seen to fail when tokens are looked at by calls alone."""
    write_access(tmp_path / "access.json", ENTRIES[1:])
    until_seen(lambda: bool(lines(caplog, "access_file_changed")))
    refuse(guarded.address, ACME, 2)
    (line,) = lines(caplog, "call_refused")
    assert (line["reason"], line["token"]) == ("the token is not known any more", "acme")
    assert (line["tenant_id"], line["project_id"]) == ("acme", "")
    write_access(tmp_path / "access.json", ENTRIES)
    until_seen(lambda: len(lines(caplog, "access_file_changed")) == 2)
    refused_callers(guarded, ACME, "acme")


@pytest.mark.parametrize(
    ("grants", "told"),
    [
        ((Grant("acme"),), ("acme", "")),
        ((Grant("acme", "shop"),), ("acme", "shop")),
        ((Grant("acme", "shop"), Grant("acme", "blog")), ("acme", "")),
        ((Grant("acme"), Grant("globex")), ("", "")),
        ((Grant("*"),), ("", "")),
    ],
)
def test_what_a_token_is_good_for(grants: tuple[Grant, ...], told: tuple[str, str]) -> None:
    assert Token("name", b"", grants, None).granted() == told


def test_each_tenant_that_is_tried_is_a_line(guarded: SidecarThread, caplog: pytest.LogCaptureFixture) -> None:
    with grpc.insecure_channel(guarded.address) as channel:
        stub = SidecarServiceStub(channel)
        for tenant in ("globex", "initech", "globex"):
            request = sidecar_pb2.GetServerInfoRequest(tenant_id=tenant)
            with pytest.raises(grpc.RpcError):
                stub.GetServerInfo(request, timeout=PATIENCE_S, metadata=bearer(ACME))
    assert [(line["token"], line["tenant_id"]) for line in lines(caplog, "call_refused")] == [
        ("acme", "globex"),
        ("acme", "initech"),
    ]


def test_a_token_that_is_good_again_is_not_told(
    guarded: SidecarThread, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of the same host, and what was refused meanwhile is told of others still. Seen to fail for ten minutes."""
    access = tmp_path / "access.json"
    refuse(guarded.address, EXPIRED, 2)
    refuse(guarded.address, UNKNOWN, 1)
    assert len(refused_callers(guarded, EVERYWHERE, "acme")) == 2
    write_access(access, [*ENTRIES[:2], entry("old", EXPIRED), ENTRIES[3]])
    until_seen(lambda: len(lines(caplog, "access_file_changed")) == 1)
    refused_callers(guarded, EXPIRED, "old")
    assert [one.token for one in refused_callers(guarded, EVERYWHERE, "acme")] == [""]
    write_access(access, [*ENTRIES, entry("new", UNKNOWN, ("new", "*"))])
    until_seen(lambda: len(lines(caplog, "access_file_changed")) == 2)
    refused_callers(guarded, UNKNOWN, "new")
    refuse(guarded.address, EXPIRED, 1)
    assert [one.call_count for one in refused_callers(guarded, EVERYWHERE, "acme")] == [3]


def test_doctor_without_a_token_is_no_stranger(guarded: SidecarThread, tmp_path: Path) -> None:
    """It looks whether it needs one. Seen to fail as the first line of the next doctor."""
    found_now(tmp_path, address=guarded.address, access_file=str(tmp_path / "access.json"))
    assert refused_callers(guarded, EVERYWHERE, "acme") == []


def test_doctor_names_them(guarded: SidecarThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To whoever asks with a token that is good for every tenant."""
    refuse(guarded.address, UNKNOWN, 3)
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text(EVERYWHERE)
    monkeypatch.setenv("SIDEMIRROR_TOKEN_FILE", str(token))
    found = [
        finding.found
        for finding in found_now(tmp_path, address=guarded.address, access_file=str(tmp_path / "access.json")).findings
        if finding.subject == "access" and not finding.ok
    ]
    assert any(f"the token is not known, {OF_UNKNOWN}: 3 calls from unix:" in one for one in found)


async def test_a_stranger_that_is_silent_has_gone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Then there is a line with the number of its calls, and another one when it comes back. Seen to fail when no timer
    runs on while strangers are known."""
    monkeypatch.setattr(refusals, "PERIOD_S", 0.02)
    clock, one = SetClock(), Stranger("unix:", "the token is not known", "", OF_UNKNOWN)
    told = Refusals(clock)
    for _ in range(5):
        told.tell_stranger("unix:", one, "a/B")
        clock.advance(60.0)
    await asyncio.sleep(0.1)
    assert lines(caplog, "calls_not_refused") == []
    clock.advance(strangers.QUIET_S)
    await until(lambda: bool(lines(caplog, "calls_not_refused")))
    (over,) = lines(caplog, "calls_not_refused")
    assert (over["calls"], over["lasted_s"], over["fingerprint"]) == (5, 240.0, OF_UNKNOWN)
    told.tell_stranger("unix:", one, "a/B")
    assert len(lines(caplog, "call_refused")) == 2
    told.close()


def test_the_account_is_bounded() -> None:
    """The one that called the longest ago makes room. Seen to fail without a bound."""
    clock = SetClock()
    account = Strangers(clock)

    def stranger(number: int) -> Any:
        return Stranger("ipv4:10.0.0.7", "the token is not known", "", f"sha256:{number:08x}")

    for number in range(1_000):
        account.add(stranger(number))
    assert len(account.told()) == 256
    assert account.again(stranger(999))
    assert not account.again(stranger(0))
    clock.advance(strangers.QUIET_S)
    assert account.told() == ()
    assert len(account.gone()) == 256
    assert not account
