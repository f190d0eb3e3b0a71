"""Reads the `.sql` files of the adapters, which hold named and described statements.

The text before the first name describes the file:

    -- name: claim_due
    -- What the statement does and returns. Required.
    UPDATE jobs SET …
"""

import re
from collections.abc import Mapping
from pathlib import Path

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
