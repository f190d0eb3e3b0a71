"""The image, built without an engine and a registry, and run as an engine would run it: read-only, as its own user."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.architecture.repository import ROOT
from tests.deploy.lacking import lacks, need

# What a base image has to have: python3 and its venv module.
_PACKAGES = "python3-minimal,python3-venv,ca-certificates"
USER = 65532


def base_of(dockerfile: Path) -> str:
    """The name of the image that the Dockerfile begins with."""
    line = next(line for line in dockerfile.read_text().splitlines() if line.startswith("ARG BASE="))
    return line.removeprefix("ARG BASE=")


class Builder:
    """buildah with chroot isolation and a store of its own in `folder`."""

    def __init__(self, folder: Path) -> None:
        need("buildah", "mmdebstrap", "unshare", "chroot")
        if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
            lacks("the image is run in a mount namespace, which this user may not make")
        self._folder = folder
        self._environment = {**os.environ, "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}
        self._has_base = False

    def __call__(self, *arguments: str) -> str:
        """What buildah prints; fails with what it says when it fails."""
        roots = ["--root", str(self._folder / "storage"), "--runroot", str(self._folder / "run")]
        done = self._run(["buildah", *roots, *arguments])
        return done.stdout.strip()

    def _run(self, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=self._environment)
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
        return done

    def base(self, name: str) -> None:
        """An image of this name made of Debian's packages."""
        tar = self._folder / "base.tar"
        self._run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", str(tar)])
        container = self("from", "scratch")
        self("add", "--quiet", container, str(tar), "/")
        self("commit", "--quiet", container, name)
        self("rm", container)
        tar.unlink()

    def build(self, *arguments: str) -> str:
        """The name of the image that the Dockerfile makes with these build arguments."""
        base = base_of(ROOT / "Dockerfile")
        if not self._has_base:
            self.base(base)
            self._has_base = True
        name = f"localhost/sidemirror:test{len(arguments)}"
        # The authorities of this machine, where it has its own: packages come through its proxy.
        mounts = ["--volume", "/etc/ssl/certs:/etc/ssl/certs:ro"] if Path("/etc/ssl/certs").is_dir() else []
        given = [part for argument in arguments for part in ("--build-arg", argument)]
        options = ["--format", "docker", "--pull-never", "--tag", name, *mounts, *given]
        self("build", "--quiet", *options, str(ROOT))
        return name


class Image:
    """A built image, and where its files are."""

    def __init__(self, builder: Builder, name: str) -> None:
        inspected = json.loads(builder("inspect", "--type", "image", name))
        self.config: dict[str, Any] = inspected["Docker"]["config"]
        container = builder("from", "--pull-never", name)
        self.root = Path(builder("mount", container))

    @property
    def environment(self) -> dict[str, str]:
        return dict(entry.partition("=")[::2] for entry in self.config["Env"])

    def size_bytes(self, *parts: str) -> int:
        """All files below a folder of the image."""
        return sum(path.lstat().st_size for path in self.files(*parts))

    def files(self, *parts: str) -> Iterator[Path]:
        """Every file below a folder of the image, but for links."""
        for path in self.root.joinpath(*parts).rglob("*"):
            if path.is_file() and not path.is_symlink():
                yield path

    @property
    def site(self) -> Path:
        """Where its packages are."""
        return next((self.root / "opt/sidemirror/lib").glob("python3*/site-packages"))

    def packages(self) -> dict[str, int]:
        """The bytes of each distribution: the files that its record lists, and their bytecode."""
        found = {}
        for record in self.site.glob("*.dist-info/RECORD"):
            name = record.parent.name.partition("-")[0].lower().replace("_", "-")
            listed = {
                self.site / line.rpartition(",")[0].rpartition(",")[0] for line in record.read_text().splitlines()
            }
            bytecode = (one for path in listed if path.suffix == ".py"
                        for one in (path.parent / "__pycache__").glob(f"{path.stem}.cpython-*.pyc"))  # fmt: skip
            found[name] = sum(path.stat().st_size for path in {*listed, *bytecode} if path.is_file())
        return found

    def command(self, *arguments: str, entrypoint: bool = True) -> list[str]:
        """Runs the image: its files read-only, a folder in memory as /data, no privilege. The process that is started
        becomes the image's."""
        root = str(self.root)
        own_user = f"{shutil.which('chroot')} --userspec={USER}:{USER} --groups={USER} {root}"
        script = (
            f"mount --bind {root} {root} && mount -o remount,bind,ro {root} && "
            f"mount -t tmpfs -o mode=0700,uid={USER},gid={USER} tmpfs {root}/data && "
            f"mount -t proc proc {root}/proc && mount --rbind /dev {root}/dev && "
            f'cd {root}/data && exec setpriv --no-new-privs {own_user} "$@"'
        )
        own = self.config["Entrypoint"] if entrypoint else []
        return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh", *own, *arguments]

    def run(self, *arguments: str, entrypoint: bool = True, **more: str) -> "subprocess.CompletedProcess[str]":
        """From its start to its end."""
        return subprocess.run(
            self.command(*arguments, entrypoint=entrypoint),
            check=False,
            capture_output=True,
            text=True,
            env={**self.environment, **more},
            timeout=60,
        )


class Running:
    """The image's server. `address` is known once it serves."""

    def __init__(self, image: Image, settings: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            image.command(*image.config["Cmd"]),
            stderr=subprocess.PIPE,
            text=True,
            env={**image.environment, **settings},
        )
        self.log: list[str] = []
        self.address = ""
        self._serves = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if line.startswith("sidemirror is serving on "):
                self.address = line.split()[-1]
                self._serves.set()
        self._serves.set()

    def wait(self) -> None:
        """Returns once it serves."""
        assert self._serves.wait(30)
        assert self.address, "".join(self.log)

    def status(self, field: str) -> list[str]:
        """A line of /proc/PID/status."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return line.split()[1:]
        raise AssertionError(field)

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self.process.terminate()
        code = self.process.wait(30)
        self._reader.join(10)
        if self.process.stderr is not None:
            self.process.stderr.close()
        return code
