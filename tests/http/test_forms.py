"""The forms of Connect's messages, by themselves."""

import gzip
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.http.connect.forms import compressed, decompressed, form_of, framed, only_frame
from sidemirror_server.http.connect.json_messages import BadJson, as_json, from_json
from sidemirror_server.http.context import Ended
from sidemirror_server.http.door import hosts_of

REQUEST: Any = pb.ReportEventsRequest.DESCRIPTOR


@pytest.mark.parametrize(
    ("content_type", "found"),
    [
        ("application/json", ("json", False)),
        ("Application/JSON; charset=UTF-8", ("json", False)),
        ('application/connect+json;charset="utf-8"', ("json", True)),
        ("application/proto", ("proto", False)),
        ("application/json; charset=latin-1", None),
        ("application/jsonp", None),
        ("application/json, application/json", None),
        ("", None),
    ],
)
def test_content_types(content_type: str, found: tuple[str, bool] | None) -> None:
    form = form_of(content_type)
    assert (None if form is None else (form.codec, form.streams)) == found


@given(st.binary(max_size=300), st.booleans())
def test_a_frame_is_read_as_it_was_written(body: bytes, is_compressed: bool) -> None:
    assert only_frame(framed(body, is_compressed=is_compressed)) == (body, is_compressed)


@given(st.binary(max_size=60))
def test_any_bytes_are_one_message_or_refused(body: bytes) -> None:
    try:
        found, marked = only_frame(body)
    except Ended:
        return
    assert framed(found, is_compressed=marked) == body


@given(st.binary(max_size=5_000), st.integers(1, 5_000))
def test_gzip_is_read_up_to_the_limit(body: bytes, most: int) -> None:
    if len(body) <= most:
        assert decompressed(compressed(body), most) == body
    else:
        with pytest.raises(Ended):
            decompressed(compressed(body), most)


@given(st.binary(max_size=60))
def test_any_bytes_are_gzip_or_refused(body: bytes) -> None:
    with pytest.raises(Ended):
        decompressed(body, 1_000)


def test_a_bomb_is_not_unpacked() -> None:
    """Seen to fail when `decompress` gets no length."""
    bomb = gzip.compress(bytes(50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(Ended):
            decompressed(bomb, 10_000)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_gzip_that_is_cut_short() -> None:
    with pytest.raises(Ended):
        decompressed(gzip.compress(b"x" * 500)[:-4], 1_000)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["turnId", "events", "toolCalled", "name", "at", "eventId"]), inner, max_size=3
        )
    ),
    max_leaves=10,
)


@given(st.one_of(st.binary(max_size=100), JSON.map(lambda value: json.dumps(value).encode())))
def test_any_text_is_a_message_or_bad_json(body: bytes) -> None:
    """Nothing else may leave: the boundary would not know what to make of it. Seen to fail when `from_json` catches
    ParseError alone."""
    raw, wrong = b"", ""
    try:
        raw = from_json(REQUEST, body)
    except BadJson as error:
        wrong = str(error) or "nothing is said"
    assert len(wrong) <= 300
    assert wrong or from_json(REQUEST, as_json(REQUEST, raw)) == raw


def test_hosts() -> None:
    assert hosts_of("127.0.0.1:0", 81) == {"127.0.0.1:81", "localhost:81", "[::1]:81"}
    assert {"localhost", "localhost:80"} <= hosts_of("localhost:80", 80)
