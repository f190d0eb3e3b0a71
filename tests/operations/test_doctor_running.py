"""What `sidemirror doctor` says of what a sidecar tells of itself: stores, clocks, models, senders."""

import datetime
from pathlib import Path
from typing import Any

import pytest

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.operations import doctor
from sidemirror_server.operations.doctor import examine
from sidemirror_server.operations.doctor_report import show
from sidemirror_server.operations.finding import Examination, Finding
from sidemirror_server.operations.running_check import check_running
from sidemirror_server.rpc.sidecar.findings import OfModel, finding_to_wire, findings_of
from sidemirror_server.vocabulary.clock import SystemClock
from tests.operations.test_doctor import NOW_US, found
from tests.wire.sidecar import sidecar

AT = "127.0.0.1:50051"
DAY = datetime.datetime.fromtimestamp(NOW_US / 1e6, datetime.UTC).date().isoformat()


def info(**fields: Any) -> pb.GetServerInfoResponse:
    """What a sidecar tells of itself with which nothing is wrong, but for `fields`."""
    made = pb.GetServerInfoResponse(
        stores=[pb.StoreInfo(kind="sqlite", available=True)],
        spend=[pb.Spend(day=DAY, purpose="critique", calls=9, usd=0.1)],
        store_clock=pb.StoreClock(),
    )
    made.server_time.FromMicroseconds(NOW_US)
    made.MergeFrom(pb.GetServerInfoResponse(**fields))
    return made


def checked(told: pb.GetServerInfoResponse) -> list[Finding]:
    return list(check_running(told, AT, NOW_US))


def test_a_sidecar_with_which_nothing_is_wrong() -> None:
    assert checked(info()) == []


@pytest.mark.parametrize(
    ("store", "said"),
    [
        (pb.StoreInfo(kind="sqlite", lost="sidemirror.db removed"), "has lost its sqlite store: sidemirror.db removed"),
        (pb.StoreInfo(kind="postgres"), "says that its postgres store did not answer last"),
    ],
)
def test_a_store_that_is_lost_or_away(store: pb.StoreInfo, said: str) -> None:
    (finding,) = checked(info(stores=[store]))
    assert (finding.subject, finding.ok, finding.found) == ("store", False, f"the sidecar at {AT} {said}")


@pytest.mark.parametrize(
    ("ahead_s", "said"),
    [
        (7_200, "7,200 s ahead of this command's: it is 2027-01-15 10:00:00 UTC there"),
        (-90, "90 s behind this command's: it is 2027-01-15 07:58:30 UTC there"),
        (4, ""),
        (-4, ""),
    ],
)
def test_a_clock_that_is_not_this_commands(ahead_s: int, said: str) -> None:
    told = info()
    told.server_time.FromMicroseconds(NOW_US + ahead_s * 1_000_000)
    clocks = [finding for finding in checked(told) if finding.subject == "clock"]
    assert [finding.found for finding in clocks] == ([f"the clock of the sidecar at {AT} is {said}"] if said else [])


def test_a_busy_sidecars_clock_is_not_behind() -> None:
    """Its answer took longer than two clocks may differ. Seen to fail without the time that it took."""
    told = info()
    told.server_time.FromMicroseconds(NOW_US - 7_000_000)
    assert [one.subject for one in check_running(told, AT, NOW_US)] == ["clock"]
    assert list(check_running(told, AT, NOW_US, took_us=3_000_000)) == []


def test_a_sidecar_that_removes_nothing() -> None:
    (finding,) = checked(info(store_clock=pb.StoreClock(doubt="the database's clock has moved by +2.0 days")))
    assert finding == Finding(
        "clock",
        ok=False,
        found=f"the sidecar at {AT} removes nothing: the database's clock has moved by +2.0 days",
        advice="set the clock if it is still wrong, then restart it",
    )


def test_questions_of_today_that_no_model_answered() -> None:
    old = pb.Spend(day="2026-01-01", purpose="critique", unanswered_calls=7, estimated_usd=1.0)
    today = pb.Spend(day=DAY, purpose="dreaming", calls=30, unanswered_calls=2, estimated_usd=0.0125)
    (finding,) = checked(info(spend=[old, today]))
    assert (finding.subject, finding.ok) == ("model", True)
    assert finding.found == f"{AT}: 2 calls of today had no usable answer (dreaming 2 of 30), estimated at 0.012500 USD"
    assert "--ask-models" in finding.advice
    assert checked(info(spend=[old])) == []


def test_a_purpose_whose_questions_of_today_no_model_answered() -> None:
    """One of them was answered, before the model died. Seen to fail when all have to be unanswered."""
    silent = pb.Spend(day=DAY, purpose="critique", calls=40, unanswered_calls=39)
    some = pb.Spend(day=DAY, purpose="dreaming", calls=3, unanswered_calls=1)
    (finding,) = checked(info(spend=[silent, some]))
    assert (finding.subject, finding.ok) == ("model", False)
    assert "40 calls of today had no usable answer (critique 39 of 40, dreaming 1 of 3), " in finding.found
    once = pb.Spend(day=DAY, purpose="critique", calls=1, unanswered_calls=1)
    (finding,) = checked(info(spend=[once]))
    assert not finding.ok


def test_a_model_that_answers_again_has_nothing_to_be_changed() -> None:
    """Whatever its figures of the day. Seen to fail until midnight."""
    silent = pb.Spend(day=DAY, purpose="critique", calls=40, unanswered_calls=39)
    answers = pb.ModelInfo(purpose="critique", provider="anthropic", model="m")
    answers.last_answer_time.FromMicroseconds(NOW_US)
    (finding,) = checked(info(spend=[silent], models=[answers]))
    assert finding.ok
    fails = pb.ModelOutage(purpose="critique", provider="anthropic", model="m", failed_count=1, status="refused")
    _, finding = checked(info(spend=[silent], models=[answers], model_outages=[fails]))
    assert not finding.ok


def test_a_model_that_fails_now_is_named() -> None:
    """Though nothing was charged, and before its callers hang up. One question may fail by chance."""
    dead = pb.ModelOutage(purpose="critique", provider="anthropic", model="m", failed_count=14, status="failed_model")
    dead.last_time.FromMicroseconds(NOW_US)
    once = pb.ModelOutage(purpose="dreaming", provider="anthropic", model="m", failed_count=1, status="refused")
    failing, chance = checked(info(model_outages=[dead, once]))
    assert (failing.subject, failing.ok) == ("model", False)
    assert failing.found.startswith(
        f"{AT}: m (anthropic) failed the last 14 questions for critique: failed_model, the "
    )
    assert "model_failed" in failing.advice
    assert (chance.ok, chance.found) == (True, f"{AT}: m (anthropic) failed the last question for dreaming: refused")


@pytest.mark.parametrize(("status", "is_well"), [("failed_model", True), ("unanswered", True), ("failed_parse", False)])
def test_a_model_that_answers_others_again_is_not_accused(status: str, is_well: bool) -> None:
    """What cannot be read is of a purpose. Seen to fail for half a minute after a model was mended."""
    mended = pb.ModelOutage(purpose="goal_reflection", provider="p", model="m", failed_count=9, status=status)
    mended.answered_others_time.FromMicroseconds(NOW_US)
    (finding,) = checked(info(model_outages=[mended]))
    assert finding.ok == is_well
    told = f"{AT}: m (p) failed the last 9 questions for goal_reflection: {status}"
    assert finding.found == (f"{told}; it has answered others since" if is_well else told)


@pytest.mark.parametrize(("status", "answers"), [("unanswered", True), ("refused", False)])
def test_a_model_is_known_again_whatever_its_names(status: str, answers: bool) -> None:
    """What is refused is of a purpose. Seen to fail for a provider in another package, whose name has a hyphen."""
    silent = pb.ModelOutage(
        purpose="critique", provider="our-models", model="small (2026)", failed_count=2, status=status
    )
    (told,) = checked(info(model_outages=[silent]))
    answered = Finding("model", ok=True, found="it answers", about=OfModel("our-models", "small (2026)"))
    another = Finding("model", ok=True, found="it answers", about=OfModel("our-models", "small"))
    assert doctor.answered_now(told, [another, answered]).ok == answers
    assert not doctor.answered_now(told, [another]).ok


def test_a_full_disk_is_named() -> None:
    """The sidecar knows it, also where nobody else can look. Seen to fail with "did not answer last"."""
    (finding,) = checked(info(stores=[pb.StoreInfo(kind="sqlite", full=True)]))
    assert not finding.ok
    assert finding.found == (
        f"the sidecar at {AT} says that the disk of its sqlite store is full: writes are refused (STORE_FULL)"
    )


def test_who_sends_most_is_named() -> None:
    """Seen to fail with "calls and messages of 9,010", which said of nothing what it was."""
    loud = pb.Sender(token="agent-d", tenant_id="acme", project_id="shop", sent_count=9_000)
    quiet = pb.Sender(tenant_id="acme", project_id="blog", sent_count=10)
    session = pb.Sender(tenant_id="acme", project_id="shop", session_id="s-7\x1b[2J", sent_count=8_000)
    traffic = pb.Traffic(message_count=9_010, callers=[loud, quiet], sessions=[session])
    traffic.period.FromMicroseconds(61_400_000)
    (finding,) = checked(info(traffic=traffic))
    assert (finding.subject, finding.ok) == ("traffic", True)
    assert finding.found.startswith(
        f"{AT}: 9,010 calls and messages came in the last 61 s; who sent most: acme/shop by token agent-d: 9,000; "
        "acme/blog: 10. Events by session: s-7"
    )
    assert "\x1b" not in finding.found
    # Whose token does not cover everybody is not told how many there were.
    traffic.ClearField("message_count")
    told = [finding.found for finding in checked(info(traffic=traffic))]
    assert any(one.startswith(f"{AT}: who sent most calls and messages in the last 61 s: acme/shop by") for one in told)


def test_a_cap_that_prevents_questions_is_named() -> None:
    """Whether it is used up or not; one of 0 is meant to. Seen to fail when only a cap that is used up counts."""
    half = pb.SpendCap(
        owner=pb.SPEND_CAP_OWNER_TENANT, level=pb.SPEND_LEVEL_TENANT, usd_per_day=1.0, used_usd=0.5,
        refused_count=3, wanted_usd=0.75,
    )  # fmt: skip
    (finding,) = checked(info(spend_caps=[half]))
    assert (finding.subject, finding.ok) == ("cap", False)
    assert finding.found == (
        f"{AT}: the tenant's cap on tenant prevents questions, 3 in a row: 0.500000 of 1.000000 USD are used or "
        "reserved, and a question may cost 0.750000"
    )
    assert finding.advice == "raise it, or wait until midnight UTC"
    small = pb.SpendCap(
        owner=pb.SPEND_CAP_OWNER_SIDECAR, purpose="dreaming", tokens_per_day=50, refused_count=1, wanted_tokens=900
    )
    (finding,) = checked(info(spend_caps=[small]))
    assert finding.found.endswith("0 of 50 tokens are used or reserved, and a question may take 900")
    assert finding.advice == "raise it: one question may cost more"
    other = pb.SpendCap(
        owner=pb.SPEND_CAP_OWNER_PROJECT, level=pb.SPEND_LEVEL_PROJECT, tenant_id="acme", project_id="shop",
        usd_per_day=1.0, refused_count=1, wanted_usd=2.0,
    )  # fmt: skip
    (finding,) = checked(info(refusing_caps=[other]))
    assert finding.found.startswith(f"{AT}: the project's cap on project prevents questions of acme/shop, 1 in a row: ")
    priceless = [pb.ModelInfo(purpose=one, model="m", price_unknown=True) for one in ("critique", "dreaming")]
    (finding,) = checked(info(spend_caps=[half], models=priceless))
    assert finding.found.endswith("; no price of m is known, so its answers count at the dearest known one")
    assert finding.advice == (
        "set model__input_usd_per_mtok and model__output_usd_per_mtok; or raise it, or wait until midnight UTC"
    )
    none = pb.SpendCap(usd_per_day=0.0, refused_count=9, wanted_usd=0.1)
    quiet = pb.SpendCap(usd_per_day=1.0, used_usd=1.0)
    assert checked(info(spend_caps=[none, quiet])) == []


def test_who_is_held_back_is_named() -> None:
    traffic = pb.Traffic(message_count=9, held_back=[pb.Sender(token="agent-d"), pb.Sender(token="agent-e")])
    traffic.period.FromMicroseconds(61_400_000)
    traffic.held_back[0].waited.FromMicroseconds(48_250_000)
    (finding,) = checked(info(traffic=traffic))
    assert (finding.subject, finding.ok) == ("traffic", False)
    assert (
        finding.found == f"{AT}: held back at their share in the last 61 s, by token: agent-d: 48.2 s; agent-e: 0.0 s"
    )
    assert "raise limits.agent_bytes_per_second" in finding.advice
    traffic.held_back[0].waited.FromMicroseconds(20_000_000)
    (finding,) = checked(info(traffic=traffic))
    assert (finding.ok, finding.advice) == (True, "")


def test_who_is_refused_at_a_limit_is_named() -> None:
    """Seen to fail with "Nothing to change." beside thousands of refused calls."""
    traffic = pb.Traffic(message_count=9, refused=[pb.Sender(token="agent-d", refused_count=4_670)])
    traffic.period.FromMicroseconds(61_400_000)
    (finding,) = checked(info(traffic=traffic))
    assert (finding.subject, finding.ok) == ("traffic", False)
    assert finding.found == f"{AT}: refused at a limit in the last 61 s, by token: agent-d: 4,670 calls"
    assert "`call_refused`" in finding.advice


def test_what_a_narrow_token_is_not_told_is_not_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail with "Nothing to change.", and nothing else."""
    told = info(traffic=pb.Traffic())
    (finding,) = checked(told)
    assert (finding.subject, finding.ok) == ("access", True)
    assert "refused callers" in finding.not_asked
    show(Examination(True, (), (finding,)))
    out = capsys.readouterr().out
    assert out.startswith(f"??   access: {AT}: ")
    assert "Nothing to change in what was asked." in out
    told.traffic.message_count = 0
    assert checked(told) == []


def test_the_cause_is_before_the_symptom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And it says how much room is wanted. Seen to fail with "did not answer last" first."""
    monkeypatch.setattr(doctor, "_LITTLE_ROOM_BYTES", 1 << 62)
    (room,) = [one for one in found(tmp_path).findings if not one.ok]
    assert room.found.endswith(f" MiB are free for {tmp_path / 'data'}, {1 << 42} MiB are wanted")
    (symptom,) = checked(info(stores=[pb.StoreInfo(kind="sqlite")]))
    assert doctor.as_one([symptom], [room]) == [room, symptom]


def test_the_folder_of_a_forwarded_sidecar_is_not_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the address is named, as on another machine. Seen to fail as one to change, and with an `ok` for the room on
    the caller's own disk."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    with sidecar(tmp_path / "there", settings={}) as server:
        at = f"127.0.0.1:{server.port}"
        asked = examine({"address": at}, SystemClock(), {})
        named = examine({"address": at, "data_dir": str(tmp_path / "data")}, SystemClock(), {})
    assert [one for one in asked.findings if not one.ok] == []
    (store,) = [one for one in asked.findings if one.subject == "store"]
    assert store.found == f"the records of the sidecar at {at} are not in {tmp_path / 'sidemirror-data'}"
    assert store.not_asked == "the sidecar's folder and its disk"
    (clock,) = [one for one in asked.findings if one.subject == "clock"]
    assert f", and by that of the sidecar at {at} to 5 s" in clock.found, "which is another machine's"
    assert not clock.not_asked
    (finding,) = [one for one in named.findings if not one.ok]
    assert "keeps its records in another folder" in finding.found
    assert not any(" MiB are free for " in one.found for one in named.findings)


def test_a_relative_folder_is_not_looked_for_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default is relative. Seen to fail from another folder than the sidecar's: as a folder to change, and with an
    `ok` for the room on another disk."""
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)
    with sidecar(tmp_path / "there", settings={}) as server:
        at = f"127.0.0.1:{server.port}"
        elsewhere = examine({}, SystemClock(), {"SIDEMIRROR_ADDRESS": at})
        monkeypatch.chdir(tmp_path / "there")
        beside = examine({}, SystemClock(), {"SIDEMIRROR_ADDRESS": at, "SIDEMIRROR_DATA_DIR": "data"})
    assert elsewhere.ok
    (store,) = [one for one in elsewhere.findings if one.subject == "store"]
    folder = tmp_path / "sidemirror-data"
    assert store.found == f"data_dir is relative, and {folder} is not the folder of the sidecar at {at}"
    assert store.not_asked == "the sidecar's folder and its disk"
    assert any(" MiB are free for " in one.found for one in beside.findings)


def test_a_disk_that_stalls_is_named() -> None:
    """The sidecar knows it, and whoever times the disk between two stalls does not."""
    stalls = pb.StoreInfo(kind="sqlite", available=True)
    stalls.slowest_commit.FromMicroseconds(2_450_000)
    told = info()
    del told.stores[:]
    told.stores.append(stalls)
    (finding,) = checked(told)
    assert (finding.subject, finding.ok) == ("store", False)
    assert (
        finding.found
        == f"the sidecar at {AT} says that its sqlite store is slow: a commit of the last minute took 2.5 s"
    )
    assert "iostat -x" in finding.advice


def test_whose_calls_are_refused_is_named() -> None:
    """All of them. Seen to fail when a text of a caller is printed as it is, and when those after the third are cut."""
    unknown = pb.RefusedCaller(
        peer="unix:", reason="the token is not known", fingerprint="sha256:1a2b3c4d", call_count=7
    )
    unknown.last_time.FromMicroseconds(NOW_US)
    other = pb.RefusedCaller(
        peer="ipv4:10.0.0.7", reason="no", token="acme", tenant_id="x\x1b[2J", project_id="y", call_count=1_000
    )
    first, second, *rest = checked(info(refused_callers=[unknown, *[other] * 8]))
    assert len(rest) == 7
    assert (first.subject, first.ok) == ("access", False)
    assert first.found == (
        f"{AT}: the token is not known, sha256:1a2b3c4d: 7 calls from unix:, the last one at 2027-01-15 08:00:00 UTC"
    )
    assert first.advice.startswith("find out whose it is first: ")
    assert "sidemirror fingerprint FILE" in first.advice
    assert second.found.startswith(f"{AT}: no, acme (x")
    assert "1,000 calls from ipv4:10.0.0.7" in second.found
    assert "\x1b" not in second.found
    *_, last = checked(info(refused_callers=[other] * 10))
    assert (last.subject, last.ok) == ("access", True)
    assert (
        last.found
        == f"{AT}: that were 10 callers, the most that are told; others have a line `call_refused` in its log"
    )


def test_a_sidecar_says_the_same_of_itself() -> None:
    """Without its address, and with the time beside it."""
    refused = pb.RefusedCaller(peer="unix:", reason="no token", call_count=7)
    refused.last_time.FromMicroseconds(NOW_US)
    told = info(stores=[pb.StoreInfo(kind="postgres")], refused_callers=[refused])
    store, access = map(finding_to_wire, findings_of(told))
    assert (store.subject, store.is_ok) == ("store", False)
    assert store.found == "this sidecar says that its postgres store did not answer last"
    assert not store.HasField("last_time")
    assert access.found == "no token: 7 calls from unix:"
    assert access.last_time.ToMicroseconds() == NOW_US
