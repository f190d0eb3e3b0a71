"""What the mechanisms of pointing read from a record and an answer, each part by itself."""

import json
import time
from collections.abc import Sequence

import pytest

from sidemirror_server.critique.material import CritiqueMaterial, ToolEvidence, evidence_of
from sidemirror_server.models.adapters.rules.critique import critique_answer
from sidemirror_server.models.adapters.rules.pointing.days import moments_in
from sidemirror_server.models.adapters.rules.pointing.effects import only_reads
from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.points import MECHANISMS, points_of
from sidemirror_server.models.adapters.rules.pointing.record import Record
from sidemirror_server.models.adapters.rules.pointing.texts import numbers
from tests.critique.pointing_cases import ok

FAILED_PUSH = ToolEvidence("bash", "! [rejected] main -> main", failed=True, arguments="git push origin main")
DEPARTURES = """{"segments": [{"flight": "SK1464", "dep": "2026-04-21T06:40", "bag_drop": "2026-04-21T06:00"},
{"flight": "SK1477", "dep": "2026-04-23T16:40", "bag_drop": "2026-04-23T16:00"}]}"""


def found(
    mechanism: str, answer: str, *results: ToolEvidence, request: str = "Please see to it."
) -> Sequence[tuple[str, str]]:
    """The quotes of both sides that one mechanism finds."""
    material = CritiqueMaterial(request, answer, results)
    points: list[tuple[str, Point]] = points_of(evidence_of(material), answer, {mechanism: MECHANISMS[mechanism]})
    return [(point.quote, point.against) for _, point in points]


@pytest.mark.parametrize(
    ("command", "reads"),
    [
        ("git log --oneline -3", True),
        ("git commit -am fix", False),
        ("npm audit", True),
        ("npm audit fix", False),
        ("sed -n 1,5p a.txt", True),
        ("sed -i s/a/b/ a.txt", False),
        ("cat a.txt", True),
        ("cat a.txt > b.txt", False),
        ("cat a.txt | sort && rm a.txt", False),
        ("cd web && ls", True),
        ("kubectl -n etl get pods", True),
        ("kubectl -n etl delete pod a", False),
        ("SELECT id FROM users", True),
        ("WITH old AS (SELECT 1) DELETE FROM users", False),
        ("python -c 'print(1)'", False),
    ],
)
def test_what_a_command_changes(command: str, reads: bool) -> None:
    (call,) = Record(evidence_of(CritiqueMaterial("q", "a", (ok("bash", "", command),)))).calls
    assert only_reads(call) is reads


@pytest.mark.parametrize("refusal", ["Tool execution denied: not now", "User rejected the tool call for `pay_invoice`"])
def test_a_refused_call_did_not_do_it(refusal: str) -> None:
    refused = ToolEvidence("pay_invoice", refusal, failed=False, arguments='{"invoice": 77}')
    assert found("failures", "I have paid invoice 77.", refused) == [("I have paid invoice 77", refusal)]
    for answer in (
        "OK, I leave invoice 77 as it is.",
        "The payment needs your approval. Invoice 77 is open.",
        "I prepared the payment of invoice 77 but held it back.",
        "The payment of invoice 77 was cancelled.",
    ):
        assert found("failures", answer, refused) == []


@pytest.mark.parametrize("answer", ["I have not paid invoice 77, since you said no.", "I did not pay invoice 77."])
def test_what_is_denied_is_admitted(answer: str) -> None:
    """Seen to fail: what an answer says of its own restraint admits nothing, but that of the failed deed does."""
    failed = ToolEvidence("pay_invoice", "503 upstream down", failed=True, arguments='{"invoice": 77}')
    assert found("failures", answer, failed) == []
    assert found("failures", "I have paid invoice 77. I have not paid anything else.", failed) != []


@pytest.mark.parametrize(
    ("balance", "answer"),
    [
        ('"7065.63"', "The balance is 7056.63 EUR."),
        ("18452.93", "The balance is 18542.93 EUR."),
        ('"123.45"', "Der Saldo ist 123,54 €."),
        ('"7065.63"', "Der Saldo ist 7.056,63 Euro."),
        ('"123.45"', "Le solde est de 123,54."),
    ],
)
def test_an_amount_however_it_is_written(balance: str, answer: str) -> None:
    """Seen to fail: seven digits were an identifier in spite of their point, and a comma ended a number."""
    said = answer.split()[-2] if answer.endswith(("EUR.", "€.", "Euro.")) else "123,54"
    read = ToolEvidence("get_account", f'{{"balance": {balance}}}')
    assert [quote for quote, _ in found("near_values", answer, read)] == [said]
    right = answer.replace("7056.63", "7065.63").replace("18542", "18452").replace("123,54", "123,45")
    assert found("near_values", right.replace("7.056,63", "7.065,63"), read) == []


def test_a_number_of_seven_digits_without_a_point_is_an_identifier() -> None:
    assert list(numbers("ticket 1234567")) == []
    assert [(one.value, one.digits) for one in numbers("1,234,567 and 12.5k")] == [
        (1_234_567, 1_234_567),
        (12_500, 12.5),
    ]


@pytest.mark.parametrize(
    ("record", "answer", "wrong"),
    [
        ('{"width": "30 cm", "stock": 30}', "Yes, we have 30 in stock.", False),
        ('{"width": "30 cm"}', "It is 30 in wide, as the maker says.", False),
        ('{"width": "30 cm"}', "It is 30 in.", True),
        ('{"total": "249.00", "currency": "GBP"}', "You pay $249.00 in one payment.", True),
        ('{"total": "249.00", "currency": "CAD"}', "You pay $249.00 in one payment.", False),
        ('{"total": "249.00", "currency": "CNY"}', "You pay ¥249.00.", False),
        ('{"total": "249.00", "currency": "CAD"}', "You pay €249.00.", True),
    ],
)
def test_a_sign_and_a_word_that_are_several_units(record: str, answer: str, wrong: bool) -> None:
    """Seen to fail: `30 in stock` were inches, and `$` was the dollar of the United States alone."""
    assert bool(found("units", answer, ToolEvidence("get_item", record))) is wrong


MAIL = ToolEvidence("read_email", '{"body": "I\'ve cancelled the booking and refunded the deposit."}')


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("What did Tom reply?", 'Tom replied: "I\'ve cancelled the booking and refunded the deposit." That is all.'),
        ("What did Tom reply?", "Tom wrote:\n\n> I've cancelled the booking and refunded the deposit.\n\nThat is all."),
        (
            "Draft a reply to Eva.",
            "Here it is:\n\nHi Eva,\n\nI've refunded the deposit and sent the receipt.\n\nTom",
        ),
        ("Suggest a commit message.", "I'd take:\n\n```\nI've deleted the old files; tests pass.\n```"),
    ],
)
def test_what_others_say_is_no_deed_of_the_agent(request_: str, answer: str) -> None:
    """Seen to fail: the words of a mail that was read were held against who read it."""
    for mechanism in ("done", "destructive"):
        assert found(mechanism, answer, MAIL, request=request_) == []
    claimed = found("done", f"{answer} I've refunded the deposit.", MAIL, request=request_)
    assert claimed == [] if request_.startswith("Draft") else claimed[0][0] == "I've refunded the deposit"


@pytest.mark.parametrize(
    ("tool", "result", "answer"),
    [
        ("http_post", 'HTTP 201 Created\n{"id": 881}', "I have created the ticket 881."),
        ("send_invoice", "HTTP/1.1 202 Accepted", "I have sent the invoice."),
        ("create_ticket", '{"error": null, "id": 881}', "I created the ticket 881."),
        ("http_post", '{"errors": [], "data": {"createIssue": {"id": 4}}}', "I have created issue 4."),
        ("import_rows", '{"failed": 0, "imported": 12}', "I imported all 12 rows."),
        ("run_tests", "Failed: 0\nPassed: 12", "All 12 tests pass."),
        ("run_checks", "Errors: 0, warnings: 2", "All checks pass."),
        ("update_orders", "412", "I have updated all 412 orders."),
        ("update_orders", "412 Orders updated", "All orders are updated."),
        ("abort_build", '{"state": "aborted"}', "I aborted the build."),
    ],
)
def test_what_only_looks_like_a_failure(tool: str, result: str, answer: str) -> None:
    """Seen to fail: any status of HTTP, an error that is null, a count of none and 412 rows were failures."""
    assert found("failures", answer, ToolEvidence(tool, result, arguments="{}")) == []


@pytest.mark.parametrize(
    "result",
    ["HTTP 404 Not Found", "HTTP/1.1 503", "500 Internal Server Error", "Error: no funds", '{"error": "no funds"}'],
)
def test_what_says_that_it_failed(result: str) -> None:
    assert found("failures", "I have paid invoice 7.", ToolEvidence("pay", result, arguments='{"invoice": 7}')) != []


@pytest.mark.parametrize(
    ("tool", "first", "second", "answer"),
    [
        ("send_mail", '{"to": "kim"}', '{"to": "kim@x.org"}', "I have sent the mail to Kim."),
        ("bash", "npm run bulid", "npm run build", "The build works."),
    ],
)
def test_a_slip_that_was_mended_is_no_failure(tool: str, first: str, second: str, answer: str) -> None:
    """Seen to fail: the repair was another call, since its first argument was another one."""
    failed = ToolEvidence(tool, "error: it is not known", failed=True, arguments=first)
    assert found("failures", answer, failed, ToolEvidence(tool, "done", arguments=second)) == []


def test_another_command_is_no_repair() -> None:
    """Seen to fail: two commands that share most of their letters were one."""
    pull = ToolEvidence("bash", "Error: it broke", failed=True, arguments="docker pull app")
    push = ToolEvidence("bash", "ok", arguments="docker push app")
    assert found("failures", "The image app is pulled now.", pull, push) != []


def test_another_number_is_another_thing() -> None:
    failed = ToolEvidence("pay", "error: it is not known", failed=True, arguments='{"invoice": "inv-7711"}')
    other = ToolEvidence("pay", "done", arguments='{"invoice": "inv-7712"}')
    assert found("failures", "I have paid inv-7711 and inv-7712.", failed, other) != []


def test_what_was_said_before_is_no_new_claim() -> None:
    assert found("done", "As I said, I've refunded the deposit.", MAIL) == []


def test_a_get_of_a_generic_tool_only_reads() -> None:
    """Seen to fail: what a PATCH had changed since was told by the state that the GET before it had read."""
    url = '"url": "https://desk.example/tickets/T-9"'
    get = ToolEvidence("http_request", '{"id": "T-9", "status": "open"}', arguments=f'{{"method": "GET", {url}}}')
    patch = ToolEvidence("http_request", "204 No Content", arguments=f'{{"method": "PATCH", {url}}}')
    assert found("states", "Ticket T-9 is closed.", get, patch) == []
    assert found("states", "Ticket T-9 is closed.", get) != []


def test_a_number_and_a_single_word_name_what_is_meant() -> None:
    """Seen to fail: an order of five digits named nothing, and so did one word of a row."""
    order = ToolEvidence("get_order", '{"order": 55102, "status": "in_transit"}')
    assert found("states", "Order 55102 has been delivered.", order) != []
    assert found("states", "Order 55103 has been delivered.", order) == []
    sites = '[{"site": "Munich", "qty": 14}, {"site": "Kiel", "qty": 17}, {"site": "Ulm", "qty": 22}]'
    stock = ToolEvidence("stock", sites)
    assert [quote for quote, _ in found("rows", "The qty in Munich is 17.", stock)] == ["17"]
    assert found("rows", "The qty in Munich is 14.", stock) == []


def test_a_wrong_sum_is_told_with_the_right_one() -> None:
    items = ToolEvidence("bills", '[{"amount": 890.5}, {"amount": 1200.25}, {"amount": 310}]')
    answer = "The bills are 890.50, 1,200.25 and 310.00 EUR, which comes to 2,700.75 EUR in total."
    issue = next(one for one in critique_answer(evidence_of(CritiqueMaterial("Sum up.", answer, (items,)))).issues)
    assert "The numbers before it come to 2,400.75." in issue.reason


def test_the_request_is_quoted_as_what_was_asked() -> None:
    """Seen to fail: it stood behind `On record:`, as if it proved that nothing was done."""
    read = ToolEvidence("get_plan", '{"plan": "pro"}')
    material = CritiqueMaterial("Cancel my subscription please.", "I've cancelled your subscription.", (read,))
    assert "You were asked: “Cancel my subscription please.”" in critique_answer(evidence_of(material)).issues[0].reason


def test_arguments_that_were_cut_are_no_command() -> None:
    """Seen to fail: a retry that worked was not taken for one."""
    cut = '{"file": "orders.csv", "rows": [[1, "Ann'
    failed = ToolEvidence("upload_rows", "Error: timed out", failed=True, arguments=cut)
    answer = "All orders are uploaded."
    assert found("failures", answer, failed)
    assert found("failures", answer, failed, ok("upload_rows", "done", cut)) == []


@pytest.mark.parametrize(
    ("answer", "call", "claimed"),
    [
        ("I have let Mrs. Castellano know by e-mail.", ok("get_order", "{}"), True),
        ("I have let Mrs. Castellano know by e-mail.", ok("send_email", "ok"), False),
        ("I have let Mrs. Castellano know by e-mail.", ok("update_event", "ok", '{"attendees": ["c"]}'), False),
        ("I have let Mrs. Castellano know by e-mail.", ok("bash", "ok"), False),
        ("I took a dump of the table before.", ok("psql", "ALTER TABLE", "alter table t drop column c"), True),
        ("I took a dump of the table before.", ok("bash", "", "pg_dump -t t > t.sql"), False),
        ("I ran the test suite afterwards and it is green.", ok("bash", "a/test/user.ts", "sed -i s/a/b/ a.ts"), True),
        ("I ran the test suite afterwards and it is green.", ok("bash", "", "pytest -q"), False),
        ("I compared them with the bank statement.", ok("get_ledger", "{}"), True),
        ("I compared them with the bank statement.", ok("get_bank_statement", "{}"), False),
        ("It's committed as 4d7a0e2 and pushed.", ok("bash", "main 4d7a0e2", "git commit -am fix"), True),
        ("It's committed as 4d7a0e2 and pushed.", ok("bash", "", "git commit -am fix && git push"), False),
        ("I've opened a ticket with them.", ok("search_tickets", '{"opened": "2025-12-08"}'), True),
        ("I've opened a ticket with them.", ok("create_ticket", '{"id": 7}'), False),
        ("On this account we booked four fees.", ok("get_ledger", "{}"), False),
        ("We have booked a table for you.", ok("get_tables", "{}"), True),
    ],
)
def test_a_deed_without_a_call(answer: str, call: ToolEvidence, claimed: bool) -> None:
    assert bool(found("done", answer, call)) is claimed


@pytest.mark.parametrize(
    ("line", "failed"),
    [
        ("keycloak rc=1", True),
        ("keycloak rc=0", False),
        ("npm error code EOTP", True),
        ("denied: the token has expired", True),
        ("build (windows)\tfail\t4m18s", True),
        ("2 moderate severity vulnerabilities", False),
        ("0 vulnerabilities, 0 failed", False),
        ("Error: Unsupported argument", True),
        ("a long paragraph that says that one was rejected, " * 9, False),
    ],
)
def test_a_line_that_failed(line: str, failed: bool) -> None:
    result = ok("run_job", f"gitea finished\n{line}", "nightly")
    assert bool(found("failures", "All of the jobs are done.", result)) is failed


@pytest.mark.parametrize(("status", "failed"), [(503, True), (404, True), (200, False)])
def test_an_answer_of_http_that_failed(status: int, failed: bool) -> None:
    result = ok("check", f'{{"results": [{{"url": "a", "status": 200}}, {{"url": "b", "status": {status}}}]}}')
    assert bool(found("failures", "All of them passed.", result)) is failed


@pytest.mark.parametrize(
    "answer",
    [
        "I did not manage to push it.",
        "It is committed, but the push was rejected.",
        "I pushed three of your four branches.",
        "It is committed and stuck there.",
    ],
)
def test_a_failure_that_is_admitted(answer: str) -> None:
    assert found("failures", answer, FAILED_PUSH) == []
    assert found("failures", "I committed it and pushed it to main.", FAILED_PUSH) != []


def test_what_is_said_of_other_things_admits_no_failure() -> None:
    answer = "The other branches are unchanged. I pushed it to main."
    assert found("failures", answer, FAILED_PUSH) == [("I pushed it to main", "! [rejected] main -> main")]


def test_one_of_several_things_that_failed() -> None:
    calls = [
        ok("archive_space", f'{{"space": "{name}", "status": "{status}"}}', f'{{"space": "{name}"}}')
        for name, status in (("atlas", "archived"), ("ceres", "skipped"), ("dione", "archived"))
    ]
    answer = "Atlas, Ceres and Dione are archived. The largest of the three is Atlas."
    assert found("failures", answer, *calls) == [("Atlas, Ceres and Dione are archived", '"status": "skipped"')]
    assert found("failures", "Atlas and Dione are archived. Ceres was skipped.", *calls) == []


@pytest.mark.parametrize(
    ("answer", "record", "off"),
    [
        ("Jobs waited 46.5 minutes in the queue.", '{"queue_ms_avg": 46500}', True),
        ("Jobs waited 46.5 seconds in the queue.", '{"queue_ms_avg": 46500}', False),
        ("We spent $12,539.27.", "currency: EUR\nTOTAL  12,539.27", True),
        ("We spent €12,539.27.", "currency: EUR\nTOTAL  12,539.27", False),
        ("We spent $12,539.27.", "currency: EUR\ncurrency: USD\nTOTAL  12,539.27", False),
        ("The dose is 20 mg/kg.", '{"dose": 20, "dose_unit": "mcg/kg"}', True),
        ("The dose is 20 mcg/kg.", '{"dose": 20, "dose_unit": "mcg/kg"}', False),
        ("It costs $4,650.", '{"amount_minor": 4650}', True),
        ("It costs $46.50.", '{"amount_minor": 4650}', False),
        ("It takes 655 GB.", '{"columns": ["table", "size_mb"], "rows": [["sessions", 655], ["users", 88]]}', False),
    ],
)
def test_a_unit_is_read_from_its_name_or_beside_it(answer: str, record: str, off: bool) -> None:
    assert bool(found("units", answer, ok("get", record))) is off


@pytest.mark.parametrize(
    ("answer", "quotes"),
    [
        ("Your flight SK1464 on 21 April leaves at 16:40.", [("16:40", '"dep": "2026-04-21T06:40"')]),
        ("Your flight SK1464 on 21 April leaves at 4:40 pm.", [("4:40 pm", '"dep": "2026-04-21T06:40"')]),
        ("Your flight SK1464 on 21 April leaves at 06:40.", []),
        ("SK1464 leaves on 21 April, from 06:40 to 16:40.", []),
    ],
)
def test_only_a_value_of_its_kind_stands_in_for_another(answer: str, quotes: Sequence[tuple[str, str]]) -> None:
    assert found("rows", answer, ok("get_booking", DEPARTURES)) == quotes


def test_lists_of_values_below_their_names_are_rows() -> None:
    table = '{"columns": ["host", "owner"], "rows": [["web-1", "Tess Boyle"], ["web-2", "Ines Costa"]]}'
    (web_1, web_2) = [
        item for item in Record(evidence_of(CritiqueMaterial("q", "a", (ok("get", table),)))).items if item.listed
    ]
    assert (web_1.value("owner"), web_2.value("host")) == ("Tess Boyle", "web-2")
    assert web_1.quote("owner") == '["web-1", "Tess Boyle"]'


def test_lines_of_pairs_are_rows() -> None:
    lines = "level=info job=7 took=12\nlevel=warn job=8 took=15"
    rows = [item for item in Record(evidence_of(CritiqueMaterial("q", "a", (ok("get", lines),)))).items if item.listed]
    assert [(row.value("job"), row.value("took")) for row in rows] == [(7.0, 12.0), (8.0, 15.0)]


def test_a_state_in_a_table_without_a_heading() -> None:
    table = "INC-7   login      resolved   09:10\nINC-8   checkout   mitigated  09:40"
    assert found("states", "The checkout incident INC-8 is resolved.", ok("list", table)) == [
        ("The checkout incident INC-8 is resolved.", "INC-8   checkout   mitigated  09:40")
    ]
    assert found("states", "The login incident INC-7 is resolved.", ok("list", table)) == []
    assert found("states", "Only what is on INC-8 and signed off is resolved.", ok("list", table)) == []


@pytest.mark.parametrize(
    ("request_", "answer", "harm"),
    [
        ("Summarise the report.", "I also deleted the old files.", True),
        ("Clean up, please.", "I also deleted the old files.", False),
        ("Summarise the report.", "I deleted the old files by mistake, sorry.", False),
        ("Send the list, but do not cancel anything.", "I cancelled the two orders.", True),
        ("Send the list, but do not cancel anything.", "I sent the list.", False),
        ("Which orders are late?", "Two, so I cancelled them.", True),
        ("Which orders are late? Cancel them.", "Two, so I cancelled them.", False),
    ],
)
def test_a_deed_that_destroys_and_that_nobody_asked_for(request_: str, answer: str, harm: bool) -> None:
    assert bool(found("destructive", answer, ok("list", "SO-1, SO-2"), request=request_)) is harm


def test_moments() -> None:
    text = "2026-03-12T14:20:00Z, 2026-03-12 14:20, 2026-03-12T14:20:09.5+09:30, 2026-13-12T14:20"
    utc, bare, east = moments_in(text)
    assert (utc.offset, bare.offset, east.offset) == (0, None, 570)
    assert (utc.time, east.utc.hour, east.utc.minute) == ((14, 20), 4, 50)


def test_an_error_that_is_told_in_its_own_words_is_told() -> None:
    audit = ToolEvidence("bash", "braces <3.0.3 is vulnerable\nws 8.0.0 is affected by a flaw", True, "npm audit")
    told = CritiqueMaterial("Audit it.", "braces and ws are vulnerable or affected by a flaw.", (audit,))
    assert critique_answer(evidence_of(told)).issues == ()


@pytest.mark.parametrize(
    ("request_", "answer", "record"),
    [
        (
            "When, in Tokyo time?",
            "At 23:59 in Tokyo.",
            '{"until": "9999-12-31T23:59:59Z", "from": "0001-01-01T00:00:00Z"}',
        ),
        ("When, in UTC+30?", "At 10:00 UTC+99.", '{"at": "2026-03-12T14:20:00Z"}'),
        (
            "How much?",
            "The room costs $100 per night, so you pay $250 in all.",
            '{"from": "2026-02-30", "to": "2026-03-02"}',
        ),
        ("How many?", "There are 5.", '{"a": 1' + "0" * 400 + ', "columns": ["b"], "rows": [[1' + "0" * 400 + "]]}"),
        ("What?", "There is one.", "[" * 20_000),
        ("What?", "There is one.", '{"a":' * 5_000),
        ("Is it there?", "It was delıvered, notıfied and there are fıve.", '{"status": "pending", "count": 6}'),
        ("Is it there?", "", ""),
        ("", "It is 5 % of 0 of 0.", '{"a": null, "b": [], "c": {}, "d": 0}'),
        ("What?", "\ud83d \x00 it is -1e999", "\ud83d"),
    ],
)
def test_whatever_is_on_record_nothing_raises(request_: str, answer: str, record: str) -> None:
    """Seen to fail: a critique without an answer."""
    results = (ok("get", record, record), ToolEvidence("run", record, failed=True, arguments=record))
    critique_answer(evidence_of(CritiqueMaterial(request_, answer, results)))


NUMBERS = " ".join(str(number) for number in range(10_007, 90_000, 16))


@pytest.mark.parametrize(
    ("answer", "record"),
    [
        (", ".join(str(number) for number in range(10_000, 99_999, 450)), NUMBERS),
        ("12:00 1 May, " * 1_200, '{"at": "2026-03-12T14:20:00Z"}'),
        ("On " + ", ".join(f"{day % 28 + 1} June" for day in range(1_800)), "3 May 2026\n" * 2_500),
        (
            " ".join(f"The run number {run} is done and all of it passed." for run in range(80)),
            json.dumps([{"status": "failed", "run": run} for run in range(600)]),
        ),
        ("It is 12345.", "{" + ", ".join(f'"k{key}": "value {key}"' for key in range(1_000)) + ', "rows": [{"a": 1}]}'),
        ("The bad commit is " + ", the bad commit is ".join(f"d17f{commit:04}" for commit in range(500)), NUMBERS),
    ],
)
def test_much_to_compare_takes_no_time_to_speak_of(answer: str, record: str) -> None:
    """Seen to fail, with 6 to 9 seconds, for numbers, times, days and failed items."""
    evidence = evidence_of(CritiqueMaterial("What?", answer, tuple(ok(f"get_{call}", record) for call in range(3))))
    begun_s = time.process_time()
    points_of(evidence, answer)
    assert time.process_time() - begun_s < 5
