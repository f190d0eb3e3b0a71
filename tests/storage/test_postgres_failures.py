"""Every error that asyncpg can raise has its meaning, so that none slips through as something it is not."""

import asyncio
import ssl

import asyncpg
import pytest
from asyncpg import exceptions

from sidemirror_server.storage.postgres.failures import (
    LOST_STATEMENT,
    PostgresFailureKind,
    connect_failure,
    meaning_of,
    store_failure,
)
from sidemirror_server.vocabulary.errors import StoreFull, StoreUnavailable

# Classes of codes that tell of the statement or its values: trying again would fail again.
DEFECTS = {"0A", "0L", "0P", "0Z", "0B", "01", "02", "03", "09", "0F", "10", "20", "21", "22", "23", "24", "25", "26"}
DEFECTS |= {"27", "2B", "2D", "2F", "34", "38", "39", "3B", "3F", "42", "44", "54", "72", "HV", "P0", "00"}
OUTSIDE = {"08", "28", "3D", "40", "53", "55", "57", "58", "F0", "XX"}
EXCEPTIONS = {"25006", "25P03", "25P04"}

KINDS = sorted(
    {kind for kind in vars(exceptions).values() if isinstance(kind, type) and issubclass(kind, asyncpg.PostgresError)},
    key=lambda kind: kind.__name__,
)


def test_the_kinds_are_found() -> None:
    assert len(KINDS) > 250
    assert exceptions.DeadlockDetectedError in KINDS


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_of_postgres_has_its_meaning(kind: type[asyncpg.PostgresError]) -> None:
    code = kind.sqlstate
    if code is None:  # the roots of the tree, which nobody raises without a code
        assert kind in (exceptions.PostgresError, exceptions.FatalPostgresError, exceptions.UnknownPostgresError)
        return
    assert (code[:2] in DEFECTS) != (code[:2] in OUTSIDE), "a class that nobody has thought about"
    is_defect = code[:2] in DEFECTS and code not in EXCEPTIONS and not issubclass(kind, LOST_STATEMENT)
    assert (meaning_of(kind("what happened")) is PostgresFailureKind.DEFECT) == is_defect


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        ("53100", PostgresFailureKind.FULL),
        ("53300", PostgresFailureKind.AWAY),
        ("57P01", PostgresFailureKind.AWAY),
        ("57P03", PostgresFailureKind.AWAY),
        ("25006", PostgresFailureKind.AWAY),
        ("08006", PostgresFailureKind.AWAY),
        ("XX001", PostgresFailureKind.AWAY),
        ("57014", PostgresFailureKind.BUSY),
        ("55P03", PostgresFailureKind.BUSY),
        ("40P01", PostgresFailureKind.BUSY),
        ("40001", PostgresFailureKind.BUSY),
        ("23505", PostgresFailureKind.DEFECT),
        ("22P05", PostgresFailureKind.DEFECT),
        ("42501", PostgresFailureKind.DEFECT),
    ],
)
def test_by_code(code: str, meaning: PostgresFailureKind) -> None:
    error = asyncpg.PostgresError.new({"C": code, "M": "what happened", "S": "ERROR"})
    assert meaning_of(error) is meaning


# What asyncpg raises that is not Postgres'.
OF_THE_DRIVER = {
    exceptions.InterfaceError: PostgresFailureKind.AWAY,
    exceptions.InternalClientError: PostgresFailureKind.AWAY,
    exceptions.ProtocolError: PostgresFailureKind.AWAY,
    exceptions.OutdatedSchemaCacheError: PostgresFailureKind.AWAY,
    exceptions.UnsupportedServerFeatureError: PostgresFailureKind.AWAY,
    exceptions.UnsupportedClientFeatureError: PostgresFailureKind.AWAY,
    exceptions.TargetServerAttributeNotMatched: PostgresFailureKind.AWAY,
    exceptions.ClientConfigurationError: PostgresFailureKind.DEFECT,
    exceptions.DataError: PostgresFailureKind.DEFECT,
}


def test_every_error_of_the_driver_has_its_meaning() -> None:
    for name, kind in vars(exceptions).items():
        if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, Warning):
            if issubclass(kind, asyncpg.PostgresError) and kind is not exceptions.DataError:
                continue
            assert kind in OF_THE_DRIVER or issubclass(kind, exceptions.PostgresMessage), name
    for kind, meaning in OF_THE_DRIVER.items():
        assert meaning_of(kind("what happened")) is meaning, kind


@pytest.mark.parametrize(
    "error",
    [
        ConnectionResetError(),
        ConnectionRefusedError(),
        TimeoutError(),
        FileNotFoundError(),
        asyncio.IncompleteReadError(b"", 5),
        ssl.SSLError("handshake"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_the_network_is_outside(error: Exception) -> None:
    assert meaning_of(error) is PostgresFailureKind.AWAY


def test_values_of_rows_are_not_told() -> None:
    fields = {"C": "53100", "M": "could not write hunter2", "D": "Key (id)=(hunter2)", "S": "ERROR"}
    full = store_failure(asyncpg.PostgresError.new(fields))
    busy = store_failure(asyncpg.PostgresError.new({**fields, "C": "40001"}))
    assert isinstance(full, StoreFull)
    assert isinstance(busy, StoreUnavailable)
    assert "hunter2" not in f"{full} {busy}"
    assert busy.facts == {"store": "postgres", "reason": "SerializationError (40001)"}


def test_a_defect_is_nobodys_failure() -> None:
    assert store_failure(ValueError("ours")) is None
    assert store_failure(asyncpg.PostgresError.new({"C": "42P01", "M": "no table", "S": "ERROR"})) is None


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (exceptions.InternalClientError("x"), "InternalClientError: the connection cannot be used any more"),
        (exceptions.InterfaceError("x"), "InterfaceError: the connection cannot be used any more"),
        (exceptions.ConnectionDoesNotExistError("x"), "ConnectionDoesNotExistError (08003): the connection was lost"),
        (ConnectionResetError("x"), "ConnectionResetError: the connection was lost"),
        (asyncio.IncompleteReadError(b"", 5), "IncompleteReadError: the connection was lost"),
        (TimeoutError("x"), "TimeoutError: no answer in time"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_the_reason_is_in_words(error: Exception, told: str) -> None:
    """`store_away` has it, which somebody reads at night. Seen to fail with the driver's class alone."""
    failure = store_failure(error)
    assert failure is not None
    assert failure.facts["reason"] == told


@pytest.mark.parametrize("error", [exceptions.InternalClientError("x"), exceptions.ConnectionDoesNotExistError("x")])
def test_so_is_that_of_a_connection(error: Exception) -> None:
    """Seen to fail with the driver's class alone."""
    failure = connect_failure(error)
    assert failure is not None
    assert ": the connection was cut while it was made: " in failure.facts["reason"]
