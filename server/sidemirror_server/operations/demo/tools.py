"""The agent's tools. Their results and their failures are real."""

import asyncio
import sqlite3
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import msgspec

from sidemirror_server.operations.demo.books import query_books

_TIME_LIMIT_S = 0.6


class DemoCall(msgspec.Struct, frozen=True):
    """A tool and its arguments."""

    name: str
    arguments: dict[str, str]

    @property
    def json(self) -> str:
        """The arguments as JSON."""
        return msgspec.json.encode(self.arguments).decode()


class DemoOutcome(msgspec.Struct, frozen=True):
    """The result of a call. `failed`: the tool reported an error. `broke`: the call did not return."""

    text: str
    failed: bool = False
    broke: bool = False


class Tools:
    """Calls tools on the books and on the service."""

    def __init__(self, books: Path, service_url: str) -> None:
        self._books = books
        self._url = service_url
        # The service is on this machine, so proxies are ignored.
        self._open = build_opener(ProxyHandler({})).open

    async def call(self, call: DemoCall) -> DemoOutcome:
        """Makes the call; every failure becomes an outcome."""
        match call.name:
            case "search_contracts":
                pattern = f"%{call.arguments['text']}%"
                query = "SELECT title, discount_percent FROM contracts WHERE title LIKE ?"
                return await asyncio.to_thread(self._query, query, pattern)
            case "run_sql":
                return await asyncio.to_thread(self._query, call.arguments["query"])
            case "list_payments":
                return await asyncio.to_thread(self._get, "/payments", call.arguments)
            case "get_rate":
                return await asyncio.to_thread(self._get, "/rate", call.arguments)
        return DemoOutcome(f"there is no tool {call.name}", failed=True)

    def _query(self, query: str, *values: str) -> DemoOutcome:
        try:
            return DemoOutcome(msgspec.json.encode(query_books(self._books, query, *values)).decode())
        except sqlite3.Error as error:
            return DemoOutcome(f"{type(error).__name__}: {error}", failed=True)

    def _get(self, path: str, arguments: dict[str, str]) -> DemoOutcome:
        try:
            with self._open(f"{self._url}{path}?{urlencode(arguments)}", timeout=_TIME_LIMIT_S) as answer:
                return DemoOutcome(answer.read().decode())
        except HTTPError as error:
            with error:
                return DemoOutcome(f"HTTP {error.code} {error.reason}: {error.read().decode()}", failed=True)
        except TimeoutError:
            return DemoOutcome(f"timed out after {_TIME_LIMIT_S:g} s", failed=True, broke=True)
        except OSError as error:
            return DemoOutcome(f"connection error: {error}", failed=True, broke=True)
