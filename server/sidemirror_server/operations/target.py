"""Which sidecar a command speaks to, and the channel to it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import grpc

from sidemirror_server.settings import load, sources

# A sidecar is on this machine: a proxy that the environment names is not for it.
CHANNEL_OPTIONS = (("grpc.enable_http_proxy", 0),)
# A local connection takes milliseconds, a sidecar's start about a second.
_CONNECT_S = 5.0


def address_of(flag: str) -> str:
    """The address to call: the flag's, the environment's, or the one that `serve` listens on by default.

    Raises BadSettings.
    """
    return flag or load().address


def address_given(flag: str) -> str:
    """The address that the flag or the environment names; empty when neither does. Raises BadSettings."""
    if flag:
        return flag
    settings = load()
    source = next(source for source in sources(settings, {}) if source.name == "address")
    return settings.address if source.source == "environment" else ""


class Unreachable(Exception):
    """Nothing answers where the sidecar should be."""


@contextlib.asynccontextmanager
async def dial(address: str) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to `address`: host:port or unix:/path. Raises Unreachable when nothing answers there."""
    async with grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS) as channel:
        try:
            async with asyncio.timeout(_CONNECT_S):
                await channel.channel_ready()
        except TimeoutError as error:
            raise Unreachable(f"nothing can be reached at {address}. Is `sidemirror serve` running there?") from error
        yield channel
