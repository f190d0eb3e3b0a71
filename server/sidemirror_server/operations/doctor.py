"""`sidemirror doctor`: reports whether `serve` works with these settings, and what to change.

Called by `cli.py`. It changes nothing: it creates no folder, and holds ports and locks only for a moment.
"""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from sidemirror_server.assembly import examine_redis, examine_shared_store, examine_store
from sidemirror_server.operations.address_check import AskedAddress, answers, check_places
from sidemirror_server.operations.address_owner import listens
from sidemirror_server.operations.choices_check import check_choices
from sidemirror_server.operations.clock_check import AHEAD_US, check_clock
from sidemirror_server.operations.clock_check import SUBJECT as CLOCK
from sidemirror_server.operations.entrance_check import check_entrance, check_reach
from sidemirror_server.operations.finding import Examination, Finding
from sidemirror_server.operations.loop import run
from sidemirror_server.operations.moments import second
from sidemirror_server.operations.running_check import check_running
from sidemirror_server.operations.shown import plain
from sidemirror_server.rpc.sidecar.findings import OfModel, OfStore
from sidemirror_server.settings import (
    BadSettings,
    Idle,
    Settings,
    Source,
    load,
    nearest,
    sources,
    unknown_names,
    without_effect,
)
from sidemirror_server.vocabulary.clock import Clock, SystemClock
from sidemirror_server.vocabulary.text import enter

_MIB = 1024 * 1024
# With less free space a busy agent may fill the disk within an hour. Chosen here: 4 times the bound of the WAL.
_LITTLE_ROOM_BYTES = 256 * _MIB
# If clocks differ by this much, a sidecar removes no records (vocabulary/store_clock.py).
_DAY_US = 24 * 3600 * 1_000_000


def doctor(flags: Mapping[str, str], *, ask_models: bool, as_json: bool, all_settings: bool = False) -> int:
    """Prints the findings; returns 0 when nothing has to be changed, else 1. `flags`: those of `serve`.

    `ask_models`: asks each chosen model one question, which may cost something. `all_settings`: shows those too that
    have their defaults.
    """
    # What the stores would log meanwhile is among the findings, with its meaning.
    logging.getLogger("sidemirror_server").addHandler(logging.NullHandler())
    examination = examine(flags, SystemClock(), ask_models=ask_models)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(examination, enc_hook=str), indent=2).decode())
    else:
        from sidemirror_server.operations.doctor_report import show

        show(examination, all_settings=all_settings)
    return 0 if examination.ok else 1


def examine(
    flags: Mapping[str, str], clock: Clock, environment: Mapping[str, str] | None = None, *, ask_models: bool = False
) -> Examination:
    """Examines settings, store, address and clock. `environment`: None means the environment of the process."""
    findings = [_unknown(name) for name in unknown_names(environment)]
    settings: tuple[Source, ...] = ()
    try:
        loaded = load(flags, environment)
    except BadSettings as error:
        advice = "change or remove this setting"
        findings += [Finding("settings", ok=False, found=told, advice=advice) for told in error.told]
    else:
        settings = tuple(map(_without_secrets, sources(loaded, flags, environment)))
        findings.extend(map(_idle, without_effect(loaded, flags, environment)))
        found = answers(loaded)
        findings.extend(_places(loaded, clock, found, means_folder=_means_folder(settings)))
        findings.extend(check_entrance(loaded, clock))
        findings.extend(check_choices(loaded, clock, environment))
        if ask_models:
            asked = list(_models(loaded, found))
            findings = [answered_now(one, asked) for one in findings] + asked
    return Examination(all(finding.ok for finding in findings), settings, tuple(findings))


def _without_secrets(setting: Source) -> Source:
    """A setting as it may be shown: the URL of a model may hold a password."""
    value = setting.value
    return msgspec.structs.replace(setting, value=enter(value)) if isinstance(value, str) else setting


def _models(settings: Settings, answered: list[AskedAddress]) -> Iterable[Finding]:
    from sidemirror_server.operations.model_check import check_models, other_models

    others = [(at.address, other) for at in answered if at.info if (other := other_models(at.info, settings))]
    for address, other in others:
        told = f"not asked: the sidecar at {address} has {other}"
        advice = "run this with the sidecar's own settings: in its pod, or by its environment (deploy/alerts.md, First)"
        yield Finding("model", ok=False, found=plain(told), advice=advice)
    if others:
        return
    for check in run(check_models(settings)):
        asked_for = ", ".join(check.purposes)
        found = f"{check.provider} {check.model} ({asked_for}): "
        if not check.ok:
            advice = (
                "see the settings model__provider, model__name, model__base_url and the key; --egress names its address"
            )
            yield Finding("model", ok=False, found=f"{found}{check.status.value}, {check.detail}", advice=advice)
            continue
        cost = "" if check.usage is None or check.usage.cost_usd is None else f", {check.usage.cost_usd:.6f} USD"
        yield Finding("model", ok=True, found=f"{found}answers{cost}", about=OfModel(check.provider, check.model))
        if not check.price_known:
            advice = "set model__input_usd_per_mtok and model__output_usd_per_mtok"
            unknown = f"{found}no price list has it, so the dearest known price is counted"
            yield Finding("model", ok=True, found=unknown, advice=advice)
        yield from (Finding("model", ok=True, found=f"{found}{clamped}") for clamped in check.clamped)


def answered_now(told: Finding, asked: list[Finding]) -> Finding:
    """What a sidecar says of a model that failed agents, where the same model has just answered this command: then it
    is back, and the next question of an agent says so, too. What is of a purpose stays as it is."""
    if told.ok or told.about is None or told.about not in [one.about for one in asked]:
        return told
    found = f"{told.found}; it has answered this command since"
    return Finding(told.subject, ok=True, found=found, advice="the next question for this purpose shows it")


def _unknown(name: str) -> Finding:
    close = nearest(name)
    advice = f"did you mean {close}?" if close else "remove it, or look for its name in the table of settings"
    return Finding("settings", ok=False, found=f"{name} is no setting of this server and does nothing", advice=advice)


def _idle(idle: Idle) -> Finding:
    advice = "set that, or remove it" if idle.needs else "set a policy, and remove it"
    return Finding("settings", ok=False, found=f"{idle.variable} does nothing {idle.why}", advice=advice)


def _means_folder(settings: tuple[Source, ...]) -> bool:
    """Whether the folder is that of the sidecar at the address: not where the address alone is given, as of a port that
    is forwarded from another machine."""
    given = {one.name: one.source for one in settings}
    return given["data_dir"] != "default" or given["address"] != "flag"


def _places(settings: Settings, clock: Clock, found: list[AskedAddress], *, means_folder: bool) -> Iterable[Finding]:
    says = [one for at in found if at.info for one in check_running(at.info, at.address, clock.now_us(), at.took_us)]
    own = (
        _shared(settings, clock, found)
        if settings.database_url
        else _embedded(settings, clock, found, means_folder=means_folder)
    )
    told = as_one(says, list(own))
    yield from (one for one in told if not _is_satisfied_clock(one))
    if all(one.ok for one in told if one.subject == CLOCK):
        yield from (one for one in told if _is_satisfied_clock(one))
    yield from check_places(settings, served=_any([at.state.served for at in found]))
    if settings.redis_url:
        yield from _redis(settings)


def as_one(says: list[Finding], own: list[Finding]) -> list[Finding]:
    """What a sidecar says and what this command found itself, with what the sidecar says of a store that does not
    answer in the line of the same cause, where this command found it; of another store it comes after the causes."""
    symptoms = [one for one in says if isinstance(one.about, OfStore)]
    told = [*(one for one in says if one not in symptoms), *own, *symptoms]
    cause = next((one for one in own if isinstance(one.about, OfStore)), None)
    same = [one for one in symptoms if cause is not None and one.about == cause.about]
    if cause is None or not same:
        return told
    both = msgspec.structs.replace(cause, found="; ".join(one.found for one in (cause, *same)))
    return [both, *(one for one in told if one is not cause and one not in same)]


def _any(served: list[bool | None]) -> bool | None:
    """Whether a sidemirror answers at one of the addresses; None when unknown."""
    return True if any(served) else None if None in served else False


def _is_satisfied_clock(finding: Finding) -> bool:
    """Whether it says that a clock is well, which is told only if nothing says that one is wrong."""
    return finding.subject == CLOCK and finding.ok


def _redis(settings: Settings) -> Iterable[Finding]:
    """Findings about the Redis of goal reflections."""
    redis = run(examine_redis(settings))
    risks = [(risk, "set maxmemory-policy to noeviction") for risk in redis.memory_risks]
    risks += [(risk, "set appendonly to yes") for risk in redis.restart_risks]
    if redis.away_at:
        found = f"Redis {redis.away_at}: it does not answer"
        yield Finding("store", ok=False, found=found, advice="start it, or change SIDEMIRROR_REDIS_URL")
    elif redis.refused:
        advice = "change SIDEMIRROR_REDIS_URL, or that server"
        yield Finding("store", ok=False, found=f"Redis: {redis.refused}", advice=advice)
    elif not risks:
        yield Finding("store", ok=True, found=f"Redis: {redis.durability}")
    for risk, advice in risks:
        yield Finding(
            "store", ok=True, found=f"Redis: {risk}", advice=f"{advice}, or let reports bring back what is lost"
        )


def _shared(settings: Settings, clock: Clock, answered: list[AskedAddress]) -> Iterable[Finding]:
    """Findings about the shared Postgres store, the addresses and the clock."""
    store = run(examine_shared_store(settings, clock.now_us()))
    at, about = (f"Postgres {store.place}: ", OfStore("postgres")) if store.place else ("", None)
    for problem in store.problems:
        advice = problem.remedy or "look into the server's log"
        yield Finding("store", ok=False, found=f"{at}{problem.cause}", advice=advice, about=about)
    yield from (Finding("store", ok=True, found=fact) for fact in store.facts)
    if store.reach is not None:
        yield from check_reach(settings, store.reach.includes, store.reach.tenants)
    if store.is_slow and store.commit_s is not None:
        found_slow = f"a commit takes {store.commit_s * 1000:,.0f} ms or more, with its way there and back"
        advice = "see what its disk does (iostat -x there), whether it waits for a standby, and how far away it is"
        yield Finding("store", ok=False, found=found_slow, advice=advice)
    elif not store.problems:
        took = "is not timed" if store.commit_s is None else f"takes {store.commit_s * 1000:,.1f} ms"
        yield Finding("store", ok=True, found=f"a commit {took}")
    if not store.is_durable:
        found = "fsync is off: what it keeps may not survive a crash"
        yield Finding("store", ok=True, found=found, advice="switch fsync on")
    if abs(store.clock_ahead_us) > AHEAD_US:
        seconds = f"{abs(store.clock_ahead_us) / 1e6:,.0f} s {'ahead' if store.clock_ahead_us > 0 else 'behind'}"
        advice = "set the one that is wrong, and keep machines in step (NTP)"
        removes = "; sidecars remove nothing meanwhile" if abs(store.clock_ahead_us) >= _DAY_US else ""
        now_us = clock.now_us()
        times = f"it is {second(now_us + store.clock_ahead_us)} there, and {second(now_us)} by this machine's"
        yield Finding(CLOCK, ok=False, found=f"the database's clock is {seconds}: {times}{removes}", advice=advice)
    yield from (at.state for at in answered)
    # It has facts where it answered, and so was asked for its time.
    yield check_clock(0, clock.now_us(), "the database's" if store.facts else "")


def _embedded(settings: Settings, clock: Clock, found: list[AskedAddress], *, means_folder: bool) -> Iterable[Finding]:
    """Findings about the embedded store, the addresses and the clock."""
    store = examine_store(settings)
    where = _folder_elsewhere(settings, store.folder, store.held_by, found, means_folder=means_folder)
    if where is not None:
        yield where
        yield from (at.state for at in found)
        yield check_clock(0, clock.now_us(), _another_clock(found, means_folder=means_folder))
        return
    yield from (Finding("store", ok=False, found=one.cause, advice=one.remedy) for one in store.problems)
    if store.schema is not None:
        size = f"{store.size_bytes / _MIB:.1f} MiB" if store.exists else "not made yet"
        on, (applied, known) = store.file_system or "an unknown file system", store.schema
        yield Finding("store", ok=True, found=f"{store.folder} on {on}: {size}, schema {applied} of {known}")
    # Where a sidecar serves and no folder is, it writes elsewhere.
    if store.free_bytes is not None and (store.exists or not any(at.state.served for at in found)):
        yield _room(store.folder, store.free_bytes)
    if store.write_s is not None and store.is_slow:
        found_slow = f"the disk takes {store.write_s * 1000:,.0f} ms to keep 4 KiB"
        advice = "see what else writes to it (iostat -x), and whether it is a network disk; or choose another data_dir"
        yield Finding("store", ok=False, found=found_slow, advice=advice)
    for path, mode in store.open_to_others:
        told = f"other users may look into {path} (mode {mode})"
        yield Finding("store", ok=True, found=told, advice="chmod 0700" if path == store.folder else "chmod 0600")
    for path, mode in store.replaceable_in:
        told = f"other users may put another folder in the place of {store.folder}: {path} has mode {mode}"
        yield Finding("store", ok=True, found=told, advice="chmod o-w that folder, or choose another data_dir")
    yield from (at.state for at in found)
    is_lost = any(told.lost for at in found if at.info for told in at.info.stores)  # then that is said already
    if store.held_by is not None and not is_lost:
        yield _holder(store.held_by, found, listens(store.held_by, settings))
    yield check_clock(store.newest_us, clock.now_us(), _another_clock(found, means_folder=means_folder))


def _another_clock(found: list[AskedAddress], *, means_folder: bool) -> str:
    """Whose clock this machine's was held against. That of this machine's own sidecar is no other clock. One that
    differs is told by what the sidecar says of itself."""
    others = [] if means_folder else [at.address for at in found if at.info and at.info.HasField("server_time")]
    return f"that of the sidecar at {others[0]}" if others else ""


def _folder_elsewhere(
    settings: Settings, folder: Path, held_by: str | None, found: list[AskedAddress], *, means_folder: bool
) -> Finding | None:
    """That the folder is not the one of the sidecar at the address, where these settings did not say that it is: then
    nothing of it, such as its room, says anything about that sidecar. None if it may be."""
    if held_by is None:
        return None
    served = [at for at in found if at.state.served]
    is_its = held_by and (means_folder or listens(held_by, settings) is not False)
    if not served or is_its or any(told.lost for at in served if at.info for told in at.info.stores):
        return None
    if not means_folder:
        told = f"the records of the sidecar at {served[0].address} are not in {folder}"
        advice = "for its folder and its disk ask there: in its pod, or by its environment (deploy/alerts.md, First)"
    elif not settings.data_dir.is_absolute():
        told = f"data_dir is relative, and {folder} is not the folder of the sidecar at {served[0].address}"
        advice = "run this in the folder that it was started in: with `env -C /proc/PID/cwd` before it"
    else:
        return None
    return Finding("store", ok=True, found=told, advice=advice, not_asked="the sidecar's folder and its disk")


def _room(folder: Path, free_bytes: int) -> Finding:
    free = f"{free_bytes / _MIB:,.0f} MiB are free for {folder}"
    if free_bytes >= _LITTLE_ROOM_BYTES:
        return Finding("store", ok=True, found=free)
    wanted = f"{_LITTLE_ROOM_BYTES // _MIB} MiB are wanted"
    advice = "make room, or stop the sidecar, move the folder, and name its new place as data_dir"
    return Finding("store", ok=False, found=f"{free}, {wanted}", advice=advice)


def _holder(held_by: str, found: list[AskedAddress], its_address: bool | None) -> Finding:
    """Compares the process that locks the folder with the sidecar at the address, which should be the same.
    `its_address`: whether that process listens there; None if unknown."""
    served = [at.state.served for at in found]
    if held_by and any(at.state.is_silent for at in found) and its_address is not False:
        who = "is what listens there" if its_address else "is most likely what listens there"
        return Finding("store", ok=True, found=f"process {held_by} has the folder, and {who}: a sidecar, busy or hung")
    if held_by and not any(served) and None not in served:
        return Finding(
            "store",
            ok=False,
            found=f"process {held_by} has the folder, and no sidemirror answers at the address",
            advice="it is most likely a sidecar at another address, which `ss -ltnp` names: ask there; or choose "
            "another data_dir",
        )
    if held_by and any(served) and its_address is False:
        return Finding(
            "store",
            ok=False,
            found=f"process {held_by} has the folder, and the sidemirror at the address is another process",
            advice="choose the address of that process, or the other one's data_dir",
        )
    if any(served) and not held_by:
        return Finding(
            "store",
            ok=False,
            found="a sidemirror answers at the address, and it keeps its records in another folder",
            advice="choose another address, or that server's data_dir; if this folder was moved or replaced while it "
            "served (`store_files_lost` in its log), put it back",
        )
    return Finding("store", ok=True, found=f"process {held_by} has the folder" if held_by else "nobody has the folder")
