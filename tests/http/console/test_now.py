"""*Now* says what somebody should look at: what the sidecar finds, as doctor says it too, and what the page sees."""

from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.operations.running_check import check_running
from sidemirror_server.rpc.sidecar.findings import finding_to_wire, findings_of
from sidemirror_server.vocabulary.clock import SystemClock
from tests.http.chromium import Browser, Page
from tests.http.console.looking import answer, answered, go, looked_at, shows, texts
from tests.http.sidecars import door
from tests.wire.sidecar import SidecarThread

pytestmark = pytest.mark.slow("a browser is started")
AT = "127.0.0.1:50051"
# What the page says beside the sidecar's findings.
CAP_USED = "A day's cap is used up"
UNKNOWN = "Not known: the store does not answer."


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with door(tmp_path_factory.mktemp("now"), {"limits__http_requests_per_second": "1000"}) as running:
        yield running


@pytest.fixture(scope="module")
def page(server: SidecarThread, browser: Browser) -> Page:
    return answered(browser, server, "/nowhere", {})


def info(**fields: Any) -> pb.GetServerInfoResponse:
    """What a sidecar tells of itself with which nothing is wrong, but for `fields`."""
    made = pb.GetServerInfoResponse(stores=[pb.StoreInfo(kind="sqlite", holds="all", available=True)])
    made.server_time.GetCurrentTime()
    made.MergeFrom(pb.GetServerInfoResponse(**fields))
    made.findings.extend(map(finding_to_wire, findings_of(made)))
    return made


def refused() -> pb.RefusedCaller:
    at = Timestamp()
    at.GetCurrentTime()
    return pb.RefusedCaller(
        peer="ipv4:10.0.0.7", reason="the token is not known", fingerprint="sha256:1a2b3c4d", call_count=7, last_time=at
    )


def traffic(**senders: Any) -> pb.Traffic:
    made = pb.Traffic(message_count=9, **senders)
    made.period.FromSeconds(61)
    return made


def today() -> str:
    return Timestamp(seconds=SystemClock().now_us() // 1_000_000).ToDatetime().date().isoformat()


HALF_USED = pb.SpendCap(level=pb.SPEND_LEVEL_TOTAL, owner=pb.SPEND_CAP_OWNER_SIDECAR, tokens_per_day=10_000,
                        used_tokens=5_000, refused_count=3, wanted_tokens=6_000)  # fmt: skip
# By name: what a sidecar tells of itself that doctor has a finding for.
FOUND: dict[str, dict[str, Any]] = {
    "lost": {"stores": [pb.StoreInfo(kind="sqlite", lost="sidemirror.db removed")]},
    "away": {"stores": [pb.StoreInfo(kind="postgres")]},
    "doubt": {"store_clock": pb.StoreClock(doubt="the database's clock has moved by +2.0 days")},
    "silent": {"spend": [pb.Spend(day=today(), purpose="critique", calls=4, unanswered_calls=4)]},
    "some": {"spend": [pb.Spend(day=today(), purpose="dreaming", calls=4, unanswered_calls=1)]},
    "cap": {"spend_caps": [HALF_USED]},
    "others": {"refusing_caps": [HALF_USED]},
    "refused": {"refused_callers": [refused()]},
    "stalls": {"stores": [pb.StoreInfo(kind="sqlite", available=True, slowest_commit=Duration(seconds=2))]},
    "limited": {"traffic": traffic(refused=[pb.Sender(token="agent-d", refused_count=7)])},
    "held": {"traffic": traffic(held_back=[pb.Sender(token="agent-d")])},
    "senders": {"traffic": traffic(callers=[pb.Sender(tenant_id="acme", project_id="shop", sent_count=9)])},
}


@pytest.mark.parametrize("name", FOUND)
def test_each_finding_of_doctor_is_there(page: Page, name: str) -> None:
    """Word by word, but for the address and the time, and as bad as there. Seen to fail when the page had findings of
    its own: a cap that refuses and is half used, or a model that nobody reaches, was *all well*."""
    told = info(**FOUND[name])
    answer(page, {"GetServerInfo": told})
    go(page, "/nowhere")
    go(page, "/now", "Findings")
    doctors = list(check_running(told, AT, SystemClock().now_us()))
    assert doctors
    shown = texts(page, ".findings li")
    for one in doctors:
        words = one.found.replace(f"the sidecar at {AT}", "this sidecar").removeprefix(f"{AT}: ")
        words = words.partition(", the last one at ")[0]
        (found,) = [text for text in shown if text.startswith(words)]
        assert one.advice in found
        is_bad = page.value(f"document.querySelectorAll('.findings li')[{shown.index(found)}].matches('.warn')")
        assert is_bad == (not one.ok)
    is_well = page.value("document.querySelector('main').innerText.includes('all well')")
    assert is_well == all(one.ok for one in doctors)


def test_what_only_the_page_sees(page: Page) -> None:
    """Its own clock, and what the tables below say."""
    ahead = info(
        spend_unknown=True,
        advice_is_shadow=True,
        models=[pb.ModelInfo(purpose="critique", provider="openai", model="m"), pb.ModelInfo(provider="rules")],
        spend_caps=[pb.SpendCap(level=pb.SPEND_LEVEL_TOTAL, tokens_per_day=10, used_tokens=10)],
    )
    ahead.server_time.FromMicroseconds(SystemClock().now_us() + 7_200_000_000)
    ahead.store_clock.ahead.FromSeconds(90)
    answer(page, {"GetServerInfo": ahead})
    go(page, "/nowhere")
    go(page, "/now", "Findings")
    told = " ".join(texts(page, ".findings li"))
    for text in (
        "The model for critique is not asked (openai m)",
        CAP_USED,
        "The store does not say what was spent",
        "The sidecar's clock is 1 min 30 s off the store's.",
        "ahead of this page's.",
        "Advice is kept and not told",
    ):
        assert text in told
    assert len(texts(page, ".findings li")) == 6
    looked_at(page)


def test_what_the_store_does_not_tell_is_not_known(page: Page) -> None:
    """Seen to fail when what waits, what was spent and what was turned off were told as nothing."""
    answer(page, {"GetServerInfo": info(spend_unknown=True)})
    go(page, "/nowhere")
    go(page, "/now", UNKNOWN)
    told = {section.partition("\n")[0]: section for section in texts(page, "main section")}
    for name in ("What waits", "What it costs", "What was turned off and on"):
        assert UNKNOWN in told[name]
    shown = page.value("document.querySelector('main').innerText")
    assert "No background work." not in shown
    assert "No model was asked" not in shown
    looked_at(page)


def test_a_cap_of_a_purpose_stops_that_alone(page: Page) -> None:
    """Seen to fail when no model was said to be asked at all."""
    dreaming = pb.SpendCap(level=pb.SPEND_LEVEL_PURPOSE, purpose="dreaming", usd_per_day=0.5, used_usd=0.5)
    for cap, said in (
        (dreaming, f"{CAP_USED} (dreaming): no model that costs is asked for it until it resets."),
        (
            pb.SpendCap(level=pb.SPEND_LEVEL_TOTAL, tokens_per_day=10, used_tokens=10),
            f"{CAP_USED} (total, all purposes): no model that costs is asked until it resets.",
        ),
    ):
        answer(page, {"GetServerInfo": info(spend_caps=[cap])})
        go(page, "/nowhere")
        go(page, "/now", CAP_USED)
        assert said in texts(page, ".findings li")


def test_nothing_is_wrong(page: Page) -> None:
    """And the page says what it cannot know."""
    answer(page, {"GetServerInfo": info()})
    go(page, "/nowhere")
    go(page, "/now", "all well")
    assert texts(page, ".findings li") == []
    shows(page, "What only sidemirror doctor sees")


def test_the_sidecar_itself_finds_a_cap_that_is_too_small(server: SidecarThread, browser: Browser) -> None:
    """Over the wire: the page asks for findings."""
    page = answered(browser, server, "/now", {})
    shows(page, "all well")
    requests = page.value("document.querySelector('.grpcurl code').textContent")
    assert '"with_findings":true' in requests


def test_a_time_of_a_finding_is_the_viewers(page: Page) -> None:
    """As every time on the page: in the viewer's zone, the exact one on hover."""
    page.zone("Asia/Kathmandu")
    answer(page, {"GetServerInfo": info(refused_callers=[refused()])})
    go(page, "/nowhere")
    go(page, "/now", "the last one at")
    assert " +05:45 (" in page.value("document.querySelector('.findings time').title")
    page.zone("")
