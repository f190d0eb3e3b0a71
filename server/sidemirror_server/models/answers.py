"""What models are asked to answer with: one type per purpose, which is also the schema (`msgspec.json.schema`).

They stand beside the port because the rooms that ask and the adapters that answer both need them.
"""

from typing import Annotated

import msgspec
from msgspec import Meta


class MidTurnAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reflection in the middle of a turn."""

    reflection: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=4_000,
            description="One to four sentences: what works, what does not and why, and what is still missing.",
        ),
    ]
    suggested_action: (
        Annotated[
            str, Meta(max_length=1_000, description="The one next action to take, in one sentence; null if none.")
        ]
        | None
    ) = None
    confidence: (
        Annotated[float, Meta(ge=0.0, le=1.0, description="How sure this assessment is: 0 is a guess, 1 is certain.")]
        | None
    ) = None
    cited_event_ids: Annotated[
        tuple[str, ...],
        Meta(
            max_length=32,
            description="The ids of the recorded events that the reflection is about, most telling first.",
        ),
    ] = ()
