"""The caller and scope of each call: from the call's token, or from the settings if there is no access file."""

import asyncio
import hmac
from collections.abc import Callable
from typing import NoReturn

from sidemirror_server.rpc.boundary.access import Token, digest_of, fingerprint_by, fingerprint_of
from sidemirror_server.rpc.boundary.call import Context
from sidemirror_server.rpc.boundary.refusals import Refusals, host_of
from sidemirror_server.rpc.boundary.secret_files import LOOK_EVERY_S
from sidemirror_server.rpc.boundary.strangers import EXPIRED, REMOVED, Stranger
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import NotPermitted, SidemirrorError, Unauthenticated
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE, SERVES_ALL, Scope, Serves

_HEADER = "authorization"
_SCHEME = "bearer "
# The metadata of a call that looks whether it needs a token, as `doctor` without one. Nobody has to mend that.
PROBE = (("sidemirror-probe", "doctor"),)
# How many tokens that were removed are remembered. Chosen here: some 500 KB.
_FORMER = 1_000


class Identity:
    """Finds the scope of every call, and logs each call that it refuses."""

    def __init__(
        self,
        refusals: Refusals,
        own: Scope = DEFAULT_SCOPE,
        *,
        serves: Serves = SERVES_ALL,
        tokens: Callable[[], tuple[Token, ...]] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`own`: the scope of calls that name none. `serves`: the scopes whose calls are answered. `tokens` returns the
        current tokens; None admits every caller. `clock` decides when a token has expired."""
        self.own = own
        self._refusals = refusals
        self._serves = serves
        self._serves_own = serves.covers(own)
        self._tokens = tokens
        # Whether a call needs a token.
        self.asks = tokens is not None
        self._clock = clock
        self._listed: tuple[Token, ...] = ()
        self._known: dict[bytes, Token] = {}
        # Tokens that were removed since the start, by digest; the one that was removed last is the last one.
        self._former: dict[bytes, Token] = {}

    async def follow(self) -> None:
        """Checks the token files even without calls, so that their removal is logged and applies to the next call. Runs
        forever on a server that requires tokens."""
        while self._tokens is not None:
            self._look()
            await asyncio.sleep(LOOK_EVERY_S)

    def caller_of(self, method: str, context: Context) -> Token | None:
        """The token that the call carries; None when this server requires none. Raises Unauthenticated."""
        if self._tokens is None:
            return None
        presented = [
            value for key, value in context.invocation_metadata() or () if key == _HEADER and isinstance(value, str)
        ]
        if not presented:
            if PROBE[0] in tuple(context.invocation_metadata() or ()):
                raise Unauthenticated(reason="the call carries no token")
            self._refuse(Unauthenticated(reason="the call carries no token"), method, context)
        if len(presented) > 1 or presented[0][: len(_SCHEME)].lower() != _SCHEME:
            self._refuse(Unauthenticated(reason="`authorization: Bearer TOKEN` is expected, once"), method, context)
        given = presented[0][len(_SCHEME) :].strip()
        digest = digest_of(given)
        token = self._token_of(digest)
        if token is None:
            if former := self._former.get(digest):
                gone = Unauthenticated(reason=REMOVED)
                self._refuse(gone, method, context, former.name, former.granted())
            unknown = Unauthenticated(reason="the token is not known")
            self._refuse(unknown, method, context, fingerprint=fingerprint_of(given))
        if self._has_expired(token):
            expired = Unauthenticated(reason=EXPIRED)
            self._refuse(expired, method, context, token.name, token.granted())
        return token

    def scope_of(self, caller: Token | None, tenant_id: str, project_id: str, method: str, context: Context) -> Scope:
        """The scope that a request asks for. Empty fields mean the sidecar's own scope, or the token's if it is not
        granted that, and one tenant only (decision 003). Raises NotPermitted."""
        own = self.own
        if caller is None:
            if not tenant_id and not project_id and self._serves_own:
                return own
        else:
            own = self._own_of(caller)
        asked = Scope(tenant_id or own.tenant_id, project_id or own.project_id)
        name = "" if caller is None else caller.name
        if not self._serves.covers(asked):
            reason = "this sidecar does not serve this tenant and project"
            self._refuse(NotPermitted(reason=reason), method, context, name, (asked.tenant_id, asked.project_id))
        if caller is not None and not caller.covers(asked):
            reason = "the token is not good for this tenant and project"
            self._refuse(NotPermitted(reason=reason), method, context, name, (asked.tenant_id, asked.project_id))
        if caller is not None and self._refusals.strangers:
            fingerprint = fingerprint_by(caller.digest)
            self._refusals.strangers.good(host_of(context.peer()), caller.name, fingerprint, asked)
        return asked

    def _own_of(self, caller: Token) -> Scope:
        """What empty fields mean. With a token that is good for some projects of one tenant it is that tenant, so that
        a request may name the project alone."""
        tenant_id, _ = caller.granted()
        return caller.own_scope(self.own) or (Scope(tenant_id, self.own.project_id) if tenant_id else self.own)

    def reaches(self, caller: Token | None, project_id: str) -> bool:
        """Whether a request of the caller that names this project, and no tenant, is answered."""
        own = self._own_of(caller) if caller else self.own
        asked = Scope(own.tenant_id, project_id or own.project_id)
        return self._serves.covers(asked) and (caller is None or caller.covers(asked))

    def bars(self, caller: Token, scope: Scope, method: str, context: Context) -> SidemirrorError | None:
        """The error that ends a stream of `caller` in `scope`: the token was removed, has expired or no longer includes
        the scope. None while the stream may go on. Logs the error like a refused call."""
        token = self._token_of(caller.digest)
        error: SidemirrorError
        if token is None:
            error = Unauthenticated(reason=REMOVED)
        elif self._has_expired(token):
            error = Unauthenticated(reason=EXPIRED)
        elif not token.covers(scope):
            error = NotPermitted(reason="the token is no longer good for this tenant and project")
        else:
            return None
        self._tell(error, method, context, caller.name, (scope.tenant_id, scope.project_id))
        return error

    def _has_expired(self, token: Token) -> bool:
        return token.expires_us is not None and self._clock is not None and self._clock.now_us() >= token.expires_us

    def _token_of(self, digest: bytes) -> Token | None:
        """The token with this digest. The comparison takes constant time. The timing of the look-up varies, but helps
        no attacker: nobody can choose a byte of a digest."""
        self._look()
        token = self._known.get(digest)
        return token if token is not None and hmac.compare_digest(token.digest, digest) else None

    def _look(self) -> None:
        """Takes up the tokens that are listed now, and remembers those that are not any more."""
        listed = () if self._tokens is None else self._tokens()
        if listed is self._listed:
            return
        known = {token.digest: token for token in listed}
        removed = {digest: token for digest, token in self._known.items() if digest not in known}
        self._former = dict([*self._former.items(), *removed.items()][-_FORMER:])
        self._listed, self._known = listed, known

    def _refuse(
        self,
        error: SidemirrorError,
        method: str,
        context: Context,
        token: str = "",
        about: tuple[str, str] = ("", ""),
        *,
        fingerprint: str = "",
    ) -> NoReturn:
        self._tell(error, method, context, token, about, fingerprint)
        raise error

    def _tell(
        self,
        error: SidemirrorError,
        method: str,
        context: Context,
        token: str,
        about: tuple[str, str],
        fingerprint: str = "",
    ) -> None:
        """Logs a refusal, for operators who look for intruders. `about`: a tenant and project. The presented token is
        never logged: another server may accept it."""
        peer = context.peer()
        one = Stranger(
            host=host_of(peer),
            reason=str(error.facts["reason"]),
            token=token,
            fingerprint=fingerprint,
            tenant_id=about[0][:128],
            project_id=about[1][:128],
        )
        self._refusals.tell_stranger(peer, one, method)
