"""What `sidemirror doctor` says of who gets in."""

import asyncio
import datetime
import os
import re
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.operations.doctor_report import show
from sidemirror_server.settings import BadSettings
from tests.faults.sidecars import running
from tests.operations.test_doctor import NOW_US, found, wrong
from tests.wire.access import ACME, INTRUDER, UNKNOWN, Certificates, entry, write_access
from tests.wire.test_tls import serving

# The clock of these tests is 2027-01-15.
SOON = "2027-01-20T00:00:00Z"
LATER = "2028-01-20T00:00:00Z"
SERVED = "it answers calls and does background work for"


def told(folder: Path, subject: str, **flags: Any) -> list[tuple[str, str]]:
    """What was found about it, and what to change."""
    return [(one.found, one.advice) for one in found(folder, **flags).findings if one.subject == subject]


def test_without_tokens_it_says_who_may_call(tmp_path: Path) -> None:
    ((said, advice),) = told(tmp_path, "access")
    everybody = "by these settings every user of this machine who reaches the server may call: they name no access_file"
    assert (said, advice) == (everybody, "")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({}, f"{SERVED} every tenant"),
        (
            {"serves": "globex/shop, acme/*"},
            f"{SERVED} acme/*, globex/shop; calls that name no tenant and project are refused",
        ),
        ({"pin_scope": "true", "serves": "default/*"}, f"{SERVED} default/default"),
    ],
)
def test_whom_it_serves(flags: dict[str, str], said: str, tmp_path: Path) -> None:
    assert told(tmp_path, "serves", **flags) == [(said, "")]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            {"serves": "acme/*, globex"},
            "serves (SIDEMIRROR_SERVES): 'globex': tenant/project, tenant/* or * is expected",
        ),
        (
            {"serves": "acme/*", "pin_scope": "true"},
            "serves (SIDEMIRROR_SERVES): acme/* leaves out what pin_scope pins this sidecar to",
        ),
    ],
)
async def test_a_list_that_cannot_be_served(flags: dict[str, Any], said: str, tmp_path: Path) -> None:
    """`doctor` says it, and `serve` does not start, before it touches its store."""
    assert await asyncio.to_thread(told, tmp_path, "serves", **flags) == [(said, "change or remove this setting")]
    with pytest.raises(BadSettings, match=re.escape(said)):
        async with running(tmp_path, **flags):
            pass
    assert not await asyncio.to_thread(os.listdir, tmp_path)


def test_tokens_that_are_good_end_soon_or_have_ended(tmp_path: Path) -> None:
    entries = [
        entry("acme", ACME, expires=LATER),
        entry("soon", INTRUDER, ("acme", "*"), expires=SOON),
        entry("old", "c" * 64, expires="2026-01-01T00:00:00Z"),
    ]
    file = write_access(tmp_path / "access.json", entries)
    first, soon, old = told(tmp_path, "access", access_file=str(file))
    assert first == (f"{file}: 2 of 3 tokens are good, for tenant acme", "")
    assert soon == ("token soon expires at 2027-01-20 00:00 UTC", "add its successor and give it out; then remove it")
    assert old[0] == "token old has expired at 2026-01-01 00:00 UTC"
    assert old[1].startswith("add its successor and give it out; then remove it: ")
    assert old[1].endswith("By this machine's clock it is 2027-01-15 08:00 UTC")


def test_whose_tokens_reach_every_tenant(tmp_path: Path) -> None:
    """Seen to fail with "3 tokens are good, for every tenant", which reads as if each of them were."""
    entries = [entry("acme", ACME), entry("platform", INTRUDER, ("*", "*")), entry("globex", "c" * 64)]
    file = write_access(tmp_path / "access.json", entries)
    told_of = [f"{file}: 3 tokens are good, platform for every tenant, the others for tenant acme, globex"]
    assert [found for found, _ in told(tmp_path, "access", access_file=str(file))] == told_of
    write_access(file, [entry("a", ACME, ("*", "*")), entry("b", INTRUDER, ("*", "*"))])
    assert told(tmp_path, "access", access_file=str(file)) == [(f"{file}: 2 tokens are good, for every tenant", "")]


def test_tokens_of_single_projects(tmp_path: Path) -> None:
    """Seen to fail: a token for one project of every tenant was told as good for every tenant, and one for a project as
    good for its tenant."""
    file = tmp_path / "access.json"

    def good(*entries: dict[str, Any]) -> str:
        write_access(file, list(entries))
        ((found, advice),) = told(tmp_path, "access", access_file=str(file))
        assert not advice
        return found.partition("good, ")[2]

    shop, shops = entry("shop", ACME, ("acme", "shop")), entry("shops", INTRUDER, ("*", "shop"))
    assert good(shop) == "for project acme/shop"
    assert good(shops) == "for project */shop"
    assert good(shop, shops, entry("globex", UNKNOWN)) == "for tenant globex and project */shop, acme/shop"
    platform = entry("platform", UNKNOWN, ("*", "*"))
    assert good(shop, shops, platform) == "platform for every tenant, the others for project */shop, acme/shop"


def test_a_grant_that_is_written_as_a_list_of_scopes_is(tmp_path: Path) -> None:
    """It is for the tenant of that name. Seen to fail: nothing was said, and the token good for nobody."""
    file = write_access(tmp_path / "access.json", [entry("acme", ACME, ("acme/*", "*")), entry("globex", UNKNOWN)])
    (_, _), (found, advice) = told(tmp_path, "access", access_file=str(file))
    assert found == "token acme is good for a tenant whose name is 'acme/*'"
    assert advice == 'for all projects of a tenant its id is enough: {"tenant_id": "acme"}'


def test_a_file_that_cannot_be_used(tmp_path: Path) -> None:
    file = write_access(tmp_path / "access.json", mode=0o644)
    (finding,) = wrong(tmp_path, access_file=str(file))
    assert "its mode is 0644" in finding.found
    assert "a sidecar that runs goes on with the tokens from before" in finding.found
    assert finding.advice


def test_a_file_without_tokens(tmp_path: Path) -> None:
    """Gone, or there and empty: it is told apart from one that is broken."""
    file = write_access(tmp_path / "access.json", [])
    for change in (lambda: None, lambda: file.write_text(""), file.unlink):
        change()
        (finding,) = wrong(tmp_path, access_file=str(file))
        assert "a sidecar that runs refuses every call" in finding.found
        assert finding.advice


def test_a_certificate_and_a_key(tmp_path: Path) -> None:
    made = Certificates(tmp_path / "tls")
    ((said, _),) = told(tmp_path, "tls", **made.settings(), tls__client_ca_file=str(made.ca))
    assert said == f"{made.certificate} is good until 3000-01-01; clients need a certificate of {made.ca}"
    other = Certificates(tmp_path / "other")
    made.key.write_bytes(other.key.read_bytes())
    ((said, advice),) = told(tmp_path, "tls", **made.settings())
    assert said.endswith("the key is not the certificate's")
    assert advice


def test_certificates_whose_time_is_over_or_to_come(tmp_path: Path) -> None:
    """The clock of these tests stands still; theirs are made around it. Seen to fail without a look at the beginning,
    and without one at the authorities of clients."""
    made = Certificates(tmp_path / "tls")
    now = datetime.datetime.fromtimestamp(NOW_US / 1e6, datetime.UTC)
    day = datetime.timedelta(days=1)

    def told_of(begins: datetime.datetime, ends: datetime.datetime) -> list[tuple[str, str]]:
        issued = made.authority.issue_cert("sidecar.test", not_before=begins, not_after=ends)
        made.certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        made.key.write_bytes(issued.private_key_pem.bytes())
        return told(tmp_path, "tls", **made.settings())

    ((said, advice),) = told_of(now - 9 * day, now - day)
    assert said == f"{made.certificate} has expired on 2027-01-14"
    assert advice == "replace it; no restart is needed"
    ((said, advice),) = told_of(now + day, now + 90 * day)
    assert said == f"{made.certificate} is not good before 2027-01-16"
    assert advice.startswith("set the machine's clock")
    ((said, advice),) = told_of(now - day, now + 9 * day)
    assert said == f"{made.certificate} is good until 2027-01-24"
    assert advice == "replace it; no restart is needed"
    assert told_of(now - day, now + 90 * day)[0][1] == ""


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ({"address": "0.0.0.0:50051"}, "access_file"),
        ({"health_address": "9000"}, "health_address"),
        ({"metrics_address": "unix:/x"}, "metrics_address"),
        ({"socket_group": "no-such-group"}, "socket_group"),
        ({"tls__key_file": "/x"}, "tls__certificate_file"),
    ],
)
def test_what_serve_would_refuse(flags: dict[str, str], named: str, tmp_path: Path) -> None:
    assert any(named in finding.found for finding in wrong(tmp_path, **flags))


async def test_a_server_that_speaks_tls_and_asks_for_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Asked without its authorities, without a token, with another one, and with both. Seen to fail when it says `ok`
    and "Nothing to change." without a token, and that it asks for another one where none was given."""
    made = Certificates(tmp_path / "tls", "127.0.0.1")
    token = tmp_path / "token"
    token.write_text(f"{ACME}\n")
    other = tmp_path / "other"
    other.write_text(f"{ACME[::-1]}\n")
    access = write_access(tmp_path / "access.json", [entry("all", ACME, ("*", "*"))])
    settings = {**made.settings(), "access_file": str(access)}

    def told_of_address(address: str) -> str:
        given: dict[str, Any] = {**settings, "address": address}
        (one,) = (one.found for one in found(tmp_path, **given).findings if one.subject == "address")
        return str(one)

    async with serving(tmp_path, **settings) as address:
        address = address.replace("localhost", "127.0.0.1")
        unknown = await asyncio.to_thread(told_of_address, address)
        assert unknown == f"{address} is taken (UNAVAILABLE): by these settings it would speak TLS"
        monkeypatch.setenv("SIDEMIRROR_CA_FILE", str(made.ca))
        given: dict[str, Any] = {**settings, "address": address}
        show(await asyncio.to_thread(lambda: found(tmp_path, **given)))
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith(f"??   address: {address} is served by ")
        verdict = lines.index("Nothing to change in what was asked.")
        assert lines[verdict + 1].startswith("Not asked: models, caps, traffic, refused callers, stores")
        refused = await asyncio.to_thread(told_of_address, address)
        assert refused == f"{address} is served by a sidemirror that asks for a token, and none was given"
        monkeypatch.setenv("SIDEMIRROR_TOKEN_FILE", str(other))
        refused = await asyncio.to_thread(told_of_address, address)
        assert refused == f"{address} is served by a sidemirror that asks for another token"
        monkeypatch.setenv("SIDEMIRROR_TOKEN_FILE", str(token))
        served = await asyncio.to_thread(told_of_address, address)
        assert served == f"{address} is served by sidemirror 0.1.0"
