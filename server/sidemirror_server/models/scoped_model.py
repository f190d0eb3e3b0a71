"""What the rooms ask: a language model on behalf of a scope, which pays. The gateway is the one that serves."""

from typing import Protocol

from sidemirror_server.models.language_model import AnswerT, Ask, Completion
from sidemirror_server.models.profiles import NO_CAPS, Within
from sidemirror_server.vocabulary.scope import Scope


class ScopedModel(Protocol):
    """Answers for a scope."""

    async def ask(
        self, scope: Scope, ask: Ask[AnswerT], deadline_s: float, within: Within = NO_CAPS
    ) -> Completion[AnswerT]:
        """The answer within `deadline_s` seconds and what may be spent. Raises ModelFailed."""
        ...
