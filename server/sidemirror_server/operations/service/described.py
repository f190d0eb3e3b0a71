"""What a user service is, as systemd and launchd are told of it. Pure; the commands are in `commands.py`.

The files name the program by the path that the user calls it by, which stays the same when the package is updated.
"""

import plistlib
import re
import shlex
from pathlib import Path

import msgspec

from sidemirror_server.operations import exit_codes

NAME = "sidemirror"
LABEL = "dev.sidemirror.sidecar"
# Seconds between the end of a sidecar and the start of the next one. Chosen here: it has gone by before a person
# notices, and one that cannot start does not keep a core busy.
_PAUSE_S = 1


class UserService(msgspec.Struct, frozen=True):
    """A sidecar that runs for one user. `program` starts the command; `arguments` are those of `serve`."""

    program: tuple[str, ...]
    arguments: tuple[str, ...]
    # A file of NAME=VALUE lines with more settings, such as keys; it need not exist.
    environment_file: Path
    # Where launchd writes what the sidecar prints; systemd has its journal.
    log_file: Path

    @property
    def command(self) -> tuple[str, ...]:
        """The whole command."""
        return (*self.program, "serve", *self.arguments)


def systemd_unit(service: UserService) -> str:
    """The unit's text. Raises ValueError for an argument that no unit can have."""
    command = " ".join(_quoted(part) for part in service.command)
    return f"""\
# Written by `sidemirror service install`, which writes it anew; `sidemirror service remove` removes it.
[Unit]
Description=Sidemirror, a second look for the agents of this user
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={command}
EnvironmentFile=-{_escaped(str(service.environment_file))}
Restart=always
RestartSec={_PAUSE_S}
RestartPreventExitStatus={exit_codes.CONFIGURATION}
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


def systemd_command(unit: str) -> tuple[str, ...]:
    """The command of a unit that `systemd_unit` made. Raises ValueError for another text."""
    found = re.search(r"^ExecStart=(.+)$", unit, re.MULTILINE)
    if found is None:
        raise ValueError("the unit has no ExecStart")
    return tuple(part.replace("%%", "%").replace("$$", "$") for part in shlex.split(found[1]))


def _quoted(part: str) -> str:
    """One word of ExecStart (systemd.service(5), "Command lines")."""
    if any(character < " " for character in part):
        raise ValueError(f"{part!r}: a unit cannot have this character")
    quoted = part.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_escaped(quoted).replace("$", "$$")}"'


def _escaped(text: str) -> str:
    """A text in which systemd looks for specifiers."""
    return text.replace("%", "%%")


# Reads the file of settings if it is there, then becomes the command: launchd has no file of variables.
_WITH_FILE = 'set -a; [ ! -r "$0" ] || . "$0"; set +a; exec "$@"'


def launchd_plist(service: UserService) -> bytes:
    """The property list of launchd, which restarts what ends, whatever it ends with."""
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": ["/bin/sh", "-c", _WITH_FILE, str(service.environment_file), *service.command],
            "RunAtLoad": True,
            "KeepAlive": True,
            "ThrottleInterval": _PAUSE_S,
            "Umask": 0o077,
            "ProcessType": "Background",
            "StandardOutPath": str(service.log_file),
            "StandardErrorPath": str(service.log_file),
        }
    )


def launchd_command(plist: bytes) -> tuple[str, ...]:
    """The command of a property list that `launchd_plist` made. Raises ValueError for another one."""
    try:
        return tuple(plistlib.loads(plist)["ProgramArguments"][4:])
    except (plistlib.InvalidFileException, KeyError, TypeError) as error:
        raise ValueError("the property list has no ProgramArguments") from error


def arguments_of(command: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments of `serve` in a command. Raises ValueError when it serves nothing."""
    if "serve" not in command:
        raise ValueError("its command serves nothing")
    return command[command.index("serve") + 1 :]
