"""`sidemirror migrate`: creates or updates the schema of a shared database, as its owner."""

import asyncio
import sys
from collections.abc import Sequence

from sidemirror_server.assembly import migrate_shared
from sidemirror_server.settings import BadSettings
from sidemirror_server.vocabulary.errors import SidemirrorError

EXIT_FAILED = 1


def migrate(url: str, grant_to: Sequence[str]) -> int:
    """Applies what is missing and says what it did. Returns the exit code. Raises BadSettings without a URL."""
    if not url:
        raise BadSettings("database_url (SIDEMIRROR_DATABASE_URL, or --database-url): the owner's URL is expected")
    try:
        applied = asyncio.run(migrate_shared(url, grant_to))
    except SidemirrorError as error:
        print(f"sidemirror: {error}", file=sys.stderr)
        return EXIT_FAILED
    for name in applied:
        print(f"applied {name}")
    print("the schema is up to date")
    for role in grant_to:
        print(f"{role} may use it")
    return 0
