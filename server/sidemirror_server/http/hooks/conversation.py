"""What becomes of a host's events: a turn for each prompt, an event for each call, and what the agent is told.

One `Conversation` is the main agent of a host's session, or one of its subagents. It keeps in memory only what makes
its answers better: after a restart the turn is found by its session.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import Iterable

from sidemirror.v1 import common_pb2, thinking_pb2
from sidemirror_server.http.context import Ended
from sidemirror_server.http.hooks.calls import GONE, REFUSED, TAKEN, Calls
from sidemirror_server.http.hooks.hosts.failure import said_by_tool
from sidemirror_server.http.hooks.hosts.happening import AnswerGiven, CallEnded, Happening, Prompted, SaidByAgent
from sidemirror_server.http.hooks.sentences import (
    CHECK,
    NOT_CHANGED,
    NOT_RECORDED,
    NOTHING_TO_SILENCE,
    OFF,
    ON,
    SILENCED,
    SWITCHED_OFF,
    SWITCHED_ON,
    checked,
    is_ours,
    revision_prompt,
    switch_of,
)
from sidemirror_server.http.hooks.transcript import failed_in
from sidemirror_server.trace.failed import reports_failure
from sidemirror_server.vocabulary.text import enter

# Seconds that are left of an answer's time for sending it.
_ANSWER_S = 0.05
# The contract's limit of a tool's and an agent's name.
_NAME_CHARS = 256


class Conversation:
    """The turns of one agent. Its events are taken one after the other."""

    def __init__(
        self, host: str, session: str, agent: str, were_late: deque[bool], *, hears_in_turns: bool = True
    ) -> None:
        """`were_late`: of the last hooks of this host and caller, in all its conversations. `hears_in_turns`: as of
        `Host`. A turn in which nothing is heard is told nothing, and counts nothing as told."""
        self._host = host
        self.were_late = were_late
        self._hears_in_turns = hears_in_turns
        self._agent = agent
        self.session_id = _id_of(host, session, agent)
        # The project is that of the folder in which the turn began: an agent may change its folder.
        self.project_id: str | None = None
        self.lock = asyncio.Lock()
        # The open turn, if it is known, and the last entry of it that the agent has seen.
        self._turn_id = ""
        self._seen = 0
        # Of the turn that began last: the id that stands for the host's, and which turn with that it is, from 1.
        self._named = ""
        self._number = 0
        # Of the last event that was served. A host that is attached twice tells each twice; calls have ids for that.
        self.last_heard = 0
        self._was_sent_back = False
        self._said = ""
        # What the host took no words for yet, in this turn.
        self.untold = ""

    async def asked(self, calls: Calls, happening: Happening, asked: Prompted, *, critiques: bool) -> str:
        """Begins a turn, and ends the one before if nobody has; a prompt that names the open turn is a message in it.
        Returns what to tell; empty if nothing."""
        if is_ours(asked.prompt):
            # The host gives our own prompt to the agent as the user's: the turn goes on.
            self._was_sent_back = True
            return ""
        if switch := switch_of(asked.prompt):
            return await self._switch(calls, switch)
        if self._is_repeated(happening):
            return ""
        if happening.turn and not self._turn_id:
            await self._take_up(calls)
        if self.goes_on(happening):
            message = thinking_pb2.TurnEvent(user_message=thinking_pb2.UserMessage(text=asked.prompt))
            response = await self._report(calls, happening, [message], critiques=critiques, begins=False)
            if response.turn_id:
                return _told(response.directives)
        await self.left(calls)
        return await self._begin(calls, happening, asked.prompt, critiques=critiques)

    async def ran(self, calls: Calls, happening: Happening, ran: CallEnded, *, critiques: bool, wait_s: float) -> str:
        """Records a tool call. Returns what to tell, for which it waits `wait_s` at most; empty if nothing."""
        ends_s = asyncio.get_running_loop().time() + wait_s
        failed = ran.failed
        if failed is None and ran.transcript:
            failed = await asyncio.to_thread(failed_in, ran.transcript, ran.call_id)
        has_worked = failed is False
        if failed is None:
            failed = reports_failure(ran.result)
        result = said_by_tool(self._host, ran.result) if failed else ran.result
        call_id = _id_of("call", ran.call_id) if ran.call_id else ""
        agent = _name(self._agent)
        events = [
            thinking_pb2.TurnEvent(
                event_id=f"{call_id}.c" if call_id else "",
                agent=agent,
                tool_called=thinking_pb2.ToolCalled(call_id=call_id, name=_name(ran.name), arguments=ran.arguments),
            ),
            thinking_pb2.TurnEvent(
                event_id=f"{call_id}.r" if call_id else "",
                agent=agent,
                tool_returned=thinking_pb2.ToolReturned(
                    call_id=call_id, content=result, is_error=failed, has_worked=has_worked
                ),
            ),
        ]
        response = await self._report(calls, happening, events, critiques=critiques)
        directives = [*response.directives]
        # ReportEvents waits a short while for advice that is being looked up.
        while response.ack.pending_ids and asyncio.get_running_loop().time() < ends_s:
            response = await self._report(calls, happening, [], critiques=critiques)
            directives += response.directives
        return _told(directives)

    def said(self, said: SaidByAgent) -> None:
        """Keeps what may be the answer."""
        self._said = said.text

    async def answered(self, calls: Calls, happening: Happening, answered: AnswerGiven, *, wait_s: float) -> str:
        """Ends the turn, or returns the prompt with which the agent is sent back: once in a turn, and only when
        `wait_s`, in which a critique must be there, is above 0."""
        if self._is_repeated(happening):
            return ""
        text = answered.text or self._said
        issues = 0
        if text and wait_s > _ANSWER_S and not (answered.again or self._was_sent_back):
            issues = await self._criticise(calls, happening, text, wait_s - _ANSWER_S)
        elif text:
            drafted = thinking_pb2.TurnEvent(response_drafted=thinking_pb2.ResponseDrafted(text=text))
            # Whoever was sent back by another hook, after its turn has ended, may answer without a call.
            begins = answered.again and await self._went_on(calls, happening)
            await self._report(calls, happening, [drafted], critiques=False, begins=begins)
        if issues:
            self._was_sent_back = True
            return revision_prompt(issues)
        await self.left(calls)
        return ""

    async def left(self, calls: Calls) -> None:
        """Ends the turn, if one is open."""
        await calls.finish_turn(thinking_pb2.FinishTurnRequest(turn_id=self._turn_id, session_id=self.session_id))
        self._turn_id, self._said, self._was_sent_back, self.untold = "", "", False, ""

    def goes_on(self, happening: Happening) -> bool:
        """Whether the open turn is known, and the one that the host names."""
        return _is_of(self._turn_id, self._name_of(happening))

    def _name_of(self, happening: Happening) -> str:
        """The id that stands for the host's turn; empty if it has none."""
        return _id_of(self._host, happening.turn, self._agent) if happening.turn else ""

    def _is_repeated(self, happening: Happening) -> bool:
        return hash(happening) == self.last_heard

    async def _take_up(self, calls: Calls) -> None:
        """Finds the turn that is open, as after a restart. What is in its record was told."""
        newest = await calls.newest_turn(self.session_id)
        if newest is not None and newest.state == thinking_pb2.TURN_STATE_OPEN:
            self._turn_id, self._seen = newest.turn_id, newest.last_sequence

    async def _went_on(self, calls: Calls, happening: Happening) -> bool:
        """Whether the session's newest turn is the one that the host names."""
        newest = await calls.newest_turn(self.session_id)
        return newest is not None and _is_of(newest.turn_id, self._name_of(happening))

    async def _begin(self, calls: Calls, happening: Happening, prompt: str, *, critiques: bool) -> str:
        mode = common_pb2.CRITIQUE_MODE_ALWAYS if critiques else common_pb2.CRITIQUE_MODE_OFF
        request = thinking_pb2.StartTurnRequest(
            session_id=self.session_id,
            task=prompt,
            user_message=prompt,
            reflection_mode=thinking_pb2.REFLECTION_MODE_ON_REQUEST,
            critique_mode=mode,
            context=thinking_pb2.ContextWish(),
            has_shell=True,
            # A draft is judged in a turn with advice only.
            without_advice=not self._hears_in_turns and not critiques,
        )
        plan = await self._started(calls, request, self._name_of(happening))
        # The first two entries are the start and the plan.
        self._turn_id, self._seen, self._said, self._was_sent_back = plan.turn_id, 2, "", False
        return plan.context.text

    async def _started(self, calls: Calls, request: thinking_pb2.StartTurnRequest, named: str) -> thinking_pb2.TurnPlan:
        """Starts a turn by its name. A host may go on with a turn that has ended: what follows is one of its own."""
        number = self._number + 1 if named == self._named else 1
        while True:
            request.turn_id = f"{named}:{number}" if named and number > 1 else named
            try:
                plan = (await calls.start_turn(request)).plan
            except Ended as ended:
                if not named or ended.status.code != TAKEN:
                    raise
                number += 1
            else:
                self._named, self._number = named, number
                return plan

    async def _report(
        self,
        calls: Calls,
        happening: Happening,
        events: list[thinking_pb2.TurnEvent],
        *,
        critiques: bool,
        wait_s: float = 0,
        begins: bool = True,
    ) -> thinking_pb2.ReportEventsResponse:
        """Reports events. If no turn is open, as when a host was attached in the midst of one, it `begins` one first,
        or reports nothing: an answer alone is that to a switch."""
        if not self._turn_id:
            await self._take_up(calls)
        if self._turn_id:
            try:
                return await self._reported(calls, events, wait_s)
            except Ended as ended:
                if ended.status.code not in GONE:
                    raise
        if not begins:
            return thinking_pb2.ReportEventsResponse()
        await self._begin(calls, happening, "", critiques=critiques)
        return await self._reported(calls, events, wait_s)

    async def _reported(
        self, calls: Calls, events: list[thinking_pb2.TurnEvent], wait_s: float
    ) -> thinking_pb2.ReportEventsResponse:
        """Reports events of the open turn."""
        request = thinking_pb2.ReportEventsRequest(session_id=self.session_id, turn_id=self._turn_id, events=events)
        request.wait.FromMilliseconds(int(wait_s * 1000))
        request.after_sequence = self._seen
        response = await calls.report_events(request)
        self._seen = max([self._seen, *(directive.sequence for directive in response.directives)])
        return response

    async def _criticise(self, calls: Calls, happening: Happening, text: str, wait_s: float) -> int:
        """In how many places a critique finds that the answer is wrong; 0 if it asks for no revision."""
        drafted = thinking_pb2.TurnEvent(response_drafted=thinking_pb2.ResponseDrafted(text=text))
        response = await self._report(calls, happening, [drafted], critiques=True, wait_s=wait_s, begins=False)
        verdicts = [directive.critique for directive in response.directives if directive.HasField("critique")]
        return len(verdicts[-1].issue_details) if verdicts and verdicts[-1].should_revise else 0

    async def _switch(self, calls: Calls, switch: str) -> str:
        """Does what the user's prompt asks for, and says so."""
        try:
            if switch == CHECK:
                # There is no such turn, so that nothing ends; it is refused as every report of this project would be.
                await calls.finish_turn(thinking_pb2.FinishTurnRequest(turn_id="check", session_id=self.session_id))
                is_kept = await calls.stores_answer()
                return checked(sum(self.were_late), len(self.were_late), is_kept=is_kept)
            if switch == OFF:
                await calls.change_advice(off=True)
                return SWITCHED_OFF
            if switch == ON:
                await calls.change_advice(off=False)
                return SWITCHED_ON
            # From the record, which a crash leaves as it was.
            told = await calls.told_last(self.session_id)
            if not told:
                return NOTHING_TO_SILENCE
            await calls.change_advice(silenced=told)
        except Ended as ended:
            if ended.status.code not in REFUSED:
                raise
            return NOT_RECORDED if switch == CHECK else NOT_CHANGED
        return SILENCED


def _told(directives: Iterable[thinking_pb2.TurnDirective]) -> str:
    """What directives say to a host with a shell: nudges and advice, whose sentences are fixed."""
    parts = (directive.nudge.message or directive.advice.block.text for directive in directives)
    return "\n".join(part for part in parts if part)


def _name(text: str) -> str:
    """A name without secrets, as long as the contract takes it: half a secret would not be recognised."""
    return enter(text)[:_NAME_CHARS]


def _is_of(turn_id: str, named: str) -> bool:
    """Whether a turn is the one of this name, or one that goes on with it."""
    return bool(named) and (turn_id == named or turn_id.startswith(f"{named}:"))


def _id_of(*parts: str) -> str:
    """An id of the contract that stands for the host's: readable if it fits, else a digest."""
    plain = ":".join(part for part in parts if part)
    if len(plain) <= 100 and plain.isascii() and plain.isprintable():
        return plain
    return f"{parts[0]}:{hashlib.sha256(plain.encode('utf-8', 'surrogatepass')).hexdigest()}"
