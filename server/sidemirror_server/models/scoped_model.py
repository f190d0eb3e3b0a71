"""The interface that rooms use: a language model whose calls are charged to a scope. `Gateway` implements it."""

from typing import Protocol

from sidemirror_server.models.language_model import AnswerT, Ask, Completion
from sidemirror_server.models.profiles import NO_CAPS, Within
from sidemirror_server.vocabulary.scope import Scope


class ScopedModel(Protocol):
    """Answers questions, charged to a scope."""

    async def ask(
        self, scope: Scope, ask: Ask[AnswerT], deadline_s: float, within: Within = NO_CAPS
    ) -> Completion[AnswerT]:
        """The answer, within `deadline_s` seconds and the caps `within`. Raises ModelFailed."""
        ...
