"""Reads the `.sql` files of the adapters, which hold named and described statements; makes their parameters.

The text before the first name describes the file:

    -- name: claim_due
    -- What the statement does and returns. Required.
    UPDATE jobs SET …
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from sidemirror_server.vocabulary.scope import Scope

_NAME = re.compile(r"^-- name: *(.*)$", re.MULTILINE)
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")


def load_statements(path: Path) -> Mapping[str, str]:
    """The statements of a file by name, without their descriptions.

    Raises ValueError for a name that is not a lower-case identifier, a name given twice, an empty statement, and a
    statement without a description.
    """
    parts = _NAME.split(path.read_text(encoding="utf-8"))
    statements: dict[str, str] = {}
    for name, block in zip(parts[1::2], parts[2::2], strict=True):
        name = name.strip()
        lines = [line for line in block.splitlines() if line.strip()]
        description = [line for line in lines if line.startswith("--")]
        statement = "\n".join(line for line in lines if not line.startswith("--"))
        if not _IDENTIFIER.fullmatch(name):
            raise ValueError(f"{path.name}: {name!r} is no name for a statement")
        if name in statements:
            raise ValueError(f"{path.name}: {name} comes twice")
        if not description or not lines[0].startswith("--"):
            raise ValueError(f"{path.name}: nothing describes {name}")
        if not statement:
            raise ValueError(f"{path.name}: {name} is empty")
        statements[name] = statement
    return statements


def ids_of(scope: Scope) -> tuple[str, str]:
    """A scope's ids, in the order of every key's first two columns: positional parameters."""
    return scope.tenant_id, scope.project_id


def columns_of(scope: Scope) -> dict[str, Any]:
    """A scope's ids by the names of their columns: named parameters."""
    return {"tenant_id": scope.tenant_id, "project_id": scope.project_id}


def json_of(values: Iterable[Any]) -> str:
    """A JSON list, for a parameter that `json_each` reads."""
    return msgspec.json.encode(tuple(values)).decode()
