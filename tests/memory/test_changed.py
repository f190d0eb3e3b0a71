"""Whether a call that fails can be changed as a recovery has it: else its sentence would be false of this call."""

import pytest

from sidemirror_server.memory.recoveries.asked import asked
from sidemirror_server.memory.recoveries.changed import can_be_made
from sidemirror_server.memory.recoveries.observation import CameFrom, Form, Move, MoveKind, ValueKind, follows

ORDER: Form = ("capitals", "hyphen", "7 digits")


def changed(*steps: str, value: ValueKind, form: Form = (), is_added: bool = False) -> Move:
    return Move(MoveKind.CHANGED, steps, True, value, CameFrom.NOWHERE, form, is_added)


@pytest.mark.parametrize(
    ("move", "arguments", "can_be"),
    [
        (changed("id", value=ValueKind.REFORMATTED, form=ORDER), '{"id": "12345"}', True),
        (changed("id", value=ValueKind.REFORMATTED, form=ORDER), '{"id": 12345}', True),
        (changed("id", value=ValueKind.REFORMATTED, form=ORDER), '{"id": "ORD-12345"}', True),
        (changed("id", value=ValueKind.REFORMATTED, form=ORDER), '{"id": "ORD-0099999"}', False),
        (changed("id", value=ValueKind.REFORMATTED, form=ORDER), '{"id": ""}', False),
        (changed("id", value=ValueKind.REFORMATTED, form=ORDER), '{"id": "latest"}', False),
        (changed("id", value=ValueKind.REFORMATTED, form=ORDER), '{"q": "12345"}', False),
        (changed("in", value=ValueKind.REFORMATTED, form=("capitals",)), '{"in": "be"}', True),
        (changed("in", value=ValueKind.REFORMATTED, form=("capitals",)), '{"in": "BE"}', False),
        (changed("n", value=ValueKind.REFORMATTED, form=("a number",)), '{"n": "7"}', True),
        (changed("n", value=ValueKind.REFORMATTED, form=("a number",)), '{"n": 7}', False),
        (changed("n", value=ValueKind.REFORMATTED, form=("a number",)), '{"n": "latest"}', False),
        (changed("n", value=ValueKind.REFORMATTED, form=("a string",)), '{"n": 7}', True),
        (changed("n", value=ValueKind.REFORMATTED, form=("a string",)), '{"n": "7"}', False),
        (changed("ids", value=ValueKind.REFORMATTED, form=("a list",)), '{"ids": "7"}', True),
        (changed("ids", value=ValueKind.REFORMATTED, form=("a list",)), '{"ids": ["7"]}', False),
        (changed("ids[]", value=ValueKind.REFORMATTED, form=("a single value",)), '{"ids": ["7"]}', True),
        (changed("ids[]", value=ValueKind.REFORMATTED, form=("a single value",)), '{"ids": ["7", "8"]}', False),
        (changed("id", value=ValueKind.REFORMATTED, form=ORDER), '{"id": "123456789"}', False),
        (changed("id", value=ValueKind.REFORMATTED, form=ORDER), '{"id": "ORD-12345-B"}', False),
        (changed("id", value=ValueKind.REFORMATTED, form=ORDER), '{"id": "12345, 12346"}', False),
        (changed("is", value=ValueKind.REFORMATTED, form=("a boolean",)), '{"is": "no"}', True),
        (changed("is", value=ValueKind.REFORMATTED, form=("a boolean",)), '{"is": 0}', True),
        (changed("is", value=ValueKind.REFORMATTED, form=("a boolean",)), '{"is": "perhaps"}', False),
        (changed("is", value=ValueKind.REFORMATTED, form=("a boolean",)), '{"is": false}', False),
        (changed("ip", value=ValueKind.REFORMATTED, form=("digits", "dot", "digits")), '{"ip": "db:99"}', False),
        (changed("ip", value=ValueKind.REFORMATTED, form=("digits", "dot", "digits")), '{"ip": "1299"}', True),
        (changed("no", value=ValueKind.REFORMATTED, form=("capitals", "2 digits") * 2), '{"no": "S3E4"}', True),
        (changed("no", value=ValueKind.REFORMATTED, form=("capitals", "2 digits") * 2), '{"no": "S03E04"}', False),
        (changed("zip", value=ValueKind.REFORMATTED, form=("5 digits",)), '{"zip": "2139"}', True),
        (changed("zip", value=ValueKind.REFORMATTED, form=("5 digits",)), '{"zip": "K1A 0B1"}', False),
        (changed("in", value=ValueKind.REFORMATTED, form=("capitals",)), '{"in": "$"}', False),
        (changed("to", value=ValueKind.REFORMATTED, form=("number sign", "small")), '{"to": "general"}', True),
        (changed("to", value=ValueKind.REFORMATTED, form=("number sign", "small")), '{"to": "C024BE91L"}', False),
        (changed("id", value=ValueKind.REFORMATTED, form=("capitals and digits",)), '{"id": "zfa04y"}', True),
        (changed("id", value=ValueKind.REFORMATTED, form=("capitals and digits",)), '{"id": "K2B9XQ"}', False),
        (changed("id", value=ValueKind.REFORMATTED, form=("small", "digits", "hyphens")), '{"id": "1A-B2"}', True),
        (changed("id", value=ValueKind.REFORMATTED, form=("small", "digits", "hyphens")), '{"id": "1a-b2"}', False),
        (changed("no", value=ValueKind.REFORMATTED, form=("trimmed digits",)), '{"no": "0012"}', True),
        (changed("no", value=ValueKind.REFORMATTED, form=("trimmed digits",)), '{"no": "12"}', False),
        (changed("on", value=ValueKind.REFORMATTED, form=("YYYY-MM-DD",)), '{"on": "3/12/2026"}', True),
        (changed("on", value=ValueKind.REFORMATTED, form=("YYYY-MM-DD",)), '{"on": "next Monday"}', True),
        (changed("on", value=ValueKind.REFORMATTED, form=("YYYY-MM-DD",)), '{"on": "2026-02-30"}', False),
        (changed("on", value=ValueKind.REFORMATTED, form=("YYYY-MM-DD",)), '{"on": null}', False),
        (changed("is", value=ValueKind.REFORMATTED, form=("small", "underscores")), '{"is": "On Hold"}', True),
        (changed("is", value=ValueKind.REFORMATTED, form=("small", "underscores")), '{"is": "Done"}', True),
        (changed("is", value=ValueKind.REFORMATTED, form=("small", "underscores")), '{"is": "inReview"}', True),
        (changed("is", value=ValueKind.REFORMATTED, form=("small", "underscores")), '{"is": "in_review"}', False),
        (changed("at", value=ValueKind.REFORMATTED, form=("capitals", "dot", "small")), '{"at": "read.me"}', True),
        (changed("at", value=ValueKind.REFORMATTED, form=("capitals", "dot", "small")), '{"at": "a/read.me"}', False),
        (changed("w", value=ValueKind.REFORMATTED, form=("a whole number",)), '{"w": 640.0}', True),
        (changed("w", value=ValueKind.REFORMATTED, form=("a whole number",)), '{"w": 640.5}', False),
        # Of another's export.
        (changed("w", value=ValueKind.REFORMATTED, form=("of what", "digits")), '{"w": "7"}', False),
        (changed("w", value=ValueKind.REFORMATTED, form=("a list", "digits")), '{"w": "7"}', True),
        (changed("old", "new", value=ValueKind.RENAMED), '{"old": 1}', True),
        (changed("old", "new", value=ValueKind.RENAMED), '{"new": 1}', False),
        (changed("old", "new", value=ValueKind.RENAMED), '{"old": 1, "new": 2}', False),
        (changed("limit", value=ValueKind.REMOVED), '{"limit": 1}', True),
        (changed("limit", value=ValueKind.REMOVED), '{"id": 1}', False),
        (changed("paged", value=ValueKind.TRUE), '{"id": 1}', True),
        (changed("paged", value=ValueKind.TRUE), '{"paged": false}', True),
        (changed("paged", value=ValueKind.TRUE), '{"paged": true}', False),
        (changed("limit", value=ValueKind.NUMBER, is_added=True), '{"id": 1}', True),
        (changed("limit", value=ValueKind.NUMBER, is_added=True), '{"limit": 1}', False),
        (changed("limit", value=ValueKind.NUMBER), '{"limit": 1}', True),
        (changed("limit", value=ValueKind.NUMBER), '{"id": 1}', False),
        (Move(MoveKind.LOOKED_UP, ("list_orders",), True), "{}", True),
    ],
)
def test_what_can_be_made_of_a_call(move: Move, arguments: str, can_be: bool) -> None:
    assert can_be_made(move, asked("get_order", arguments).values) is can_be


def test_advice_that_said_no_form_is_followed_by_any() -> None:
    """As in rows from before forms were told. Seen to fail: such advice could not be suspended."""
    said = changed("id", value=ValueKind.REFORMATTED)
    done = changed("id", value=ValueKind.REFORMATTED, form=ORDER)
    assert follows(said, done)
    assert not follows(done, said)
    assert not follows(said, changed("no", value=ValueKind.REFORMATTED, form=ORDER))
