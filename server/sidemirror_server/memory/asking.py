"""Asking a model from this room."""

from typing import Protocol

from sidemirror_server.models.language_model import AnswerT, Ask, Completion
from sidemirror_server.vocabulary.scope import Scope


class Asking(Protocol):
    """What answers, with the scope that pays for it: the gateway."""

    async def ask(self, scope: Scope, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        """The answer within `deadline_s` seconds. Raises ModelFailed."""
        ...
