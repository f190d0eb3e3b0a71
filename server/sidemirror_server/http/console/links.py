"""One-time links to the console, and the tokens that its pages get for them.

A page cannot be opened with the door's own token: a link stays in histories. So whoever has a token asks for a code,
which opens one page within a minute. The page gets a token of its own for it, which may only read, and which is good
for as long as the token that asked for it.
"""

import secrets
from collections.abc import Callable

import msgspec

from sidemirror_server.http.console.pages import Page, PageFile
from sidemirror_server.rpc.boundary.access import Token, digest_of
from sidemirror_server.vocabulary.clock import Clock

# Microseconds for which a code opens a page. Chosen here: somebody copies it from a terminal into a browser.
CODE_US = 60 * 1_000_000
# Microseconds for which a page may read. Chosen here: a working day; a page that is open for longer needs a new link.
PAGE_US = 12 * 3_600 * 1_000_000
# Codes and pages of all callers at once; the oldest ones end when there are more. Chosen here: a person has a few.
MOST = 64


class _Code(msgspec.Struct, frozen=True):
    asker: Token
    expires_us: int


class Links:
    """The codes that open pages, and the tokens of open pages. Codes are in memory only."""

    def __init__(self, tokens: Callable[[], tuple[Token, ...]], clock: Clock, kept: PageFile) -> None:
        """`tokens`: those that callers have by themselves; `kept`: the pages that were open before."""
        self._tokens = tokens
        self._clock = clock
        self._kept = kept
        # By digest, the oldest first.
        self._codes: dict[bytes, _Code] = {}
        # The oldest first.
        self._pages = kept.read()[-MOST:]
        self._of: tuple[Token, ...] | None = None
        self._all: tuple[Token, ...] = ()

    def tokens(self) -> tuple[Token, ...]:
        """The tokens that callers have, and those of pages. The same tuple as long as none changes."""
        base = self._tokens()
        if base is not self._of:
            self._join(base)
        return self._all

    def link(self, asker: Token) -> str:
        """A new code, which opens one page that may read what `asker` may."""
        code = secrets.token_urlsafe(32)
        self._codes[digest_of(code)] = _Code(asker, self._clock.now_us() + CODE_US)
        while len(self._codes) > MOST:
            del self._codes[next(iter(self._codes))]
        return code

    def opened(self, code: str) -> str | None:
        """A token for the page that this code opens; None if it opens none, or none any more."""
        found = self._codes.pop(digest_of(code), None)
        now_us = self._clock.now_us()
        # Its asker may have been revoked meanwhile.
        base = self._tokens()
        if found is None or now_us >= found.expires_us or found.asker.digest not in {one.digest for one in base}:
            return None
        token = secrets.token_hex(32)
        opened = Page(digest_of(token), found.asker.digest, now_us + PAGE_US)
        self._pages = [*(page for page in self._pages if page.expires_us > now_us), opened][-MOST:]
        self._join(base)
        self._kept.write(self._pages)
        return token

    def _join(self, base: tuple[Token, ...]) -> None:
        """A page has what its asker has by now, and ends with it."""
        known = {token.digest: token for token in base}
        self._pages = [page for page in self._pages if page.asker in known]
        self._of = base
        self._all = (*base, *(_token_of(page, known[page.asker]) for page in self._pages))


def _token_of(page: Page, asker: Token) -> Token:
    """A page's token: as good as the asker's, to read."""
    ends_us = page.expires_us if asker.expires_us is None else min(page.expires_us, asker.expires_us)
    return Token(asker.name, page.digest, asker.grants, ends_us, admin=False, reads_only=True)
