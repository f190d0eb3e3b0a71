"""Whether what the settings choose is there, without a server: for `doctor`."""

from sidemirror_server.assembly.memory import scorer_of
from sidemirror_server.assembly.models import check_embedding, routes_of, templates_of
from sidemirror_server.settings import BadSettings, Settings
from sidemirror_server.vocabulary.clock import Clock


def refused_choices(settings: Settings, clock: Clock) -> tuple[str, ...]:
    """Why a server would not start with the models, the prompts and the scorer of these settings; empty if it would."""
    refused = []
    for choose in (
        lambda: routes_of(settings, clock),
        lambda: check_embedding(settings),
        lambda: templates_of(settings),
        lambda: scorer_of(settings.memory.scorer),
    ):
        try:
            choose()
        except BadSettings as error:
            refused.append(str(error))
    return tuple(refused)
