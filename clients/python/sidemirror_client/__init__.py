"""Sidemirror for Python: typed stubs on one channel, with deadlines, retries and traces as they should be.

    async with connect() as sidemirror:
        started = await sidemirror.thinking.StartTurn(StartTurnRequest(session_id="s", task="..."))

Messages are in `sidemirror.v1` (the package sidemirror-api).
"""

from sidemirror_client.client import Sidemirror, connect

__all__ = ["Sidemirror", "connect"]
