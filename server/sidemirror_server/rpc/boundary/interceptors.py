"""The boundary of every call: admit, identify, parse, check, serve once, translate errors, trace.

It wraps each method's handler once, at registration. A chain of grpc.aio interceptors is looked up again for each call,
which costs about 7 % of a small one (decision 007).
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Any, TypeAlias

import grpc
import msgspec
from google.protobuf.message import DecodeError, Message

from sidemirror_server.rpc.boundary.access import Token
from sidemirror_server.rpc.boundary.admission import Admission
from sidemirror_server.rpc.boundary.answer_sources import sources_of
from sidemirror_server.rpc.boundary.call import Call, Context
from sidemirror_server.rpc.boundary.event_counts import event_counter_of
from sidemirror_server.rpc.boundary.identity import Identity
from sidemirror_server.rpc.boundary.limits import checker_of
from sidemirror_server.rpc.boundary.metering import Metering
from sidemirror_server.rpc.boundary.named_scope import NamedScope, named_scope
from sidemirror_server.rpc.boundary.reading import is_timed_of, is_write_of, reader_of, requests_of
from sidemirror_server.rpc.boundary.refusals import Refusals
from sidemirror_server.rpc.boundary.requests import Once, Served, digest_of
from sidemirror_server.rpc.boundary.services import Begin, BidiStream, Binds, ClientStream, ServerStream, Unary
from sidemirror_server.rpc.boundary.shares import Share, Shares
from sidemirror_server.rpc.boundary.status import INTERNAL, call_status_of, reason_of, row_of
from sidemirror_server.rpc.boundary.streams import Lasting, Streams
from sidemirror_server.rpc.boundary.tracing import Tracing
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import BadInput, Draining, LimitReached, MalformedMessage
from sidemirror_server.vocabulary.scope import Scope, whose
from sidemirror_server.vocabulary.telemetry import REFUSED
from sidemirror_server.vocabulary.traffic import Sender, Traffic

_log = logging.getLogger(__name__)

# Limits that end streams instead of refusing calls.
_OF_STREAMS = ("stream_age_s", "idle_stream_s")
# Requests and responses pass gRPC as bytes; the boundary parses and serialises them.
Handler: TypeAlias = "grpc.RpcMethodHandler[bytes, bytes]"


class Boundary:
    """Turns the functions that serve RPCs into gRPC's method handlers."""

    def __init__(
        self,
        identity: Identity,
        refusals: Refusals,
        admission: Admission,
        once: Once,
        streams: Streams,
        clock: Clock,
        tracing: Tracing,
        text_bytes: int,
        shares: Shares,
        traffic: Traffic,
        *,
        metered: bool = False,
    ) -> None:
        """`text_bytes`: the server's limit of long texts. `shares`: what each agent may take. `traffic`: who sends how
        much. `metered`: calls are timed."""
        self._shares = shares
        self._traffic = traffic
        self._identity = identity
        self._refusals = refusals
        self._admission = admission
        self._once = once
        self._open = streams
        self._clock = clock
        self._tracing = tracing
        self._text_bytes = text_bytes
        self._metering = Metering(on=metered)
        self._draining = False

    def refuse(self) -> None:
        """Refuses new calls from now on, because the server shuts down. Calls in progress go on."""
        self._draining = True

    def unary(self, method: str, request_type: type[Message], rpc: Unary) -> Handler:
        """The handler of a method that takes one request and gives one answer."""
        serve, complete, binds, permits, asks = rpc.serve, rpc.complete, rpc.binds, rpc.permits, rpc.asks
        from_bytes, violations_of = request_type.FromString, checker_of(request_type, self._text_bytes)
        is_write, events_in = is_write_of(request_type), event_counter_of(request_type)
        is_timed = is_timed_of(method, request_type)

        async def handle(raw: bytes, context: Context) -> bytes:
            caller: Token | None = None
            scope: Scope | None = None
            share: Share | None = None
            try:
                self._admission.enter_call()
                try:
                    caller = self._identity.caller_of(method, context) if self._identity.asks else None
                    share = await self._enter_call(caller, raw, method, events_in, asks=asks)
                    began_s = self._clock.monotonic_s()
                    # The code of `reader_of`, inlined: in a small unary call each function call counts.
                    try:
                        request: Any = from_bytes(raw)
                    except DecodeError as error:
                        raise MalformedMessage(expected=request_type.DESCRIPTOR.full_name) from error
                    call = self._call(method, request, context, caller, is_write, reads=not is_write)
                    scope = call.scope
                    if violations := violations_of(request):
                        raise BadInput(violations)
                    if permits is not None:
                        permits(request, call)
                    if call.request_id:
                        call = _with_digest(call, request)
                        answer = await self._once.answer(
                            call.scope,
                            method,
                            call.request_id,
                            call.digest,
                            lambda: _answer(request, serve(request, call), binds),
                        )
                    else:
                        answer = (await serve(request, call)).SerializeToString()
                    if is_timed(request):
                        self._traffic.took(self._clock.monotonic_s() - began_s)
                    return answer if complete is None else complete(request, answer)
                finally:
                    self._admission.leave_call()
                    if share is not None:
                        share.leave_call()
            except Exception as error:
                await self._abort(method, context, error, caller, scope)
                raise

        return grpc.unary_unary_rpc_method_handler(self._tracing.unary(method, self._metering.unary(method, handle)))

    def foreign(self, method: str, serve: Callable[[bytes, Call], Awaitable[bytes]]) -> Handler:
        """The handler of a unary method of another contract, whose messages name no scope: headers may, else it is the
        token's or the sidecar's own. It is not traced: a sidecar that sends its spans to itself would tell of each
        export."""

        async def handle(raw: bytes, context: Context) -> bytes:
            caller: Token | None = None
            scope: Scope | None = None
            share: Share | None = None
            try:
                self._admission.enter_call()
                try:
                    caller = self._identity.caller_of(method, context) if self._identity.asks else None
                    share = await self._enter_call(caller, raw, method)
                    call = self._call(method, named_scope(context), context, caller, is_write=False)
                    scope = call.scope
                    return await serve(raw, call)
                finally:
                    self._admission.leave_call()
                    if share is not None:
                        share.leave_call()
            except Exception as error:
                await self._abort(method, context, error, caller, scope)
                raise

        return grpc.unary_unary_rpc_method_handler(self._metering.unary(method, handle))

    def server_stream(self, method: str, request_type: type[Message], rpc: ServerStream) -> Handler:
        """The handler of a method that takes one request and answers with a stream."""
        serve, binds, keeps_times, follows = rpc.serve, rpc.binds, rpc.keeps_times, rpc.follows
        parse, check = reader_of(request_type, self._text_bytes)
        is_write = is_write_of(request_type)

        async def handle(raw: bytes, context: Context) -> AsyncIterator[bytes]:
            caller: Token | None = None
            scope: Scope | None = None
            share: Share | None = None
            try:
                self._admission.enter_stream()
                try:
                    caller = self._identity.caller_of(method, context)
                    share = self._enter_stream(caller)
                    request = parse(raw)
                    call = self._call(method, request, context, caller, is_write, reads=not is_write)
                    scope = call.scope
                    check(request)
                    if keeps_times:
                        call = msgspec.structs.replace(call, in_force=partial(context.send_initial_metadata, ()))
                        async for response in serve(request, call):
                            yield response.SerializeToString()
                        return
                    if call.request_id:
                        call = _with_digest(call, request)
                        answers: AsyncIterator[bytes] = self._once.stream(
                            call.scope,
                            method,
                            call.request_id,
                            call.digest,
                            lambda: _answers(request, serve(request, call), binds),
                        )
                    else:
                        answers = _serialized(serve(request, call))
                    with Lasting(self._open, self._clock, takes_stream=False, follows=follows) as lasting:
                        lasting.begun(call.barred)
                        async for answer in answers:
                            yield answer
                finally:
                    self._admission.leave_stream()
                    if share is not None:
                        share.leave_stream()
            except Exception as error:
                await self._abort(method, context, error, caller, scope)
                raise

        return grpc.unary_stream_rpc_method_handler(self._tracing.stream(method, handle))

    def client_stream(self, method: str, request_type: type[Message], rpc: ClientStream) -> Handler:
        """The handler of a method that takes a stream and gives one answer."""

        async def once(requests: AsyncIterator[Message], begin: Begin) -> AsyncIterator[Message]:
            yield await rpc.serve(requests, begin)

        handle = self._tracing.stream(method, self._streams(method, request_type, BidiStream(once), keeps_times=False))

        async def answer(raws: AsyncIterator[bytes], context: Context) -> bytes:
            async with aclosing(handle(raws, context)) as answers:  # type: ignore[type-var]  # it is a generator
                return await anext(answers)

        return grpc.stream_unary_rpc_method_handler(answer)

    def bidi_stream(self, method: str, request_type: type[Message], rpc: BidiStream) -> Handler:
        """The handler of a method that takes a stream and answers with a stream."""
        handle = self._streams(method, request_type, rpc, keeps_times=True)
        return grpc.stream_stream_rpc_method_handler(self._tracing.stream(method, handle))

    def _streams(
        self, method: str, request_type: type[Message], rpc: BidiStream, *, keeps_times: bool
    ) -> Callable[[AsyncIterator[bytes], Context], AsyncIterator[bytes]]:
        parse, check = reader_of(request_type, self._text_bytes)
        is_write, events_in = is_write_of(request_type), event_counter_of(request_type)

        async def handle(raws: AsyncIterator[bytes], context: Context) -> AsyncIterator[bytes]:
            caller: Token | None = None
            scope: Scope | None = None
            share: Share | None = None
            try:
                self._admission.enter_stream()
                try:
                    caller = self._identity.caller_of(method, context)
                    share = self._enter_stream(caller)
                    with Lasting(self._open, self._clock, takes_stream=True) as lasting:
                        sender: Sender | None = None

                        def heard() -> None:
                            lasting.heard()
                            if sender is not None:
                                self._traffic.message(sender)

                        def begin(first: Message) -> Call:
                            nonlocal sender, scope
                            call = self._call(method, first, context, caller, is_write)
                            scope = call.scope
                            sender = _sender(call)
                            check(first)
                            if keeps_times:
                                lasting.hand_over()
                            else:
                                lasting.begun(call.barred)
                            return call

                        requests = requests_of(raws, parse, check, heard, share, method, events_in)
                        async for response in rpc.serve(requests, begin):
                            yield response.SerializeToString()
                finally:
                    self._admission.leave_stream()
                    if share is not None:
                        share.leave_stream()
            except Exception as error:
                await self._abort(method, context, error, caller, scope)
                raise

        return handle

    async def _enter_call(
        self,
        caller: Token | None,
        raw: bytes,
        method: str,
        events_in: Callable[[bytes], int] | None = None,
        *,
        asks: bool = False,
    ) -> Share | None:
        """Counts a unary call with this request into its agent's share; None where nothing is shared out. Raises
        LimitReached."""
        share = self._shares.of(caller)
        if share is not None:
            share.enter_call()
            try:
                share.check_turn()
                events = 0 if events_in is None else events_in(raw)
                await share.pace(len(raw), method, events=events, asks=asks)
            except BaseException:
                share.leave_call()
                raise
        return share

    def _enter_stream(self, caller: Token | None) -> Share | None:
        """Counts a stream into its agent's share, as `_enter_call` does."""
        share = self._shares.of(caller)
        if share is not None:
            share.enter_stream()
        return share

    def _call(
        self,
        method: str,
        request: "Message | NamedScope",
        context: Context,
        caller: Token | None,
        is_write: bool,
        *,
        reads: bool = False,
    ) -> Call:
        """The call that `request` begins; `is_write`: the request may have a request_id; `reads`: the call changes
        nothing. The scope is checked before the fields, so that an unauthorised caller learns nothing else."""
        if self._draining:
            raise Draining
        asked: Any = request
        scope = self._identity.scope_of(caller, asked.tenant_id, asked.project_id, method, context)
        self._admission.count_request(scope.tenant_id)
        # None without a deadline, although the stubs say otherwise.
        remaining_s: float | None = context.time_remaining()
        call = Call(
            scope=scope,
            method=method,
            request_id=asked.request_id if is_write else "",
            clock=self._clock,
            ends_at_s=None if remaining_s is None else self._clock.monotonic_s() + remaining_s,
            barred=None if caller is None else partial(self._identity.bars, caller, scope, method, context),
            caller=caller,
        )
        self._traffic.message(_sender(call), reads=reads)
        return call

    async def _abort(
        self, method: str, context: Context, error: Exception, caller: Token | None, scope: Scope | None
    ) -> None:
        """Ends the call with the status from the error's row. Always raises, unless the call has already ended.
        `caller`, `scope`: None where it is not known."""
        row = row_of(error)
        REFUSED.add(1, {"code": row.code.name, "reason": reason_of(row)})
        if row is INTERNAL:
            self._refusals.tell_failure(method, error, scope, token=_name_of(caller))
        elif isinstance(error, LimitReached) and error.passes and error.limit not in _OF_STREAMS:
            # The server is overloaded, which operators must see. A limit of one request or turn concerns its agent
            # only.
            token = _name_of(caller)
            if token:
                self._traffic.refused(token)
            of = {} if scope is None else whose(scope)
            self._refusals.tell(context.peer(), token=token, method=method, reason=str(error), **of, **error.facts)
        else:
            _log.debug("call_refused", extra={"method": method, "code": row.code.name, "error": type(error).__name__})
        await context.abort_with_status(call_status_of(error))


def _name_of(caller: Token | None) -> str:
    """The name of the caller's token; empty where no token names the caller."""
    return "" if caller is None or caller.is_shared else caller.name


def _sender(call: Call) -> Sender:
    return Sender(_name_of(call.caller), call.scope)


async def _answer(request: Message, response: Awaitable[Message], binds: Binds | None) -> Served:
    made = await response
    return made.SerializeToString(), binds is None or binds(made), sources_of(request, made)


async def _serialized(responses: AsyncIterator[Message]) -> AsyncGenerator[bytes, None]:
    async for made in responses:
        yield made.SerializeToString()


async def _answers(
    request: Message, responses: AsyncIterator[Message], binds: Binds | None
) -> AsyncGenerator[Served, None]:
    async for made in responses:
        yield made.SerializeToString(), binds is None or binds(made), sources_of(request, made)


def _with_digest(call: Call, request: Message) -> Call:
    return msgspec.structs.replace(call, digest=digest_of(request.SerializeToString(deterministic=True)))
