"""`sidemirror console`: a link that opens the console of a running sidecar, once.

The link is printed and not opened: the arguments of a browser's process are read by every user of the machine.
"""

import http.client
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlencode

from sidemirror_server.entrance import http_token_file
from sidemirror_server.http.console.serving import LINK, PAGE
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.target import token_given
from sidemirror_server.rpc.boundary.secret_files import CannotUse, read_secret
from sidemirror_server.settings import BadSettings, Settings, load

_PATIENCE_S = 5.0


def console(flags: Mapping[str, str], default_address: str, place: str = "") -> int:
    """Prints a link; returns the exit code. `default_address`: the door's, where no setting names one. `place`: see
    `place_of`. Raises BadSettings."""
    settings = load(flags)
    address = settings.http_address or default_address
    try:
        status, answer = _asked(address, _token(settings))
    except OSError as error:
        told = f"nothing answers at {address} ({error.strerror or error}). Is `sidemirror serve --http` running there?"
        print(f"sidemirror: {told} Another port is named by --http-address HOST:PORT.", file=sys.stderr)
        return exit_codes.UNAVAILABLE
    except (http.client.HTTPException, ValueError, KeyError):
        print(f"sidemirror: what listens at {address} is no sidemirror, or one of another version", file=sys.stderr)
        return exit_codes.UNAVAILABLE
    if status != http.client.OK:
        hint = "" if token_given() else "; SIDEMIRROR_TOKEN_FILE names the file of another"
        print(f"sidemirror: {address} does not take the token (HTTP {status}){hint}", file=sys.stderr)
        return exit_codes.FAILED
    print(f"http://{address}{PAGE}#{answer}{place}")
    print("This link opens the console once, within a minute.", file=sys.stderr)
    return 0


def place_of(turn_id: str, tenant_id: str, project_id: str) -> str:
    """The place on the page that a link opens: a turn, or the list of turns. Empty ids mean none, and the token's own
    scope."""
    path = f"/turns/{quote(turn_id, safe='')}" if turn_id else ""
    named = urlencode({key: value for key, value in (("tenant", tenant_id), ("project", project_id)) if value})
    return f"{path or '/turns'}?{named}" if named else path


def _token(settings: Settings) -> str:
    """The caller's own token, else the door's. Raises BadSettings."""
    if given := token_given():
        return given
    path = http_token_file(settings)
    try:
        return read_secret(Path(path)).decode("ascii", "replace").strip()
    except CannotUse as error:
        if settings.access_file:
            raise BadSettings("no file with a token of the access file is named by SIDEMIRROR_TOKEN_FILE") from error
        where = (
            "only `sidemirror serve --http` makes it, without an access file: start the sidecar so, and run this in "
            "its folder, or name its data folder with --data-dir"
        )
        raise BadSettings(f"{error}; {where}. SIDEMIRROR_TOKEN_FILE names the file of another token") from error


def _asked(address: str, token: str) -> tuple[int, str]:
    """The status of HTTP, and the code. Raises OSError, HTTPException, ValueError and KeyError."""
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=_PATIENCE_S)
    try:
        connection.request("POST", LINK, b"", {"authorization": f"Bearer {token}", "host": address})
        response = connection.getresponse()
        if response.status not in (http.client.OK, http.client.UNAUTHORIZED, http.client.FORBIDDEN):
            raise ValueError(response.status)
        body = response.read(10_000)
        return response.status, str(json.loads(body)["code"])
    finally:
        connection.close()
