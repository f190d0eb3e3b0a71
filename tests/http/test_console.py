"""The way to the console: its files, one-time links, and what the token of a page may do."""

import gzip
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidemirror_server.http.console.links import CODE_US, MOST, PAGE_US, Links
from sidemirror_server.http.console.pages import PageFile
from sidemirror_server.http.console.serving import LINK, OPEN, PAGE
from sidemirror_server.rpc.boundary.access import Grant, Token, digest_of
from tests.architecture.repository import ROOT
from tests.faults.clocks import SetClock
from tests.http.callers import Answer, bearing, refused, request
from tests.http.sidecars import door, token_of
from tests.http.test_door import DENIED, LIST, UNAUTHENTICATED
from tests.npm import packages
from tests.wire.access import ACME, INTRUDER, UNKNOWN, entry, write_access
from tests.wire.sidecar import SidecarThread
from tests.wire.waiting import until

ASSETS = ROOT / "server/sidemirror_server/http/console/assets"
FILES = {PAGE: "text/html", f"{PAGE}page.js": "text/javascript", f"{PAGE}page.css": "text/css"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with door(tmp_path_factory.mktemp("console")) as running:
        yield running


@pytest.fixture(scope="module")
def token(server: SidecarThread) -> str:
    return token_of(server.folder / "data")


def opened(port: int, token: str) -> str:
    """The token of a page that a link of this token opens."""
    code = request(port, LINK, b"", bearing(token)).json["code"]
    return str(request(port, OPEN, b"", bearing(code)).json["token"])


def listed(port: int, token: str, tenant: str = "") -> Answer:
    return request(port, LIST, f'{{"tenantId": "{tenant}"}}'.encode(), bearing(token))


@pytest.mark.parametrize("path", FILES)
def test_the_pages_files_are_for_everybody_and_guarded(server: SidecarThread, path: str) -> None:
    answer = request(server.http_port, path, method="GET")
    assert (answer.status, answer.headers["content-type"]) == (200, f"{FILES[path]}; charset=utf-8")
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in str(policy)
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert request(server.http_port, path, b"x", method="POST").status == 405
    for headers in ({"host": "evil.test"}, {"sec-fetch-site": "cross-site"}, {"origin": "https://evil.test"}):
        assert request(server.http_port, path, headers=headers, method="GET").status == 403


@pytest.mark.parametrize("path", FILES)
def test_who_takes_gzip_gets_it(server: SidecarThread, path: str) -> None:
    """A third of the bytes, with the same guards; whoever does not take it gets the file as it is."""
    plain = request(server.http_port, path, method="GET")
    assert "content-encoding" not in plain.headers
    for accepted in ("gzip", "deflate, GZIP;q=0.5", "br, gzip ; q=1"):
        answer = request(server.http_port, path, headers={"accept-encoding": accepted}, method="GET")
        assert (answer.status, answer.headers["content-encoding"]) == (200, "gzip")
        assert answer.headers["content-security-policy"] == plain.headers["content-security-policy"]
        assert gzip.decompress(answer.body) == plain.body
    for accepted in ("gzip;q=0", "gzip; q=0.000", "deflate", "xgzip", ""):
        answer = request(server.http_port, path, headers={"accept-encoding": accepted}, method="GET")
        assert (answer.body, "content-encoding" in answer.headers) == (plain.body, False)


@pytest.mark.parametrize(
    "path", ["/console", "/console/nothing.js", "/console/../http-token", "/console/%2e%2e/serving.py", "/console//"]
)
def test_no_other_file_is_served(server: SidecarThread, token: str, path: str) -> None:
    assert request(server.http_port, path, method="GET").status == 401
    assert request(server.http_port, path, headers=bearing(token), method="GET").status == 404


def test_a_link_opens_one_page(server: SidecarThread, token: str) -> None:
    code = request(server.http_port, LINK, b"", bearing(token)).json["code"]
    # A code is no token.
    assert listed(server.http_port, code).status == 401
    first = request(server.http_port, OPEN, b"", bearing(code))
    assert first.status == 200
    assert listed(server.http_port, first.json["token"]).status == 200
    for again in (code, UNKNOWN, token, first.json["token"]):
        answer = request(server.http_port, OPEN, b"", bearing(again))
        assert (answer.status, refused(answer.json)) == (401, UNAUTHENTICATED)
    assert request(server.http_port, OPEN, b"", {}).status == 401
    for path in (LINK, OPEN):
        assert request(server.http_port, path, headers=bearing(token), method="GET").status == 405
    assert request(server.http_port, LINK, b"", {}).status == 401


def test_a_page_may_only_read(server: SidecarThread, token: str) -> None:
    """Seen to fail when the door does not look at `reads_only`."""
    page = opened(server.http_port, token)
    for method in ("StartTurn", "CreateSession", "Reflect", "DeleteSession"):
        answer = request(server.http_port, f"/sidemirror.v1.ThinkingService/{method}", b"{}", bearing(page))
        assert (answer.status, refused(answer.json)) == (403, DENIED)
    for path in (LINK, "/mcp", "/sidemirror.v1.SidecarService/Erase", "/sidemirror.v1.SidecarService/SetPolicy"):
        assert request(server.http_port, path, b"{}", bearing(page)).status == 403
    assert listed(server.http_port, page).status == 200


def test_a_page_sees_what_its_asker_may_see_and_ends_with_it(tmp_path: Path) -> None:
    access = write_access(tmp_path / "access.json")
    with door(tmp_path, {"access_file": str(access)}) as server:
        page = opened(server.http_port, ACME)
        assert listed(server.http_port, page, "acme").status == 200
        assert listed(server.http_port, page, "intruder").status == 403
        code = request(server.http_port, LINK, b"", bearing(ACME)).json["code"]
        write_access(access, [entry("intruder", INTRUDER)])
        until(lambda: listed(server.http_port, ACME, "acme").status == 401)
        assert listed(server.http_port, page, "acme").status == 401
        assert request(server.http_port, OPEN, b"", bearing(code)).status == 401


def test_codes_and_pages_end_and_are_few(tmp_path: Path) -> None:
    """A code after a minute, a page after its hours; of more than so many the oldest."""
    asker = Token("own", digest_of("a" * 64), (Grant("*"),), expires_us=None, admin=True)
    clock = SetClock()
    links = Links(lambda: base, clock, PageFile(tmp_path / "pages"))
    base: tuple[Token, ...] = (asker,)
    late = links.link(asker)
    clock.advance(CODE_US / 1e6)
    assert links.opened(late) is None
    codes = [links.link(asker) for _ in range(MOST + 1)]
    assert links.opened(codes[0]) is None
    pages = [links.opened(code) for code in codes[1:]]
    assert all(pages)
    assert links.opened(links.link(asker))
    kept = links.tokens()
    assert len(kept) == 1 + MOST
    assert links.tokens() is kept
    assert digest_of(str(pages[0])) not in {token.digest for token in kept}
    assert {token.expires_us for token in kept[1:]} == {clock.us + PAGE_US}
    assert not any(token.admin or not token.reads_only for token in kept[1:])
    # Its asker has less from now on, and then nothing.
    base = (Token("own", asker.digest, (Grant("acme"),), expires_us=5),)
    assert {(token.grants, token.expires_us) for token in links.tokens()} == {((Grant("acme"),), 5)}
    base = ()
    assert links.tokens() == ()


def test_a_page_outlives_a_restart_and_not_its_asker(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The file has digests alone, and one that others may read, or that is broken, opens nothing."""
    clock, file = SetClock(), tmp_path / "pages"
    asker = Token("own", digest_of("a" * 64), (Grant("*"),), expires_us=None, admin=True)

    def started(*base: Token) -> Links:
        return Links(lambda: base, clock, PageFile(file))

    first = started(asker)
    page = str(first.opened(first.link(asker)))
    assert file.stat().st_mode & 0o777 == 0o600
    assert page.encode() not in file.read_bytes()
    kept = started(asker).tokens()
    assert [token.digest for token in kept] == [asker.digest, digest_of(page)]
    assert (kept[1].reads_only, kept[1].admin, kept[1].expires_us) == (True, False, clock.us + PAGE_US)
    other = Token("other", digest_of("b" * 64), (Grant("*"),), expires_us=None)
    assert started(other).tokens() == (other,)
    assert not caplog.records
    file.chmod(0o644)
    assert started(asker).tokens() == (asker,)
    file.chmod(0o600)
    file.write_bytes(b"[{")
    assert started(asker).tokens() == (asker,)
    assert [record.getMessage() for record in caplog.records] == ["console_pages_not_read"] * 2
    file.unlink()
    file.mkdir()
    again = started(asker)
    assert again.opened(again.link(asker))
    assert caplog.records[-1].getMessage() == "console_pages_not_written"


def test_the_page_is_small_and_asks_nobody_else() -> None:
    files = {file.name: file.read_bytes() for file in ASSETS.iterdir()}
    assert sum(len(gzip.compress(content, 9)) for content in files.values()) < 150_000
    # Names of XML's dialects, which are fetched by nobody, are all that looks like an address.
    found = set(re.findall(rb"https?://[^\s\"'`)<]+", b" ".join(files.values())))
    assert {name for name in found if not name.startswith(b"http://www.w3.org/")} == set()


@pytest.mark.slow("npm installs, and the page is built")
def test_the_committed_page_is_that_of_its_source(tmp_path: Path) -> None:
    packages()
    subprocess.run(("npm", "run", "--silent", "check", "-w", "console"), cwd=ROOT, check=True, timeout=150)
    subprocess.run(("node", "build.mjs", str(tmp_path)), cwd=ROOT / "console", check=True, timeout=60)
    made = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert made == {file.name: file.read_bytes() for file in ASSETS.iterdir()}, "npm run build -w console"
