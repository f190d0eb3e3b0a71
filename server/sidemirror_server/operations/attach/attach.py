"""`sidemirror attach` and `sidemirror detach`: puts our hooks into a host's own file, and takes them out again.

Both show the difference, and write it with --yes. No other file of the host is touched, and nothing is started.
"""

import argparse
import difflib
import hashlib
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from sidemirror_server.entrance import http_token_file
from sidemirror_server.http.hooks.serving import PATH
from sidemirror_server.http.token import make_token, read_token
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.attach.calling import ANOTHER_ADDRESS, NO_SIDECAR, Answer, post
from sidemirror_server.operations.attach.edits import CannotEdit, put_in, take_out
from sidemirror_server.operations.attach.files import (
    file_of,
    folder_of,
    hidden_by,
    is_offered_to_git,
    mode_of,
    owners_alone,
    read_file,
    remove_file,
    write_file,
)
from sidemirror_server.operations.attach.hosts import ATTACHED, AttachedHost, WayIn, entries_of
from sidemirror_server.operations.attach.notes import (
    HEADER_NAME,
    Attachment,
    read_notes,
    remove_unused_headers,
    write_notes,
)
from sidemirror_server.operations.attach.toml_edits import put_in_toml, take_out_of_toml
from sidemirror_server.operations.attach.turned_off import turned_off, unreadable
from sidemirror_server.rpc.boundary.secret_files import CannotUse, read_secret
from sidemirror_server.settings import BadSettings, Settings, load

_RECORDED = """\
{title} will tell the sidecar at {url}: your prompts, the tool calls with their results, and the agent's answers.
It keeps them in {data}, with secrets redacted, apart for each repository, and sends them nowhere else{models}.
The agent is told fixed sentences, and lessons that you have reviewed. No permission is given or taken, and no input is
changed. `sidemirror advice off`, typed as a prompt, silences it; `sidemirror detach {name} --yes` takes it out."""
# What a header can carry as a token.
_TOKEN = re.compile(r"[!-~]+")
# What a preview shows in the token's place.
_HIDDEN = "[token]"


def attach(options: argparse.Namespace, http_address: str) -> int:
    """Attaches the host; returns the exit code. `http_address`: of the door, where no setting has one. Raises
    BadSettings."""
    host, folder = ATTACHED[options.host], notes_folder()
    path = file_of(options.host, options.project)
    settings = load()
    reach = _reach(options, settings, path, http_address)
    noted = _note(folder, options.host, path)
    try:
        before = read_file(path)
        clean = _without(options.host, path, before, noted)
        entries = entries_of(options.host, reach)
        if path.suffix == ".toml":
            after, inserted = put_in_toml(clean, entries)
        else:
            after, inserted = put_in(clean, entries, host.events, host.root, host.bare)
    except (CannotEdit, ValueError) as error:
        print(f"sidemirror: {path}: {error}; nothing was changed", file=sys.stderr)
        return exit_codes.FAILED
    has_token = reach.token in after
    mode = mode_of(path)
    is_open = has_token and mode is not None and mode != owners_alone(mode)
    if after == before and not is_open:
        print(f"{host.title} is attached already, in {path}.")
    else:
        _tell(options, host, settings, reach, path, before, after)
    if is_open:
        print(f"The token stands in {path}, which others may read: it becomes its owner's alone.")
    if has_token and is_offered_to_git(path):
        print(f"The token stands in {path}, which git does not ignore: `git add` would take it. Ignore it first.")
    for line in (*_not_run(options, path, before, after), *_runs_both(options, path, folder)):
        print(line)
    if not options.yes:
        print(f"Nothing was changed: --yes writes this. {_there(options.host, host, settings, reach)}")
        return 0
    note = Attachment(
        options.host,
        str(path),
        inserted,
        made=noted.made if noted else mode is None,
        made_folder=noted.made_folder if noted else not path.resolve().parent.exists(),
        mode=mode if is_open else noted.mode if noted else None,
    )
    if not has_token:
        write_file(reach.header_file, f"authorization: Bearer {reach.token}\n", 0o600)
    if after != before or is_open:
        _write(path, after, owners_alone(mode) if is_open and mode is not None else None)
        _write_notes(folder, (*_others(folder, options.host, path), note))
    return _asked(options.host, host, settings, reach)


def detach(options: argparse.Namespace) -> int:
    """Takes the hooks out; returns the exit code. Raises BadSettings."""
    host, folder = ATTACHED[options.host], notes_folder()
    path = file_of(options.host, options.project, [one.path for one in read_notes(folder) if one.host == options.host])
    noted = _note(folder, options.host, path)
    try:
        before = read_file(path)
        after = _without(options.host, path, before, noted)
    except CannotEdit as error:
        print(f"sidemirror: {path}: {error}; nothing was changed", file=sys.stderr)
        return exit_codes.FAILED
    if after == before:
        print(f"{host.title} is not attached in {path}.")
        if noted and options.yes:
            _write_notes(folder, _others(folder, options.host, path))
            print("It was once; that is forgotten now.")
        elif noted:
            print("It was once; --yes forgets that.")
        return 0
    print(_difference(path, before, after))
    if not options.yes:
        print("Nothing was changed: --yes takes this out.")
        return 0
    if noted and noted.made and not after:
        remove_file(path, with_folder=noted.made_folder)
    else:
        mode = mode_of(path)
        was = noted.mode if noted else None
        # Somebody who has changed the mode meanwhile keeps it.
        write_file(path, after, was if was is not None and mode == owners_alone(was) else mode)
    _write_notes(folder, _others(folder, options.host, path))
    print(f"{host.title} is detached. What was recorded stays.")
    print(
        "`sidemirror turns list --scope FOLDER` names its sessions, and `sidemirror erase --session ID --scope FOLDER`"
    )
    print("removes one.")
    return 0


def notes_folder() -> Path:
    """Where `attach` keeps what it needs."""
    return Path.home() / ".config" / "sidemirror"


def _reach(options: argparse.Namespace, settings: Settings, path: Path, http_address: str) -> WayIn:
    """How the hooks of a file reach the sidecar of these settings. Makes the door's token if it is missing and may be
    written. Raises BadSettings."""
    try:
        if options.token_file:
            token = _token_in(Path(options.token_file), "--token-file: ")
        elif settings.access_file:
            raise BadSettings("access_file: a call needs one of its tokens; --token-file names a file that holds one")
        else:
            token = _own_token(settings, may_write=options.yes)
    except CannotUse as error:
        raise BadSettings(str(error)) from error
    address = settings.http_address or http_address
    # Each file has its own, so that attaching one host changes nothing for another.
    name = f"{HEADER_NAME}-{options.host}-{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    return WayIn(f"http://{address}", token, notes_folder() / name, options.answer_timeout)


def _own_token(settings: Settings, *, may_write: bool) -> str:
    """The door's own token. Raises BadSettings without a data folder: a new one would be no sidecar's."""
    data = settings.data_dir.resolve()
    if not data.is_dir():
        raise BadSettings(
            f"data_dir: there is no data folder at {data}: start `sidemirror serve --http` in this folder first and "
            "wait until it says that it is serving, or name the sidecar's data folder with SIDEMIRROR_DATA_DIR"
        )
    file = http_token_file(settings)
    if not file.exists() and not may_write:
        return _HIDDEN
    make_token(file)
    read_token(file)
    return _token_in(file, "")


def _token_in(file: Path, of: str) -> str:
    token = read_secret(file).decode("ascii", "replace").strip()
    if not _TOKEN.fullmatch(token):
        told = "it is empty" if not token else "a token is one line of printable ASCII characters without spaces"
        raise BadSettings(f"{of}{file}: {told}")
    return token


def _without(host: str, path: Path, text: str, noted: Attachment | None) -> str:
    """The file's text without our hooks. Raises CannotEdit."""
    mark, inserted = f"{PATH}{host}?event=", noted.inserted if noted else ()
    if path.suffix == ".toml":
        return take_out_of_toml(text, mark, inserted)
    return take_out(text, mark, inserted, ATTACHED[host].bare)


def _note(folder: Path, host: str, path: Path) -> Attachment | None:
    return next((one for one in read_notes(folder) if (one.host, one.path) == (host, str(path))), None)


def _others(folder: Path, host: str, path: Path) -> tuple[Attachment, ...]:
    return tuple(one for one in read_notes(folder) if (one.host, one.path) != (host, str(path)))


def _write(path: Path, text: str, mode: int | None) -> None:
    """As `write_file`, and leaves no header behind for a file that cannot be written."""
    try:
        write_file(path, text, mode)
    except BadSettings:
        remove_unused_headers(notes_folder(), read_notes(notes_folder()))
        raise


def _write_notes(folder: Path, notes: tuple[Attachment, ...]) -> None:
    write_notes(folder, notes)
    remove_unused_headers(folder, notes)


def _tell(
    options: argparse.Namespace,
    host: AttachedHost,
    settings: Settings,
    reach: WayIn,
    path: Path,
    before: str,
    after: str,
) -> None:
    models = "" if settings.model.provider == "rules" else f" but to its model ({settings.model.provider})"
    facts = {"title": host.title, "name": options.host, "url": reach.url, "models": models}
    print(_RECORDED.format(data=settings.data_dir.resolve(), **facts))
    print()
    print(_difference(path, before, after))


def _not_run(options: argparse.Namespace, path: Path, before: str, after: str) -> Iterator[str]:
    """What keeps the host from running hooks that stand in its files: ours, or the user's own."""
    host = ATTACHED[options.host]
    # Lines are those of the file as it is when that is read.
    read = "" if path.suffix == ".toml" else unreadable(options.host, after if options.yes else before)
    if why := read or turned_off(options.host, after):
        yield f"{why}. The hooks stand in {path} all the same, and do nothing until that is changed."
    if not host.reads_one:
        return
    users = Path.home() / host.user_file
    if options.project and not path.exists() and users.is_file() and path.resolve() != users.resolve():
        yield (
            f"{host.title} reads {path} alone when it works there, and not {users} any more: put the hooks of that "
            "file into this one too, if they are to run there."
        )
    elif not options.project and (project := hidden_by(options.host, path, folder_of(""))):
        yield (
            f"{host.title} reads {project} alone when it works here, and not {path}: "
            f"`sidemirror attach {options.host} --project .` attaches that."
        )


def _runs_both(options: argparse.Namespace, path: Path, folder: Path) -> Iterator[str]:
    """Where the host is attached already, if it runs that beside this file. `folder`: of the notes."""
    host, noted = ATTACHED[options.host], [one.path for one in read_notes(folder) if one.host == options.host]
    if host.reads_one:
        return
    here = "" if options.project else str(folder_of(""))
    files = [*([] if options.project else map(Path, noted)), *_file_of(options.host, here, noted)]
    for other in dict.fromkeys(files):
        if other.resolve() != path.resolve() and _is_attached(options.host, other):
            of = "" if options.project else f" --project {shlex.quote(str(other.parents[1]))}"
            yield (
                f"{host.title} is attached in {other} already, and runs both: what both tell is recorded once. "
                f"`sidemirror detach {options.host}{of} --yes` takes that one out."
            )


def _file_of(name: str, project: str, noted: list[str]) -> tuple[Path, ...]:
    """As `file_of`; none if what stands there cannot be read."""
    try:
        return (file_of(name, project, noted),)
    except BadSettings:
        return ()


def _is_attached(name: str, path: Path) -> bool:
    """Whether a file has hooks of ours. What cannot be read has none."""
    try:
        return f"{PATH}{name}?event=" in read_file(path)
    except BadSettings:
        return False


def _asked(name: str, host: AttachedHost, settings: Settings, reach: WayIn) -> int:
    """Asks the sidecar whether it takes the token, and says so; returns the exit code."""
    answer = _answer(name, host, reach)
    if answer.why == NO_SIDECAR:
        print(f"sidemirror: {reach.url}: {answer.why}; {ANOTHER_ADDRESS}", file=sys.stderr)
        return exit_codes.FAILED
    if answer.why and answer.is_there:
        print(f"sidemirror: {reach.url}: {answer.why}; is it the sidecar of this token?", file=sys.stderr)
        return exit_codes.FAILED
    if answer.why:
        print(f"It needs a sidecar there: {_serve(settings)}.")
    else:
        print(f"A sidecar answers at {reach.url}.")
    print(host.then)
    print("`sidemirror turns list --scope FOLDER` shows what it has recorded of the work in a folder.")
    return 0


def _there(name: str, host: AttachedHost, settings: Settings, reach: WayIn) -> str:
    """Before anything is written: whether a sidecar is there. Where there is no token yet, it takes none."""
    answer = _answer(name, host, reach)
    if answer.why == NO_SIDECAR:
        return f"{reach.url}: {answer.why}; {ANOTHER_ADDRESS}."
    return f"It needs a sidecar there: {_serve(settings)}." if answer.why else f"A sidecar answers at {reach.url}."


def _answer(name: str, host: AttachedHost, reach: WayIn) -> Answer:
    """What the sidecar says to the token."""
    url = f"{reach.url}{PATH}{name}?event={next(iter(host.events))}"
    return post(url, {"Authorization": f"Bearer {reach.token}"}, "{}")


def _serve(settings: Settings) -> str:
    return f"`sidemirror serve --http`, with the data folder {settings.data_dir.resolve()}"


def _difference(path: Path, before: str, after: str) -> str:
    """What changes, without tokens: also those that other calls of the file carry, or that ours carried before."""
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    shown = difflib.unified_diff(old, new, fromfile=str(path), tofile=str(path), n=1)
    text = "".join(line if line.endswith("\n") else f"{line}\n" for line in shown)
    return re.sub(r"(\bBearer )[^\s\"']+", rf"\1{_HIDDEN}", text, flags=re.IGNORECASE)
