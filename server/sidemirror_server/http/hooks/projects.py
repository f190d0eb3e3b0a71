"""The project that a folder belongs to: the repository that it is in, so that two repositories share no lessons."""

import functools
import hashlib
import re
from pathlib import Path

# Of a worktree's `.git`, which is a file: where the repository keeps what is the worktree's own.
_WORKTREE = re.compile(r"^gitdir: (.+)/\.git/worktrees/[^/\n]+\s*$")
_LONGEST_LINK = 4096
# Characters of a path: what Linux takes. Of a longer one each part would be looked up, which takes minutes.
_LONGEST_PATH = 4096


def project_of(folder: str) -> str:
    """The project's id: the name of the repository's folder, and a digest of its path. A folder outside of repositories
    is a project of its own; empty if `folder` is no absolute path that can be one. Reads the file system."""
    return _project_of(folder) if len(folder) < _LONGEST_PATH else ""


@functools.lru_cache(maxsize=1024)
def _project_of(folder: str) -> str:
    path = Path(folder)
    if not path.is_absolute() or "\0" in folder:
        return ""
    try:
        root = _root_of(path.resolve())
    except (OSError, RuntimeError, UnicodeEncodeError):  # gone, unreadable, a circle of links, or no path at all
        root = path
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name)[:64] or "root"
    return f"{name}-{hashlib.sha256(str(root).encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _root_of(path: Path) -> Path:
    for folder in (path, *path.parents):
        if (folder / ".git").exists():
            return _repository_of(folder)
    return path


def _repository_of(root: Path) -> Path:
    """The repository whose worktree this is; the folder itself if it is none, and for a submodule."""
    link = root / ".git"
    if not link.is_file():
        return root
    with link.open("rb") as file:
        told = _WORKTREE.match(file.read(_LONGEST_LINK).decode("utf-8", "replace"))
    return Path(told[1]) if told and Path(told[1]).is_absolute() else root
