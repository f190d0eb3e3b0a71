"""`sidemirror serve`: runs the sidecar until a signal stops it."""

import asyncio
import importlib.metadata
import logging
import resource
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext

from sidemirror_server.assembly import assemble
from sidemirror_server.entrance import check_listeners
from sidemirror_server.operations import exit_codes, garbage
from sidemirror_server.operations.logs import log_to_stderr
from sidemirror_server.operations.loop import run
from sidemirror_server.rpc.listening.addresses import CannotListen
from sidemirror_server.settings import (
    PREFIX,
    BadSettings,
    Settings,
    is_measured,
    load,
    without_effect,
)
from sidemirror_server.vocabulary.errors import SidemirrorError, StoreFull, StoreInUse, StoreRefused

_log = logging.getLogger(__name__)

# Kind of store → the setting that names it; data_dir names the embedded store.
_NAMED_BY = {"postgres": "database_url", "redis": "redis_url"}

# Signals within so many seconds of the first are the same wish: `uv run` passes on what its process group has had
# already. Chosen here: far longer than that takes, and soon enough for a person.
_SAME_WISH_S = 1.0


def serve(flags: Mapping[str, str]) -> int:
    """Serves until SIGTERM, SIGINT or SIGHUP; another one, later, ends it at once. Returns the exit code.

    Raises BadSettings."""
    settings = load(flags)
    log_to_stderr(settings.log_level)
    for idle in without_effect(settings, flags):
        print(f"sidemirror: {idle.variable} does nothing {idle.why}", file=sys.stderr)
    _allow_descriptors()
    # Called before metrics are served, because it also checks the address of the metrics.
    check_listeners(settings)
    try:
        with _traced(settings), _measured(settings):
            is_kept = run(_serve(settings))
    except (StoreInUse, StoreFull) as error:
        print(f"sidemirror: {_setting_of(error)}: {error}", file=sys.stderr)
        return exit_codes.FAILED
    except StoreRefused as refusal:
        is_folder = refusal.facts.get("store") not in _NAMED_BY
        told = refusal if is_folder else f"the store cannot be used: {refusal.facts['reason']}"
        raise BadSettings(f"{_setting_of(refusal)}: {told}") from refusal
    except (CannotListen, SidemirrorError) as error:
        print(f"sidemirror: {error}", file=sys.stderr)
        return exit_codes.FAILED
    except ExceptionGroup as failures:
        # A defect of what runs in the background. A line of the log has no contents, as a traceback on stderr may.
        for failure in errors_in(failures):
            _log.error("sidecar_fails", exc_info=failure)
        return exit_codes.FAILED
    return 0 if is_kept else exit_codes.UNAVAILABLE


def _setting_of(error: SidemirrorError) -> str:
    """The setting that names the store of an error, with its variable."""
    name = _NAMED_BY.get(str(error.facts.get("store")), "data_dir")
    return f"{name} ({PREFIX}{name.upper()})"


def errors_in(group: ExceptionGroup[Exception]) -> Iterator[Exception]:
    """The errors of a group, and of the groups in it."""
    for one in group.exceptions:
        if isinstance(one, ExceptionGroup):
            yield from errors_in(one)
        else:
            yield one


def _allow_descriptors() -> None:
    """Raises the limit of open files to the most that this process is allowed: each connection needs one, and systems
    often begin with 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _traced(settings: Settings) -> AbstractContextManager[None]:
    if not settings.tracing:
        return nullcontext()
    from sidemirror_server.operations.telemetry import traces_exported

    return traces_exported(importlib.metadata.version("sidemirror-server"))


def _measured(settings: Settings) -> AbstractContextManager[None]:
    if not is_measured(settings):
        return nullcontext()
    from sidemirror_server.operations.telemetry import metrics_exported

    return metrics_exported(
        importlib.metadata.version("sidemirror-server"), otlp=settings.metrics, address=settings.metrics_address
    )


async def _serve(settings: Settings) -> bool:
    """Whether everything that it accepted is durable."""
    stop, at_once = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _told_to_stop, stop, at_once)
    # It comes when the terminal is closed, which nohup lets a sidecar outlive. Files that change are read without it.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        loop.add_signal_handler(signal.SIGHUP, _told_to_stop, stop, at_once)
    async with assemble(settings) as sidecar:
        await sidecar.start()
        garbage.wait()
        if sidecar.door is not None and sidecar.door.url:
            told = f"{sidecar.door.url}; every call needs a token, from {sidecar.door.tokens}"
            print(f"sidemirror serves HTTP at {told}", file=sys.stderr)
        print(f"sidemirror is serving on {sidecar.address}", file=sys.stderr, flush=True)
        collecting = asyncio.create_task(garbage.collect_old())
        try:
            return await sidecar.serve_until(stop.wait(), ready=garbage.collect_from_here)
        finally:
            collecting.cancel()


def _told_to_stop(stop: asyncio.Event, at_once: asyncio.Event) -> None:
    """`at_once`: set when a further signal ends the process. Events acknowledged as durable are safe."""
    if at_once.is_set():
        signal.raise_signal(signal.SIGKILL)
    if not stop.is_set():
        stop.set()
        asyncio.get_running_loop().call_later(_SAME_WISH_S, at_once.set)
