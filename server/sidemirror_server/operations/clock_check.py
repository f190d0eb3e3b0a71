"""The part of `sidemirror doctor` that looks at this machine's clock. It cannot know the time: it says what the clock
says, and what speaks against it."""

from ctypes import CDLL, create_string_buffer

from sidemirror_server.operations.finding import Finding
from sidemirror_server.operations.moments import second

SUBJECT = "clock"
# 2026-01-01T00:00:00Z: an earlier clock is wrong, because this release is younger.
_EARLIEST_US = 1_767_225_600_000_000
# How far the newest record may be ahead of the clock. Synchronised clocks differ by less.
AHEAD_US = 5_000_000
# include/uapi/linux/timex.h: more bytes than `struct timex` has, all 0 to change nothing; and one of its states.
_TIMEX_BYTES = 512
_TIME_ERROR = 5


def check_clock(newest_us: int, now_us: int, held_against: str = "") -> Finding:
    """`newest_us`: the time of the newest record; 0 if there is none, or if others wrote it. `held_against`: whose
    clock has the same time, such as "the database's"; empty if no other was asked."""
    if now_us < _EARLIEST_US:
        return Finding(SUBJECT, ok=False, found="the clock is before 2026", advice="set the machine's clock")
    found, is_kept = f"it is {second(now_us)} by this machine's clock", is_in_step()
    if newest_us - now_us > AHEAD_US:
        return _is_behind_a_record(newest_us, now_us, is_kept=is_kept)
    if held_against:
        unkept = "; nothing keeps it in step (NTP)" if is_kept is False else ""
        return Finding(SUBJECT, ok=True, found=f"{found}, and by {held_against} to {AHEAD_US // 1_000_000} s{unkept}")
    if is_kept is False:
        return Finding(
            SUBJECT,
            ok=True,
            found=f"{found}: nothing keeps it in step (NTP), and no other clock was asked",
            advice="hold it against `date --utc` of a machine that is right",
            not_asked="whether this machine's clock is right",
        )
    says = "which something keeps in step (NTP)" if is_kept else "and no other clock was asked"
    return Finding(SUBJECT, ok=True, found=f"{found}, {says}")


def _is_behind_a_record(newest_us: int, now_us: int, *, is_kept: bool | None) -> Finding:
    """One of two clocks is wrong: the one of then, or the one of now. Once somebody has set it, the record stays."""
    ahead = f"the newest record is {(newest_us - now_us) / 1e6:,.0f} s ahead of the clock, which says {second(now_us)}"
    goes = f"this sentence goes at {second(newest_us)}"
    if is_kept:
        was = "something keeps it in step (NTP), so it was wrong when that was written"
        return Finding(SUBJECT, ok=True, found=f"{ahead}: {was}; {goes}")
    advice = (
        "hold it against `date --utc` of a machine that is right: if they differ, set the machine's clock, and keep it "
        f"in step; if not, nothing is to be done, and {goes}"
    )
    found = f"{ahead}: it was wrong when that was written, or is now"
    return Finding(SUBJECT, ok=False, found=found, advice=advice)


def is_in_step() -> bool | None:
    """Whether something keeps this machine's clock in step, as NTP does; None where the system does not say it.

    Linux, adjtimex(2): the state TIME_ERROR means that the clock is not synchronised. Reading it takes no right.
    """
    ask = getattr(CDLL(None), "adjtimex", None)
    if ask is None:
        return None
    state = ask(create_string_buffer(_TIMEX_BYTES))
    return None if state < 0 else state != _TIME_ERROR
