"""The project of the current folder: for commands that found nothing, where the hooks of this folder have told of some.

`attach` gives each repository a project of its own, and a command that names none looks at the sidecar's own.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import grpc

from sidemirror_server.http.hooks.projects import project_of


def project_here() -> str:
    """The project that hooks give the current folder."""
    return project_of(str(Path.cwd()))


def scope_with_some(scope: Mapping[str, Any], has_some: Callable[[dict[str, Any]], bool]) -> str:
    """The project that hooks give the current folder, as `--scope` takes it, if `has_some` is true of it. Empty if a
    project was named, if it has none, or if it may not be asked. Raises grpc.RpcError."""
    if scope["project_id"]:
        return ""
    of_folder = {**scope, "project_id": project_here()}
    try:
        is_there = has_some(of_folder)
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.PERMISSION_DENIED:
            return ""
        raise
    if not is_there:
        return ""
    return f"{scope['tenant_id']}/{of_folder['project_id']}" if scope["tenant_id"] else "."
