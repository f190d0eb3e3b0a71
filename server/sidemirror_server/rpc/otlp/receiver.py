"""What answers OTLP's exports, from gRPC and from HTTP: spans are kept, metrics and logs are answered and not read."""

import json
import logging

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.otlp.decoder import SpanDecoder
from sidemirror_server.rpc.otlp.decoding import NO_REQUEST
from sidemirror_server.telemetry_in.inbox import MOST_BYTES, MOST_SPANS, SpanInbox
from sidemirror_server.vocabulary.errors import BadInput, MalformedMessage
from sidemirror_server.vocabulary.scope import Serves, whose
from sidemirror_server.vocabulary.telemetry import SPANS

_log = logging.getLogger(__name__)

_TOO_MANY = f"a trace may have {MOST_SPANS} spans and {MOST_BYTES >> 20} MiB in a minute"
_TOO_SLOW = (
    "the texts of {} spans are left out: they cannot be read, or those before them took too long to search for secrets"
)
_REQUEST = "opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest"


class OtlpReceiver:
    """Takes exports. One of spans is answered once its spans are durable."""

    def __init__(self, decoder: SpanDecoder, inbox: SpanInbox, content: Serves) -> None:
        """`content`: the scopes that have opted in to the texts in spans."""
        self._decoder = decoder
        self._inbox = inbox
        self._content = content

    async def spans(self, body: bytes, call: Call, *, has_names: bool = True) -> bytes:
        """An export of spans in protobuf. `has_names`: tokens tell senders apart. Raises MalformedMessage, BadInput for
        more spans than an export may have, LimitReached, and what the store raises."""
        rejected, reason = await self._keep(body, call, is_json=False, has_names=has_names)
        response = ExportTraceServiceResponse()
        if reason:
            response.partial_success.rejected_spans = rejected
            response.partial_success.error_message = reason
        return response.SerializeToString()

    async def json_spans(self, body: bytes, call: Call, *, has_names: bool = True) -> bytes:
        """An export of spans in JSON; as `spans`, but raises BadInput for what is no export, and says where."""
        rejected, reason = await self._keep(body, call, is_json=True, has_names=has_names)
        partial = {"partialSuccess": {"rejectedSpans": str(rejected), "errorMessage": reason}}
        return json.dumps(partial if reason else {}).encode()

    async def nothing(self, body: bytes, call: Call) -> bytes:
        """An export of metrics or logs: an exporter that sends everything to one address must not fail."""
        del body, call
        return b""

    async def no_json(self, body: bytes, call: Call) -> bytes:
        """As `nothing`, in JSON."""
        del body, call
        return b"{}"

    async def close(self) -> None:
        """Ends the decoder's process."""
        await self._decoder.close()

    async def _keep(self, body: bytes, call: Call, *, is_json: bool, has_names: bool) -> tuple[int, str]:
        with_content = self._content.covers(call.scope)
        found = await self._decoder.decode(body, is_json=is_json, with_content=with_content)
        if found.wrong:
            is_said = is_json or found.wrong != NO_REQUEST
            raise BadInput([("body", found.wrong)]) if is_said else MalformedMessage(expected=_REQUEST)
        caller = call.caller.name if call.caller is not None and has_names else ""
        count = sum(map(len, found.traces.values()))
        kept = await self._inbox.keep(call.scope, caller, found.traces, call.clock.now_us())
        other = count - kept.kept - kept.dropped
        became = {"kept": kept.kept, "other": other, "rejected": found.rejected, "dropped": kept.dropped}
        for name, number in became.items():
            if number:
                SPANS.add(number, {"became": name})
        reason = found.reason or (_TOO_MANY if kept.dropped else "")
        if found.without_texts:
            _log.warning("texts_left_out", extra={**whose(call.scope), "spans": found.without_texts})
            reason = reason or _TOO_SLOW.format(found.without_texts)
        return found.rejected + kept.dropped, reason
