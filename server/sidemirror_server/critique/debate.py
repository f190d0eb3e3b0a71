"""Several critics with different briefs, then a judge. Only a caller starts a debate, never the sidecar.

The first round is blind. If the critics disagree, they see each other's arguments in a second round. A critic's side is
computed from the issues that survive the verdict's rules, not from its claims.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

import msgspec

from sidemirror_server.critique.critique import MAX_TOKENS, TEMPERATURE, judged
from sidemirror_server.critique.material import CritiqueMaterial, evidence_of
from sidemirror_server.critique.prompts import BRIEFS, JUDGE_SYSTEM, brief_system, debate_prompt
from sidemirror_server.critique.record import Issue, Verdict
from sidemirror_server.critique.verdict import asks_for_revision, surviving
from sidemirror_server.models.answers import CritiqueAnswer, DebateAnswer
from sidemirror_server.models.language_model import Ask, Purpose
from sidemirror_server.models.scoped_model import ScopedModel
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus, Usage

# Decision 020.
FEWEST_CRITICS, DEFAULT_CRITICS = 2, 3
MOST_ROUNDS = 2
# Chosen here: enough for an argument of a few sentences and its issues.
_ARGUMENT_TOKENS = 1_024


class Argument(msgspec.Struct, frozen=True):
    """One critic's argument in one round. `revise`: whether one of its surviving issues calls for a revision."""

    round: int
    critic: int
    brief: str
    status: ResultStatus
    detail: str = ""
    text: str = ""
    issues: tuple[Issue, ...] = ()
    revise: bool = False
    usage: Usage | None = None


class Judged(msgspec.Struct, frozen=True):
    """The end of a debate. `agreed`: whether all critics that answered in the last round took the same side."""

    verdict: Verdict
    rounds: int
    agreed: bool


def agreement(arguments: Sequence[Argument]) -> bool:
    """Whether at least two critics answered in this round, and all of them took the same side."""
    sides = [argument.revise for argument in arguments if argument.status is ResultStatus.OK]
    return len(sides) >= FEWEST_CRITICS and len(set(sides)) == 1


async def debate(
    model: ScopedModel,
    scope: Scope,
    material: CritiqueMaterial,
    critics: int,
    rounds: int,
    remaining_s: Callable[[], float],
) -> AsyncGenerator[Argument | Judged, None]:
    """Yields each argument when it is made, then the judge's verdict. Raises nothing but cancellation, which ends all
    calls in flight."""
    briefs = [brief for brief, _ in BRIEFS[:critics]]
    last: list[Argument] = []
    held = 0
    for number in range(1, rounds + 1):
        before, last = last, []
        async with aclosing(_round(model, scope, material, briefs, number, before, remaining_s())) as arguments:
            async for argument in arguments:
                yield argument
                last.append(argument)
        held = number
        heard = [argument for argument in last if argument.status is ResultStatus.OK]
        if len(heard) < FEWEST_CRITICS or agreement(last):
            break
    yield Judged(await _verdict(model, scope, material, last, remaining_s()), held, agreement(last))


async def _round(
    model: ScopedModel,
    scope: Scope,
    material: CritiqueMaterial,
    briefs: Sequence[str],
    number: int,
    before: Sequence[Argument],
    deadline_s: float,
) -> AsyncGenerator[Argument, None]:
    """Asks all critics at once; yields each argument when it is made."""
    tasks = set()
    for critic, brief in enumerate(briefs, start=1):
        others = tuple(
            one.text for one in sorted(before, key=lambda one: one.critic) if one.critic != critic and one.text
        )
        speaking = _argument(model, scope, material, (number, critic, brief), others, deadline_s)
        tasks.add(asyncio.create_task(speaking))
    try:
        waiting = set(tasks)
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for argument in sorted((task.result() for task in done), key=lambda one: one.critic):
                yield argument
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _argument(
    model: ScopedModel,
    scope: Scope,
    material: CritiqueMaterial,
    place: tuple[int, int, str],
    others: tuple[str, ...],
    deadline_s: float,
) -> Argument:
    number, critic, brief = place
    ask = Ask(
        purpose=Purpose.DEBATE,
        system=brief_system(brief),
        prompt=debate_prompt(material, others),
        answer_type=DebateAnswer,
        evidence=evidence_of(material),
        max_tokens=_ARGUMENT_TOKENS,
    )
    try:
        completion = await model.ask(scope, ask, deadline_s)
    except ModelFailed as failure:
        return Argument(number, critic, brief, failure.status, failure.detail, usage=failure.usage)
    issues, _ = surviving(completion.answer.issues, material)
    return Argument(
        number,
        critic,
        brief,
        ResultStatus.OK,
        text=completion.answer.argument,
        issues=issues,
        revise=asks_for_revision(issues),
        usage=completion.usage,
    )


async def _verdict(
    model: ScopedModel, scope: Scope, material: CritiqueMaterial, last: Sequence[Argument], deadline_s: float
) -> Verdict:
    """The judge's verdict, by the rules of `verdict.py`. It is a failed verdict if fewer than two critics answered."""
    heard = sorted((one for one in last if one.status is ResultStatus.OK), key=lambda one: one.critic)
    if len(heard) < FEWEST_CRITICS:
        failed = next(one for one in last if one.status is not ResultStatus.OK)
        return Verdict(failed.status, f"fewer than {FEWEST_CRITICS} critics answered: {failed.detail}")
    ask = Ask(
        purpose=Purpose.DEBATE,
        system=JUDGE_SYSTEM,
        prompt=debate_prompt(material, [one.text for one in heard]),
        answer_type=CritiqueAnswer,
        evidence=evidence_of(material),
        max_tokens=MAX_TOKENS,
        temperature=TEMPERATURE,
    )
    return await judged(model, scope, ask, material, deadline_s)
