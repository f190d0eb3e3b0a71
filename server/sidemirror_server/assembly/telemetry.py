"""Puts the reception of spans together, where the settings ask for it. Called by `assembly/sidecar.py`."""

from sidemirror_server.assembly.stores import Stores
from sidemirror_server.settings import PREFIX, BadSettings, Settings
from sidemirror_server.telemetry_in.inbox import KIND, SpanInbox
from sidemirror_server.telemetry_in.recording import TraceRecorder
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.scope import Serves, serves_listed
from sidemirror_server.work.bounded_queue import Bounded
from sidemirror_server.work.worker import Handler


class TelemetryIn:
    """What takes spans, and what makes turns of them."""

    def __init__(
        self, settings: Settings, stores: Stores, jobs: Bounded, conductor: Conductor, recorder: Recorder, clock: Clock
    ) -> None:
        """Raises BadSettings; ImportError without OTLP's messages."""
        from sidemirror_server.rpc.otlp.decoder import SpanDecoder
        from sidemirror_server.rpc.otlp.receiver import OtlpReceiver

        settle_us = int(settings.telemetry.settle_s * 1e6)
        inbox = SpanInbox(stores.journal, jobs, settle_us)
        self.receiver = OtlpReceiver(SpanDecoder(settings.limits.telemetry_exports), inbox, content_of(settings))
        self._recorder = TraceRecorder(
            *(stores.journal, inbox, conductor, recorder, clock, settle_us),
            abandon_us=int(settings.abandon_after_s * 1e6),
            events_per_turn=settings.limits.events_per_turn,
        )

    @property
    def handlers(self) -> dict[str, Handler]:
        """The handlers of background jobs, by kind."""
        return {KIND: self._recorder.handle}


def telemetry_of(
    settings: Settings, stores: Stores, jobs: Bounded, conductor: Conductor, recorder: Recorder, clock: Clock
) -> "TelemetryIn | None":
    """What takes spans; None unless the settings ask for it. Raises BadSettings."""
    if not settings.telemetry.receive:
        return None
    try:
        return TelemetryIn(settings, stores, jobs, conductor, recorder, clock)
    except ImportError as error:
        raise BadSettings(
            f"telemetry__receive ({PREFIX}TELEMETRY__RECEIVE): install sidemirror-server[telemetry]"
        ) from error


def content_of(settings: Settings) -> Serves:
    """The scopes whose spans keep their texts. Raises BadSettings."""
    if not settings.telemetry.content.strip():
        return Serves(())
    try:
        return serves_listed(settings.telemetry.content)
    except ValueError as error:
        raise BadSettings(f"telemetry__content ({PREFIX}TELEMETRY__CONTENT): {error}") from error
