"""Every error that leaves a room. `rpc/boundary/status.py` maps each to a gRPC code and a published reason.

    SidemirrorError
    ├── BadInput             fields of the request that cannot be accepted, each with its reason
    ├── MalformedMessage     the bytes of the request do not parse
    ├── RequestIdReused      a request_id was used again with other content
    ├── NotFound             no such record in this scope
    ├── AlreadyExists        the id is taken
    ├── WrongState           the record exists but its state forbids this
    ├── LimitReached         a named limit of the server or of the turn
    ├── Unauthenticated      no identity
    ├── NotPermitted         an identity, but not for this scope
    ├── StoreUnavailable     the store did not answer; the call may or may not have taken effect
    │   ├── StoreRefused     this server cannot use the store; a start with it fails
    │   │   ├── StoreDamaged its bytes are not those of a store, or have changed
    │   │   └── StoreInUse   another process has it
    │   ├── TurnLost         it answered that the turn is not this server's any more; the caller takes it up again
    │   └── PlaceTaken       another program uses a key of ours; waiting alone does not help
    ├── StoreFull            the store has no room left; nothing was written
    ├── LostClaim            a job's lease was taken over by another worker
    ├── ModelFailed          a language model gave no usable answer
    ├── ModelUnavailable     no model gave a usable answer, and the RPC ends in an error
    ├── ModelTooLate         no time was left to ask a model
    ├── CostsTooLate         what projects cost could not be added up in time
    ├── SpendCapReached      a cap on spending forbids asking a model
    ├── Disabled             a setting turns this off
    └── Draining             the server is shutting down

Constructors take facts; the first line of each class's docstring is its message.
"""

from collections.abc import Iterable

from sidemirror_server.vocabulary.status import ResultStatus, Usage


class SidemirrorError(Exception):
    """Something went wrong that a caller can be told about."""

    def __init__(self, **facts: str) -> None:
        super().__init__(*facts.values())
        self.facts = facts

    def __str__(self) -> str:
        known = ", ".join(f"{name}={value!r}" for name, value in self.facts.items())
        message = (type(self).__doc__ or "").strip().split("\n", 1)[0]
        return f"{message} ({known})" if known else message


class BadInput(SidemirrorError):
    """The request cannot be accepted."""

    def __init__(self, violations: Iterable[tuple[str, str]]) -> None:
        """`violations`: (field path as in the proto, what is wrong with it), at least one."""
        self.violations = tuple(violations)
        super().__init__(**dict(self.violations))


class MalformedMessage(SidemirrorError):
    """The bytes of the request are not a message of the expected kind."""


class RequestIdReused(SidemirrorError):
    """This request_id was already used for a request with other content."""


class NotFound(SidemirrorError):
    """There is no such record here."""

    def __init__(self, kind: str, record_id: str) -> None:
        super().__init__(kind=kind, id=record_id)


class AlreadyExists(SidemirrorError):
    """The id is already taken."""

    def __init__(self, kind: str, record_id: str) -> None:
        super().__init__(kind=kind, id=record_id)


class WrongState(SidemirrorError):
    """The record is in a state that does not allow this."""

    def __init__(self, kind: str, record_id: str, state: str) -> None:
        super().__init__(kind=kind, id=record_id, state=state)


class LimitReached(SidemirrorError):
    """A limit is reached."""

    def __init__(self, limit: str, value: int, subject: str, *, passes: bool = False) -> None:
        """`limit`: the setting's name; `value`: the setting's value; `subject`: what is limited (a turn id, …);
        `passes`: whether a later retry can succeed."""
        self.limit, self.value, self.subject, self.passes = limit, value, subject, passes
        super().__init__(limit=limit, value=str(value), subject=subject)


class Unauthenticated(SidemirrorError):
    """The call carries no identity that this server knows."""


class NotPermitted(SidemirrorError):
    """The caller may not act in this scope."""


class StoreUnavailable(SidemirrorError):
    """The store did not answer."""

    def __init__(self, *, remedy: str = "", **facts: str) -> None:
        """`reason` among the facts: the cause. `remedy`: what to change, for people; the reason ends with it."""
        self.cause, self.remedy = facts.get("reason", ""), remedy
        if remedy:
            facts["reason"] = f"{self.cause}: {remedy}"
        super().__init__(**facts)


class StoreRefused(StoreUnavailable):
    """The store cannot be used."""


class StoreDamaged(StoreRefused):
    """The store is damaged."""


class StoreInUse(StoreRefused):
    """The store is in use."""


class TurnLost(StoreUnavailable):
    """The turn cannot go on here."""


class PlaceTaken(StoreUnavailable):
    """Another program keeps something else where this belongs."""


class StoreFull(SidemirrorError):
    """The store has no room left."""


class LostClaim(SidemirrorError):
    """The lease on this job was lost to another worker."""

    def __init__(self, job_id: str, token: int) -> None:
        super().__init__(id=job_id, token=str(token))


class ModelFailed(SidemirrorError):
    """The language model gave no usable answer."""

    def __init__(
        self,
        status: ResultStatus,
        detail: str,
        *,
        retryable: bool = False,
        retry_after_s: float | None = None,
        usage: Usage | None = None,
        not_asked: bool = False,
    ) -> None:
        """`status`: any but OK; `detail`: for people, such as the cap or the provider's message; no prompt and no
        secret.

        `retryable`: a retry may succeed, after `retry_after_s` seconds if the provider says so. `usage`: what the
        failed call used. Zeros mean that it certainly used nothing; None means that it may have used tokens.
        `not_asked`: the question was not sent, since the model had failed before.
        """
        self.status, self.detail = status, detail
        self.retryable, self.retry_after_s = retryable, retry_after_s
        self.usage = usage
        self.not_asked = not_asked
        super().__init__(status=status.value, detail=detail)

    @property
    def is_not_taken(self) -> bool:
        """Whether the provider refused the request unprocessed and would refuse it again, perhaps for its text."""
        return self.status is ResultStatus.FAILED_MODEL and self.usage is not None and not self.retryable


class ModelUnavailable(SidemirrorError):
    """No model gave a usable answer."""


class ModelTooLate(SidemirrorError, TimeoutError):
    """No time was left to ask a model."""


class CostsTooLate(SidemirrorError, TimeoutError):
    """What so many projects cost could not be added up in time."""


class SpendCapReached(SidemirrorError):
    """A cap on spending is reached."""


class Disabled(SidemirrorError):
    """A setting turns this off."""


class Draining(SidemirrorError):
    """The server is shutting down."""
