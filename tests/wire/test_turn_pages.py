"""A turn that is read in pages: from where, how much at once, and that others go on meanwhile."""

import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.vocabulary.giving_way import GivesWay
from tests.wire.calls import entries, said


def test_a_turn_is_read_in_pages_and_from_a_place(stub: ThinkingServiceStub) -> None:
    turn_id = stub.StartTurn(pb.StartTurnRequest()).plan.turn_id
    stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=[said(str(n)) for n in range(7)]))
    pages: list[list[int]] = []
    token = ""
    while not pages or token:
        request = pb.GetTurnRequest(turn_id=turn_id, after_sequence=1, page_size=3, page_token=token)
        page = stub.GetTurn(request)
        pages.append([entry.sequence for entry in page.entries])
        token = page.next_page_token
    assert pages == [[2, 3, 4], [5, 6, 7], [8, 9]]
    after = stub.GetTurn(pb.GetTurnRequest(turn_id=turn_id, after_sequence=9))
    assert (list(after.entries), after.next_page_token) == ([], "")
    assert len(stub.GetTurn(pb.GetTurnRequest(turn_id=turn_id, page_size=2**31 - 1)).entries) == 9


def test_a_page_fits_into_a_message(stub: ThinkingServiceStub) -> None:
    turn_id = stub.StartTurn(pb.StartTurnRequest()).plan.turn_id
    text = "x" * 262_144
    for _ in range(2):
        stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=[said(text)] * 12))
    first = stub.GetTurn(pb.GetTurnRequest(turn_id=turn_id, page_size=1000))
    assert first.next_page_token
    assert 1.5 * 2**20 < first.ByteSize() < 2.5 * 2**20
    assert len(entries(stub, turn_id)) == 26


def test_other_calls_go_on_between_the_entries_of_a_page(
    stub: ThinkingServiceStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail with a page that is made in one piece."""
    asked: list[GivesWay] = []
    give_way = GivesWay.__call__

    async def ask(self: GivesWay) -> None:
        asked.append(self)
        await give_way(self)

    turn_id = stub.StartTurn(pb.StartTurnRequest()).plan.turn_id
    stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=[said(str(n)) for n in range(7)]))
    monkeypatch.setattr(GivesWay, "__call__", ask)
    assert len(stub.GetTurn(pb.GetTurnRequest(turn_id=turn_id)).entries) == 9
    (reader,) = {id(one) for one in asked if one._awaited is None}
    assert sum(id(one) == reader for one in asked) == 9
