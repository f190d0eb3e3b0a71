"""Checks for `doctor`, without a server, that the chosen models, prompts, scorer and store can be used."""

from sidemirror_server.assembly.custom_stores import opener_of
from sidemirror_server.assembly.memory import scorer_of
from sidemirror_server.assembly.models import check_embedding, routes_of, templates_of
from sidemirror_server.settings import BadSettings, Settings
from sidemirror_server.vocabulary.clock import Clock


def refused_choices(settings: Settings, clock: Clock) -> tuple[str, ...]:
    """The reasons why a server would not start with these models, prompts, scorer and store; empty if it would."""
    refused = []
    for choose in (
        lambda: routes_of(settings, clock),
        lambda: check_embedding(settings),
        lambda: templates_of(settings),
        lambda: scorer_of(settings.memory.scorer),
        lambda: opener_of(settings.store) if settings.store else None,
    ):
        try:
            choose()
        except BadSettings as error:
            refused.append(str(error))
    return tuple(refused)
