"""The tables of docs/ say what the code says."""

import re
from enum import Enum
from typing import Any

from sidemirror.v1 import errors_pb2
from sidemirror_server.rpc.boundary.status import TABLE
from sidemirror_server.settings import Settings, names
from sidemirror_server.thinking.levels import TOKEN_BUDGETS
from sidemirror_server.thinking.schedule import Reason
from tests.acceptance.documents import table
from tests.acceptance.product import run


def default_of(name: str) -> str:
    value: Any = Settings()
    for part in name.split("__"):
        value = getattr(value, part)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value.value if isinstance(value, Enum) else "" if value is None else value)


def test_settings() -> None:
    rows = {row[0]: row[1:] for row in table("Settings", "setting")}
    flags = set(re.findall(r"--[\w-]+", run("serve", "--help").stdout))

    assert list(rows) == [f"SIDEMIRROR_{name.upper()}" for name in names()]
    for name in names():
        flag, default, meaning = rows[f"SIDEMIRROR_{name.upper()}"]
        wanted = f"--{name.replace('_', '-')}"
        assert (name, flag) == (name, wanted if wanted in flags else "")
        assert (name, default) == (name, default_of(name))
        assert meaning
        flags.discard(flag)
    # The latter is short for a value of --http-address, and its row says so.
    assert flags == {"--help", "--http"}
    assert "`--http` stands for" in rows["SIDEMIRROR_HTTP_ADDRESS"][2]


def test_levels() -> None:
    rows = [(level, int(tokens)) for level, tokens, _ in table("When it speaks", "level")]

    assert rows == [(level.name, tokens) for level, tokens in TOKEN_BUDGETS.items()]


def test_reasons_of_the_schedule() -> None:
    rows = [reason for reason, _, _ in table("When it speaks", "reason")]

    assert rows == [reason.name for reason in Reason if reason is not Reason.REQUESTED]


def test_reasons_of_errors() -> None:
    rows = {reason: code for reason, code, _ in table("Limits and errors", "reason")}
    published = [reason.name.removeprefix("ERROR_REASON_") for reason in errors_pb2.ErrorReason.DESCRIPTOR.values]

    assert list(rows) == published[1:]
    for row in TABLE.values():
        assert rows[errors_pb2.ErrorReason.Name(row.reason).removeprefix("ERROR_REASON_")] == row.code.name
