"""What every client does (clients/BEHAVIOUR.md), played by its runner against a real sidecar."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.harness import Sidecar, free_port, run_scenario, running, sidecar
from tests.clients.languages import LANGUAGES, Language, ready
from tests.wire.access import ACME, Certificates, write_access

pytestmark = [
    pytest.mark.slow("clients are built and run, with a sidecar that is killed and stopped"),
    pytest.mark.timeout(900),
]
every_language = pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Sidecar]:
    with sidecar(tmp_path) as running:
        yield running


class Nobody:
    """An address that nobody listens at."""

    complaints = ""

    def __init__(self, folder: Path) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self.socket = folder / "nobody.sock"
        self.variables: dict[str, str] = {}

    def do(self, what: str) -> None:
        """A scenario that asks for something is wrong."""
        raise AssertionError(what)


@every_language
def test_a_whole_turn(language: Language, beside: Sidecar) -> None:
    """Seen to fail for Python when advice does not wait for what is in progress, when a scope that is left does not end
    its turn, when a call that has worked is reported as any other, and when a score that is none is sent; for each
    client when what is withdrawn is given, and when its lessons count as shown."""
    ran = run_scenario(ready(language), "turns.json", beside, language.folder)
    assert ran.errors.count("without its score: a number from 0 to 1") == 1


@every_language
def test_a_beginning_that_is_too_large(language: Language, beside: Sidecar) -> None:
    """What the sidecar takes of an event it says itself, and what fits no message the client. Seen to fail for Java and
    TypeScript when they drop what the sidecar would refuse, and for the others without a warning."""
    beside.variables["text"] = "x" * 100_000
    ran = run_scenario(ready(language), "large.json", beside, language.folder)
    assert ran.errors.count("too large for a message") == 1


@every_language
@pytest.mark.parametrize(("how", "back"), [("kill", "start"), ("pause", "continue")])
def test_an_outage(language: Language, how: str, back: str, beside: Sidecar) -> None:
    """Seen to fail for Python, with `pause`, when nothing looks for silence: the first advice takes its 20 s."""
    beside.variables |= {"how": how, "back": back}
    ran = run_scenario(ready(language), "outage.json", beside, language.folder)
    assert len([line for line in ran.lines if line.startswith("told ")]) == 1


@every_language
@pytest.mark.parametrize(("how", "back"), [("kill", "start"), ("pause", "continue")])
def test_what_it_takes_before_it_is_known(language: Language, how: str, back: str, beside: Sidecar) -> None:
    """Each use of the helper keeps to the time that it was given, and everything arrives afterwards. Seen to fail for
    Python, paused, when `recall` and `critique` take what a call takes otherwise."""
    beside.variables |= {"how": how, "back": back}
    run_scenario(ready(language), "bounds.json", beside, language.folder)


@every_language
def test_what_was_not_delivered(language: Language, tmp_path: Path) -> None:
    """Seen to fail for Python when goals are not counted."""
    run_scenario(ready(language), "undelivered.json", Nobody(tmp_path), language.folder)


@every_language
def test_the_text_for_a_model(language: Language, tmp_path: Path) -> None:
    """Seen to fail for Python when a reflection that was not made is told."""
    run_scenario(ready(language), "advice_text.json", Nobody(tmp_path), language.folder)


@every_language
def test_what_is_an_address(language: Language, tmp_path: Path) -> None:
    """Seen to fail for Python when any number may be a port."""
    run_scenario(ready(language), "addresses.json", Nobody(tmp_path), language.folder)


@every_language
def test_where_a_token_may_go(language: Language, tmp_path: Path) -> None:
    """Seen to fail for Python when every address that begins with 127 counts as loopback."""
    nobody = Nobody(tmp_path)
    (tmp_path / "token").write_text("secret")
    nobody.variables["token_file"] = str(tmp_path / "token")
    run_scenario(ready(language), "transport.json", nobody, language.folder)


class TokenFile(Sidecar):
    """A sidecar, and a client's token's file that something goes wrong with."""

    def do(self, what: str) -> None:
        if what not in ("break", "mend"):
            raise AssertionError(what)
        # Both in one step: a file that is being written is not half there.
        new = self.folder / "new"
        new.write_text("first\nsecond\n" if what == "break" else "secret\n")
        new.replace(self.variables["token_file"])


@every_language
def test_a_token_file_that_cannot_be_used(language: Language, tmp_path: Path) -> None:
    """Seen to fail for Python, with an error of gRPC's in `recall`, when the token is sent as it is read."""
    held = {"two_lines": b"first\nsecond\n", "not_ascii": "schl\u00fcssel\u2713".encode(), "not_utf8": b"\xff\xfe"}
    beside = TokenFile(tmp_path)
    for name, content in held.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    beside.variables |= {name: str(tmp_path / name) for name in (*held, "folder", "missing", "token_file")}
    beside.do("mend")
    with running(beside):
        ran = run_scenario(ready(language), "token_file.json", beside, language.folder)
    assert [line for line in ran.lines if line.startswith("told ")] == []


def trust_store(ca: Path, store: Path) -> str:
    """What has Java's runtime trust the authority alone."""
    command = ("keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", str(ca), "-keystore", str(store))
    subprocess.run([*command, "-storepass", "changeit"], check=True, capture_output=True)
    return f"-Djavax.net.ssl.trustStore={store} -Djavax.net.ssl.trustStorePassword=changeit"


@every_language
def test_the_runtimes_own_authorities(language: Language, tmp_path: Path) -> None:
    """A test authority in a root store of its own. Seen to fail for Python without SSL_CERT_FILE."""
    certificates = Certificates(tmp_path / "tls")
    access = write_access(tmp_path / "access.json")
    settings = {f"SIDEMIRROR_{name.upper()}": value for name, value in certificates.settings().items()}
    (tmp_path / "token").write_text(f"{ACME}\n")
    trusted = {"SSL_CERT_FILE": str(certificates.ca), "NODE_EXTRA_CA_CERTS": str(certificates.ca)}
    if language.name == "java":
        trusted["JAVA_TOOL_OPTIONS"] = trust_store(certificates.ca, tmp_path / "authorities.p12")
    with sidecar(tmp_path, SIDEMIRROR_ACCESS_FILE=str(access), **settings) as beside:
        beside.variables["token_file"] = str(tmp_path / "token")
        ran = run_scenario(ready(language), "trusted.json", beside, language.folder, trusted)
    assert [line for line in ran.lines if line.startswith("told ")] == []


@every_language
def test_what_tls_refuses(language: Language, tmp_path: Path) -> None:
    """A client without the certificate that the sidecar asks for; a sidecar of an authority that is not known, to a
    file or to the runtime; and one whose certificate is for another host. With all of them right the turn arrives.

    Seen to fail for Python with a certificate that is for both hosts, and when the other authority's file holds this
    one, too."""
    certificates, others = Certificates(tmp_path / "tls"), Certificates(tmp_path / "others")
    certificates.issue("localhost")
    settings = {f"SIDEMIRROR_{name.upper()}": value for name, value in certificates.settings().items()}
    key, certificate = certificates.of_client()
    (tmp_path / "client.key").write_bytes(key)
    (tmp_path / "client.crt").write_bytes(certificate)
    with sidecar(tmp_path, SIDEMIRROR_TLS__CLIENT_CA_FILE=str(certificates.ca), **settings) as beside:
        beside.variables |= {
            "host": f"localhost:{beside.address.rpartition(':')[2]}",
            "ca_file": str(certificates.ca),
            "other_ca_file": str(others.ca),
            "certificate_file": str(tmp_path / "client.crt"),
            "key_file": str(tmp_path / "client.key"),
        }
        ran = run_scenario(ready(language), "untrusted.json", beside, language.folder)
    assert len([line for line in ran.lines if line.startswith("told ")]) == 4, ran.lines


@every_language
@pytest.mark.parametrize(
    "turns",
    [20, *(pytest.param(many, marks=pytest.mark.long) for many in (100, 300, 1000))],
)
def test_many_turns_at_once(language: Language, turns: int, beside: Sidecar) -> None:
    """Seen to fail for Python, in the directives, when advice does not wait for what is in progress; in the recalls,
    when nothing was learned before."""
    beside.variables["turns"] = str(turns)
    ran = run_scenario(ready(language), "many.json", beside, language.folder)
    counts = dict.fromkeys(("plans", "recalls", "directives", "critiques", "summaries"), turns)
    assert json.loads(ran.printed("many")) == {**counts, "told": 0}
