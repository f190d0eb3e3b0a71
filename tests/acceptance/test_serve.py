"""`serve` and `health`, as whoever runs them sees them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.product import Serving, run, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("served")
    with serving(folder, "--data-dir", str(folder / "data"), "--socket", str(folder / "run" / "s")) as running:
        yield running


@pytest.fixture
def socket(server: Serving) -> str:
    arguments = server.process.args
    assert isinstance(arguments, list)
    return str(arguments[-1])


@pytest.mark.parametrize(
    "service", ["", "sidemirror.v1.ThinkingService", "sidemirror.v1.SidecarService"], ids=["all", "thinking", "sidecar"]
)
def test_health_of_a_server_that_serves(server: Serving, service: str) -> None:
    told = run("health", "--address", server.address, "--service", service)

    assert (told.returncode, told.stdout, told.stderr) == (0, "SERVING\n", "")


def test_health_over_the_unix_socket(socket: str) -> None:
    told = run("health", "--address", f"unix:{socket}")

    assert (told.returncode, told.stdout) == (0, "SERVING\n")


def test_health_asks_where_the_environment_says(server: Serving) -> None:
    assert run("health", SIDEMIRROR_ADDRESS=server.address).returncode == 0


def test_health_of_a_service_that_is_not_there(server: Serving) -> None:
    told = run("health", "--address", server.address, "--service", "sidemirror.v1.Nothing")

    assert told.returncode == 1
    assert told.stderr == f"sidemirror: the server at {server.address} has no service 'sidemirror.v1.Nothing'\n"


@pytest.mark.parametrize("address", ["127.0.0.1:1", "unix:/nowhere/at/all"])
def test_health_where_nobody_listens(address: str) -> None:
    told = run("health", "--address", address)

    assert told.returncode == 69
    assert told.stdout == ""
    assert told.stderr.startswith(f"sidemirror: nothing can be reached at {address} (")
    assert told.stderr.endswith("Is `sidemirror serve` running there?\n")
    assert told.stderr.count("\n") == 1


def test_a_second_server_on_the_port_is_refused(server: Serving, tmp_path: Path) -> None:
    told = run("serve", "--address", server.address, "--data-dir", str(tmp_path / "data"))

    assert told.returncode == 1
    *_, last = told.stderr.splitlines()
    assert last == f"sidemirror: address '{server.address}': it is in use"
    assert all(line.startswith(("{", "sidemirror: ")) for line in told.stderr.splitlines()), "nobody else's lines"
    assert run("health", "--address", server.address).returncode == 0


def test_a_second_server_on_the_data_folder_is_refused(server: Serving, socket: str) -> None:
    folder = Path(socket).parents[1] / "data"
    told = run("serve", "--address", "127.0.0.1:0", "--data-dir", str(folder))

    assert told.returncode == 1
    assert told.stderr.startswith("sidemirror: ")
    assert str(folder) in told.stderr
    assert "Traceback" not in told.stderr


def test_a_second_server_on_the_socket_is_refused(server: Serving, socket: str, tmp_path: Path) -> None:
    told = run("serve", "--address", "127.0.0.1:0", "--socket", socket, "--data-dir", str(tmp_path / "data"))

    assert told.returncode == 1
    assert told.stderr == f"sidemirror: socket '{socket}': another server is listening there\n"
    assert run("health", "--address", f"unix:{socket}").returncode == 0


@pytest.mark.parametrize(
    ("flags", "settings", "setting"),
    [
        (["--grace-s", "soon"], {}, "grace_s"),
        (["--heartbeat-s", "0"], {}, "heartbeat_s"),
        (["--limits--message-bytes", "-1"], {}, "limits__message_bytes"),
        ([], {"SIDEMIRROR_LOG_LEVEL": "loud"}, "log_level"),
        ([], {"SIDEMIRROR_LIMITS__EVENTS_PER_TURN": "many"}, "limits__events_per_turn"),
        ([], {"SIDEMIRROR_TENANT_ID": ""}, "tenant_id"),
    ],
)
def test_a_bad_setting_is_named(flags: list[str], settings: dict[str, str], setting: str, tmp_path: Path) -> None:
    told = run("serve", *flags, cwd=tmp_path, **settings)

    assert told.returncode == 78
    assert told.stderr.startswith(f"sidemirror: {setting} (SIDEMIRROR_{setting.upper()}): ")
    assert told.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("setting", "url"),
    [
        ("redis_url", "http://:hunter2@localhost"),
        ("redis_url", "redis://:hunter2@host:port/0"),
        ("database_url", "http://role:hunter2@localhost/x"),
        ("database_url", "postgresql://role:hunter2@host:port/x"),
    ],
)
def test_a_store_that_cannot_be_used_is_named_by_its_setting(setting: str, url: str, tmp_path: Path) -> None:
    """Seen to fail when `serve` prints a store's refusal like any other failure: exit code 1, and no name."""
    named = {f"SIDEMIRROR_{setting.upper()}": url}
    told = run("serve", "--address", "127.0.0.1:0", "--data-dir", str(tmp_path / "data"), cwd=tmp_path, **named)

    assert told.returncode == 78
    *_, last = told.stderr.splitlines()
    assert last.startswith(f"sidemirror: {setting} (SIDEMIRROR_{setting.upper()}): the store cannot be used: its URL ")
    assert "hunter2" not in told.stderr


@pytest.mark.parametrize("address", ["0.0.0.0:0", "127.0.0.1", "example.com:80", "127.0.0.1:99999"])
def test_an_address_that_must_not_be_listened_on(address: str, tmp_path: Path) -> None:
    told = run("serve", "--address", address, cwd=tmp_path)

    assert told.returncode == 78
    assert told.stderr.startswith(f"sidemirror: address (SIDEMIRROR_ADDRESS): address '{address}': ")
    assert told.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_no_setting_is_told(tmp_path: Path) -> None:
    told = run("serve", "--address", "nowhere", cwd=tmp_path, SIDEMIRROR_ADRESS="127.0.0.1:1")

    assert "SIDEMIRROR_ADRESS is no setting of this server; did you mean SIDEMIRROR_ADDRESS?\n" in told.stderr


def test_a_setting_that_does_nothing_is_told(tmp_path: Path) -> None:
    named = {"SIDEMIRROR_EMBEDDING__BASE_URL": "http://127.0.0.1:1/v1"}
    told = run("serve", "--address", "nowhere", cwd=tmp_path, **named)

    assert "SIDEMIRROR_EMBEDDING__BASE_URL does nothing without SIDEMIRROR_EMBEDDING__NAME\n" in told.stderr


@pytest.mark.parametrize(
    ("flags", "setting"),
    [(["--model--provider", "openai_compatible"], "model"), (["--embedding--name", "x"], "embedding")],
)
def test_a_model_that_nobody_could_ask_ends_the_start(flags: list[str], setting: str, tmp_path: Path) -> None:
    """It had started, and failed in its first answer."""
    told = run("serve", "--address", "127.0.0.1:0", *flags, cwd=tmp_path)

    assert told.returncode == 78
    assert told.stderr.startswith(f"sidemirror: {setting}__api_key (SIDEMIRROR_{setting.upper()}__API_KEY or OPENAI_")
    assert told.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_sigterm_ends_it_in_good_order(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert run("health", "--address", server.address).returncode == 0

        assert server.stop() == 0
        assert "Traceback" not in server.log
        assert run("health", "--address", server.address).returncode == 69


def test_what_it_leaves_can_be_opened_again(tmp_path: Path) -> None:
    for _ in range(2):
        with serving(tmp_path, "--socket", str(tmp_path / "s")) as server:
            assert run("health", "--address", f"unix:{tmp_path / 's'}").returncode == 0
            assert server.stop() == 0
