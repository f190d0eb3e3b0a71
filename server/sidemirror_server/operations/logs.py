"""Log lines: one JSON object each on stderr, since stdout belongs to commands' results. Contents are never logged."""

import logging
import sys
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import msgspec

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_encode = msgspec.json.Encoder(enc_hook=str).encode


class JsonLines(logging.Formatter):
    """A record as one line: time, level, logger, event, and whatever `extra` holds."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}",
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
        """Where it was raised and of which type, from its first cause on. What it says may hold contents."""
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
    """Leaves out what grpc.aio says, with a traceback, of each client that is gone while it is being written to.

    Nothing is wrong with this server then, and whoever wants to could fill its log.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.exc_info[0] if record.exc_info else None
        return kind is None or kind.__name__ != "ExecuteBatchError"


def log_to_stderr(level: str) -> None:
    """From now on, log from `level` (debug, info, warning, error) upwards."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_ClientLeft())
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
