"""Log lines on stderr, one JSON object each; stdout is for the results of commands. Contents are never logged."""

import logging
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

import msgspec

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_encode = msgspec.json.Encoder(enc_hook=str).encode


class JsonLines(logging.Formatter):
    """Formats a record as one line: time (UTC), level, logger, event, and the fields of `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line.update({name: value for name, value in record.__dict__.items() if name not in _STANDARD})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _encode(line).decode()

    def formatException(  # noqa: N802  # the standard library's name
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        """The traceback and type of each error in the chain, first cause first. Leaves out messages: they may hold
        contents."""
        raised = reversed(list(_chain(ei[1])))
        return "\n\n".join(
            f"Traceback (most recent call last):\n{''.join(traceback.format_tb(error.__traceback__))}"
            f"{type(error).__module__}.{type(error).__qualname__}"
            for error in raised
        )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


class _ClientLeft(logging.Filter):
    """Drops the tracebacks that grpc.aio logs when a client leaves during a write.

    They show no fault of the server, and clients could fill its log with them.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.exc_info[0] if record.exc_info else None
        return kind is None or kind.__name__ != "ExecuteBatchError"


def log_to_stderr(level: str) -> None:
    """Logs records of `level` (debug, info, warning, error) and above from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_ClientLeft())
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
