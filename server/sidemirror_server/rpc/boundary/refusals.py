"""Logs refused and failed calls: a line for each that says something new, and only their number when there are many.
Who has no good token has one line when its calls begin, and one when they have ended.

An attacker must not fill the disk with log lines, nor hide the lines of others by flooding the log.
"""

import asyncio
import logging
from collections import Counter

from sidemirror_server.rpc.boundary.strangers import Stranger, Strangers
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.scope import Scope, whose

_log = logging.getLogger(__name__)

# Lines in a period: of one peer and token, and in total. Chosen here: enough to see who calls and what is
# tried; whether it goes on the next period says. At about 300 bytes a line that is at most 60 KiB a minute.
PERIOD_S = 60.0
LINES_OF_ONE = 20
LINES = 200
# How many pairs of peer and token are counted separately; later ones in a period share one count. Chosen here: about
# 100 KiB.
_COUNTED = 1_000
# How many peers and tokens the summary names: those with the most suppressed lines.
_NAMED = 10
_OTHERS = "others"


class Refusals:
    """Writes the lines, and counts those that it suppresses. Used on the event loop's thread only."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # Who has no good token.
        self.strangers = Strangers(clock)
        self._of_one: Counter[tuple[str, str]] = Counter()
        # The lines of this period, each with its host, its token and its facts.
        self._told: set[tuple[str, ...]] = set()
        # By host and token.
        self._left_out: Counter[tuple[str, str]] = Counter()
        self._failures: Counter[str] = Counter()
        self._lines = 0
        self._began_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def tell(self, peer: str, *, token: str = "", **facts: str) -> None:
        """Logs that a call of `peer` (gRPC's name of it) was refused. `token`: the name of the presented token, if it
        is known; `facts` are added to the line. Of equal lines the period has one."""
        line = (host_of(peer), token, *facts.values())
        if self._has_room(host_of(peer), token, is_new=line not in self._told):
            self._told.add(line)
            _log.warning("call_refused", extra={"peer": peer, "token": token, **facts})

    def tell_stranger(self, peer: str, one: Stranger, method: str) -> None:
        """Logs that calls of a stranger begin to be refused, the first of them of this method."""
        if not self.strangers.again(one) and self._has_room(one.host, one.token):
            self.strangers.add(one)
            _log.warning("call_refused", extra={**_facts_of(one), "peer": peer, "method": method})

    def _has_room(self, host: str, token: str, *, is_new: bool = True) -> bool:
        """Whether a line is written; if not, it is counted."""
        self._begin()
        key = (host, token)
        if key not in self._of_one and len(self._of_one) >= _COUNTED:
            key = (_OTHERS, "")
        self._of_one[key] += is_new
        if not is_new or self._of_one[key] > LINES_OF_ONE or self._lines >= LINES:
            self._left_out[key] += 1
            return False
        self._lines += 1
        return True

    def tell_failure(self, method: str, error: Exception, scope: Scope | None = None, *, token: str = "") -> None:
        """Logs that a call failed by a bug, with its traceback; LINES_OF_ONE in a period for each method. `scope`: None
        if it failed before that was known; `token`: as in `tell`."""
        self._begin()
        self._failures[method] += 1
        if self._failures[method] <= LINES_OF_ONE:
            of = {} if scope is None else whose(scope)
            _log.error("call_failed", extra={**of, "token": token, "method": method}, exc_info=error)

    def _begin(self) -> None:
        """Begins a period, if none is under way."""
        if self._timer is None:
            self._began_s = self._clock.monotonic_s()
            self._timer = asyncio.get_running_loop().call_later(PERIOD_S, self._turn)

    def _turn(self) -> None:
        """Ends a period, and says which strangers have gone. Another one begins while any are known."""
        self.close()
        for one, refused in self.strangers.gone():
            lasted_s = round((refused.last_us - refused.first_us) / 1e6, 1)
            _log.info("calls_not_refused", extra={**_facts_of(one), "calls": refused.calls, "lasted_s": lasted_s})
        if self.strangers:
            self._begin()

    def close(self) -> None:
        """Ends the period, and logs how many lines were suppressed: refusals by peer and by token, failures by method.
        The next refusal or failure starts a new period."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        seconds = round(self._clock.monotonic_s() - self._began_s, 1)
        if self._left_out:
            peers: Counter[str] = Counter()
            tokens: Counter[str] = Counter()
            for (peer, token), count in self._left_out.items():
                peers[peer] += count
                tokens[token] += count
            del tokens[""]
            named = {"peers": dict(peers.most_common(_NAMED)), "tokens": dict(tokens.most_common(_NAMED))}
            _log.warning("more_calls_refused", extra={"count": self._left_out.total(), "seconds": seconds, **named})
        methods = {method: calls - LINES_OF_ONE for method, calls in self._failures.items() if calls > LINES_OF_ONE}
        if methods:
            _log.error(
                "more_calls_failed", extra={"count": sum(methods.values()), "seconds": seconds, "methods": methods}
            )
        self._of_one.clear()
        self._told.clear()
        self._left_out.clear()
        self._failures.clear()
        self._lines = 0


def _facts_of(one: Stranger) -> dict[str, str]:
    """Its fields, but for those that most of them lack."""
    facts = {**one._asdict(), "peer": one.host}
    del facts["host"]
    return facts if one.fingerprint else {name: value for name, value in facts.items() if name != "fingerprint"}


def host_of(peer: str) -> str:
    """The peer without its port, which differs between connections: `ipv4:10.0.0.7`, `ipv6:%5B::1%5D`. A Unix socket
    stays as it is."""
    if peer.startswith(("ipv4:", "ipv6:")):
        return peer.rpartition(":")[0]
    return peer
