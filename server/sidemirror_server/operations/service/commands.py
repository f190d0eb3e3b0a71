"""`sidemirror service install|update|status|remove`: a sidecar that runs for this user from login on.

The service is the user's own: nothing needs root, and nothing but its one file is written. Its data and its file of
settings stay when it is removed.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from sidemirror_server.entrance import check_listeners, http_token_file
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.service.described import UserService, arguments_of
from sidemirror_server.operations.service.managers import Manager, ServiceFailed, manager_of
from sidemirror_server.settings import PREFIX, BadSettings, Settings, config_folder, load, sources

# Settings that are paths: the service runs in another folder than the shell that installs it.
_PATHS = ("access_file", "data_dir", "socket", "tls__certificate_file", "tls__key_file", "tls__client_ca_file")


class Places:
    """Where the parts of the service are, for one user."""

    def __init__(self, home: Path) -> None:
        library = home / "Library" if sys.platform == "darwin" else None
        config = config_folder(home)
        self.data = library / "Application Support" / "sidemirror" if library else home / ".local/share/sidemirror"
        self.environment_file = config / "sidemirror" / "service.env"
        self.log_file = (library or home) / "Logs" / "sidemirror.log"
        self._home, self._config = home, config

    def manager(self) -> Manager:
        """This machine's service manager. Raises ServiceFailed."""
        return manager_of(self._home, self._config, self.log_file)


def install(flags: Mapping[str, str], http_address: str) -> int:
    """Writes and starts the service; installing it again changes its settings. Returns the exit code. `http_address`:
    the door's, where no flag names one. Raises BadSettings."""
    places = Places(Path.home())
    given = {"data_dir": str(places.data), "http_address": http_address, **flags}
    given |= {name: str(Path(given[name]).absolute()) for name in _PATHS if given.get(name)}
    settings = load(given, {})
    check_listeners(settings)
    arguments = tuple(f"--{name.replace('_', '-')}={value}" for name, value in sorted(given.items()))
    for source in sources(load(flags), flags):
        if source.source == "environment":
            name = source.variable or f"{PREFIX}{source.name.upper()}"
            print(f"sidemirror: the service does not have {name}: put it into {places.environment_file}")
    return _told(lambda: _write(places, arguments))


def update() -> int:
    """Writes the service anew with the settings that it has, and starts it again: after an update of the package, or
    when the program has moved. Returns the exit code."""
    places = Places(Path.home())
    return _told(lambda: _write(places, arguments_of(_command(places.manager()))))


def status() -> int:
    """Prints whether the service runs, and where its parts are. Returns the exit code: 0 if it runs."""
    return _told(lambda: _show(Places(Path.home())))


def remove() -> int:
    """Stops the service and removes its file. Returns the exit code; there was none is no failure."""

    def removed() -> int:
        manager = Places(Path.home()).manager()
        if not manager.file.exists():
            print("There is no service.")
            return 0
        data = _settings(_command(manager)).data_dir
        manager.stop()
        manager.file.unlink()
        manager.forget()
        print(f"The service is removed. Its data stays in {data}.")
        return 0

    return _told(removed)


def _told(do: Callable[[], int]) -> int:
    try:
        return do()
    except ServiceFailed as error:
        print(f"sidemirror: {error}", file=sys.stderr)
        return exit_codes.FAILED
    except OSError as error:
        print(f"sidemirror: {error.filename}: {error.strerror}", file=sys.stderr)
        return exit_codes.CANNOT_CREATE


def _write(places: Places, arguments: tuple[str, ...]) -> int:
    manager = places.manager()
    service = UserService(_program(), arguments, places.environment_file, places.log_file)
    try:
        content = manager.written(service)
    except ValueError as error:
        raise BadSettings(str(error)) from error
    if manager.file.exists():
        # Nothing of somebody else is overwritten.
        _command(manager)
    manager.file.parent.mkdir(parents=True, exist_ok=True)
    new = manager.file.with_suffix(".new")
    new.write_bytes(content)
    new.replace(manager.file)
    manager.start()
    return _show(places)


def _show(places: Places) -> int:
    manager = places.manager()
    if not manager.file.exists():
        print("There is no service. `sidemirror service install` makes one.")
        return exit_codes.FAILED
    command = _command(manager)
    settings = _settings(command)
    runs, words = manager.state()
    facts = {
        "service": words,
        "file": manager.file,
        "program": " ".join(command[: command.index("serve")]),
        "gRPC": settings.address,
        "socket": settings.socket,
        "HTTP": settings.http_address,
        "token": settings.access_file or http_token_file(settings),
        "data": settings.data_dir,
        "settings": f"{places.environment_file}, NAME=VALUE a line",
        "log": manager.log,
    }
    for name, fact in facts.items():
        if fact:
            print(f"{name + ':':10}{fact}")
    for note in manager.notes():
        print(note)
    return 0 if runs else exit_codes.UNAVAILABLE


def _command(manager: Manager) -> tuple[str, ...]:
    """The command of the installed service. Raises ServiceFailed."""
    try:
        command = manager.command_of(manager.file.read_bytes())
        arguments_of(command)
    except FileNotFoundError as error:
        raise ServiceFailed("there is no service: `sidemirror service install` makes one") from error
    except ValueError as error:
        raise ServiceFailed(f"{manager.file}: it is not as `sidemirror service install` writes it: {error}") from error
    return command


def _settings(command: tuple[str, ...]) -> Settings:
    """The settings that the service has by its arguments. Raises BadSettings."""
    pairs = (argument.removeprefix("--").partition("=")[::2] for argument in arguments_of(command))
    return load({name.replace("-", "_"): value for name, value in pairs}, {})


def _program() -> tuple[str, ...]:
    """How the user calls this program, by whole path: a link stays a link, since updates move what it points to."""
    called = shutil.which(sys.argv[0])
    if called and os.access(called, os.X_OK) and Path(called).name == "sidemirror":
        return (str(Path(called).absolute()),)
    return (sys.executable, "-m", "sidemirror_server.cli")
