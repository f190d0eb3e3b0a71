"""A machine that has nothing but a language: a root file system of Debian's packages, entered by chroot.

Its network is that of the machine that tests: a sidecar listens at the same loopback address inside and outside.
"""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.deploy.lacking import lacks, need

_SUITE = "bookworm"
# How this machine reaches registries: it may have authorities, names and mirrors of its own.
_FILES = ("etc/resolv.conf", "etc/hosts", "etc/pip.conf", "etc/npmrc")
_VARIABLES = re.compile(
    r"(https?|no|all)_proxy|ssl_cert_(file|dir)|pip_(cert|index_url|extra_index_url)|node_extra_ca_certs|goproxy", re.I
)
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Bare:
    """`root` is its file system. `mounted`: folders of this machine by where they are seen, read-only."""

    def __init__(self, root: Path, mounted: Mapping[str, Path]) -> None:
        self.root = root
        self._mounted = mounted

    def put(self, place: str, text: str) -> None:
        """A file."""
        path = self.root / place.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def copy(self, source: Path, place: str) -> None:
        """A file, or a folder with all that is in it."""
        path = self.root / place.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, path, dirs_exist_ok=True, symlinks=True)
        else:
            shutil.copy2(source, path)

    def command(self, *arguments: str, folder: str = "/root") -> list[str]:
        """The process that is started becomes the program, and its mounts end with it."""
        root = str(self.root)
        mounts = [f"mount -t proc proc {root}/proc", f"mount --rbind /dev {root}/dev"]
        for place, source in self._mounted.items():
            mounts += [f"mount --bind {source} {root}{place}", f"mount -o remount,bind,ro {root}{place}"]
        inside = f'{shutil.which("chroot")} {root} /usr/bin/env -C {folder} "$@"'
        script = " && ".join([*mounts, f"exec {inside}"])
        return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh", *arguments]

    def environment(self, **settings: str) -> dict[str, str]:
        """As of a login, with the way to registries."""
        kept = {name: value for name, value in os.environ.items() if _VARIABLES.fullmatch(name)}
        folders = [f"{place}/bin" for place in self._mounted]
        return {**kept, "HOME": "/root", "LANG": "C.UTF-8", "PATH": ":".join([*folders, _PATH]), **settings}

    def run(self, *arguments: str, folder: str = "/root", timeout_s: float = 300.0, **settings: str) -> str:
        """What it prints; it has to end well."""
        done = subprocess.run(
            self.command(*arguments, folder=folder),
            check=False, capture_output=True, text=True, env=self.environment(**settings), timeout=timeout_s,
        )  # fmt: skip
        assert done.returncode == 0, f"{' '.join(arguments)}\n{(done.stdout + done.stderr)[-4000:]}"
        return done.stdout

    def has(self, program: str) -> bool:
        """Whether its packages brought such a program."""
        return any((self.root / folder / program).exists() for folder in ("usr/bin", "usr/local/bin", "bin"))


@contextlib.contextmanager
def bare(folder: Path, *packages: str, mounted: Mapping[str, Path] | None = None) -> Iterator[Bare]:
    """Made of these packages and what they need; gone when left. Skips or fails where it cannot be made."""
    need("mmdebstrap", "unshare", "chroot")
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
        lacks("a bare machine is entered in a mount namespace, which this user may not make")
    root = folder / "bare"
    include = [f"--include={','.join(packages)}"] if packages else []
    made = subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", "--format=directory", *include, _SUITE, str(root)],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr[-4000:]
    machine = Bare(root, mounted or {})
    try:
        for file in _FILES:
            if Path("/", file).exists():
                machine.copy(Path("/", file), file)
        if Path("/etc/ssl/certs").is_dir():
            # Its own are links, which lead out of it here.
            shutil.rmtree(root / "etc/ssl/certs", ignore_errors=True)
            shutil.copytree("/etc/ssl/certs", root / "etc/ssl/certs")
        for place in machine._mounted:
            (root / place.lstrip("/")).mkdir(parents=True, exist_ok=True)
        yield machine
    finally:
        shutil.rmtree(root)
