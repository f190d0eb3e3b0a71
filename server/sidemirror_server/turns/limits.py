"""Limits of a turn, and of the turns in memory."""

import msgspec


class TurnLimits(msgspec.Struct, frozen=True):
    """Limits on a turn's size, and how long to wait for it. Defaults: decision 005."""

    events_per_turn: int = 10_000
    # A turn with this many recorded bytes takes no more events, except its end.
    turn_bytes: int = 64 * 1024 * 1024
    # An open turn that is silent for this long is abandoned.
    abandon_after_s: float = 1800.0
    # An open turn without listeners leaves memory after this long; the next call about it loads it again.
    evict_after_s: float = 300.0
    # With more turns or recorded bytes in memory than this, an open turn without listeners leaves memory after
    # `crowded_evict_after_s`. So turns that never end do not fill the memory. Chosen here: many times the turns that an
    # agent has open; a sidecar's usual memory; longer than an agent is busy between two events.
    turns_at_hand: int = 10_000
    bytes_at_hand: int = 256 * 1024 * 1024
    crowded_evict_after_s: float = 5.0
    # How long the end of a turn waits for reflections in progress. Chosen here: enough for `rules`, and too short for
    # an agent to notice. A slower model's advice would come too late.
    finish_grace_s: float = 0.25
    # If a finished turn has no summary after this long, a crash prevented it. Until then, another server may be about
    # to record the summary. 0 if there is no other server.
    summary_due_s: float = 0.0
