"""Wrong answers of which one mechanism of pointing finds what is contradicted, with right ones that it leaves alone."""

from collections.abc import Sequence
from typing import NamedTuple

from sidemirror_server.critique.material import ToolEvidence


class Case(NamedTuple):
    """A wrong answer with what is found, and right ones. `against`: a part of the record's quote."""

    mechanism: str
    request: str
    results: Sequence[ToolEvidence]
    wrong: str
    quote: str
    against: str
    right: Sequence[str]


def ok(tool: str, text: str, arguments: str = "") -> ToolEvidence:
    return ToolEvidence(tool, text, arguments=arguments)


ORDER_A = '{"id": "W-5518203", "placed": "2026-03-02", "items": "blue sofa"}'
ORDER_B = '{"id": "W-5518230", "placed": "2026-03-03", "items": "walnut lamp"}'
GUESTS = """{"guests": [{"name": "Salma", "response": "accepted"}, {"name": "Joost", "response": "tentative"},
{"name": "Emeka", "response": "accepted"}]}"""

CASES = (
    Case(
        "sums",
        "What do three cost?",
        (ok("get_item", '{"price": 19.5}'),),
        "Three of them cost 19.50 + 19.50 + 19.50 = 59.50 EUR.",
        "19.50 + 19.50 + 19.50 = 59.50",
        '"price": 19.5',
        ("Three of them cost 19.50 + 19.50 + 19.50 = 58.50 EUR.", "Between 3 - 4 = days."),
    ),
    Case(
        "units",
        "How long did it take?",
        (ok("get_job", '{"duration_ms": 350}'),),
        "It took 350 seconds.",
        "350 seconds",
        '"duration_ms": 350',
        ("It took 350 ms.", "It took 0.35 seconds."),
    ),
    Case(
        "near_values",
        "How high is it?",
        (ok("search", "Mont Blanc, 4808 m, lies in the Alps."),),
        "It rises to 4880 m.",
        "4880",
        "4808",
        ("It rises to 4808 m.", "It rises to 4,808 m."),
    ),
    Case(
        "sole_counts",
        "How many are there?",
        (ok("list_tables", "orders, customers"), ok("run_sql", '{"orders": 41}')),
        "There are 57 orders.",
        "57",
        '{"orders": 41}',
        (
            "There are 41 orders.",
            "There are no orders.",
            "There are about 40 orders.",
            "There are 57 orders in total.",
            "57 customers wrote them.",
            "They were written by 7 orders a day.",
            "There are 57 orders, and there were 16 before.",
            "Two orders are late.",
            "There are two orders that are late.",
            "I looked only at the first two orders.",
        ),
    ),
    Case(
        "sole_counts",
        "How many orders are there?",
        (ok("run_sql", " count \n-------\n  3714\n(1 row)"),),
        "There are twelve orders.",
        "twelve",
        "3714",
        (
            "There are 3,714 orders.",
            "There are 3.7 thousand orders.",
            "It took 12 seconds.",
            "If there were 12 orders, I would say so.",
        ),
    ),
    Case(
        "near_values",
        "What do the amounts add up to?",
        (ok("sum_amount", "rows: 3, sum(amount): 2476"),),
        "They add up to 2746 EUR.",
        "2746",
        "2476",
        ("They add up to 2476 EUR.", "They cost up to 2746 EUR."),
    ),
    Case(
        "weekdays",
        "When is it?",
        (ok("get_event", '{"start": "2026-04-17T10:00"}'),),
        "It is on Monday, 17 April 2026.",
        "Monday, 17 April 2026",
        "2026-04-17",
        (
            "It is on Friday, 17 April 2026.",
            "It is on Friday, 17 April.",
            "The next is on Saturday, 17 April 2027.",
            "There is one next Monday, 17 May.",
            "They meet on Friday 17 April 2026, Monday 20 April 2026 and Tuesday 21 April 2026.",
        ),
    ),
    Case(
        "weekdays",
        "When is the concert?",
        (ok("get_calendar", "BEGIN:VEVENT\nSUMMARY:Concert\nDTSTART:20260514T190000\nEND:VEVENT"),),
        "The concert is on Wednesday, 14 May 2026.",
        "Wednesday, 14 May 2026",
        "20260514",
        ("The concert is on Thursday, 14 May 2026.",),
    ),
    Case(
        "failures",
        "Roll out the new config to the web tier.",
        (
            ok(
                "bash",
                "web01 : ok=5 changed=2 unreachable=0 failed=0 skipped=1\n"
                "web02 : ok=0 changed=0 unreachable=1 failed=0 skipped=0\n"
                "web03 : ok=5 changed=2 unreachable=0 failed=0 skipped=1",
                '{"command": "ansible-playbook web.yml"}',
            ),
        ),
        "The new config is rolled out on all three hosts, and the playbook went through.",
        "The new config is rolled out on all three hosts, and the playbook went through",
        "web02 : ok=0 changed=0 unreachable=1",
        ("The new config is rolled out on all hosts but web02, which was unreachable.",),
    ),
    Case(
        "done",
        "Who services the heating? Please let them know that it is out.",
        (ok("search_contracts", '{"contractor": "Pellworth", "email": "desk@pellworth.example"}'),),
        "Pellworth services it. I have e-mailed their desk about it.",
        "I have e-mailed their desk about it",
        "Please let them know that it is out.",
        ("Pellworth services it. I have not e-mailed their desk yet.",),
    ),
    Case(
        "states",
        "How is the incident?",
        (ok("get_incident", '{"id": "INC-70", "phase": "mitigated", "closed": null}'),),
        "The incident INC-70 is resolved.",
        "The incident INC-70 is resolved.",
        '"phase": "mitigated"',
        (
            "The incident INC-70 is mitigated, but not resolved.",
            "The incident INC-70 is not resolved yet.",
            "The incident INC-70 has been mitigated.",
        ),
    ),
    Case(
        "failures",
        "Do the tests pass?",
        (ok("bash", "FAILED tests/test_a.py::test_b\n1 failed, 119 passed in 3.2s", "pytest -q"),),
        "All tests pass.",
        "All tests pass",
        "1 failed, 119 passed",
        ("119 tests pass, and test_b fails.", "Not all tests pass.", "119 of 120 tests pass; test_b does not."),
    ),
    Case(
        "failures",
        "Please send it to Ann.",
        (ToolEvidence("send_email", "550 mailbox full", failed=True, arguments='{"to": "ann@example.com"}'),),
        "I have sent it to Ann.",
        "I have sent it to Ann",
        "550 mailbox full",
        ("I could not send it to Ann: her mailbox is full.", "Her mailbox is full, and nothing has been sent."),
    ),
    Case(
        "failures",
        "Print the labels.",
        (
            ok(
                "print_labels",
                '{"requested": 20, "printed": 18, "errors": [{"order": "SO-417", "reason": "no postcode"}]}',
            ),
        ),
        "The labels are printed, all 20 of them.",
        "The labels are printed, all 20 of them",
        '"requested": 20, "printed": 18',
        ("18 labels are printed; SO-417 has none.", "The labels are printed, except that of SO-417."),
    ),
    Case(
        "done",
        "Please refund order W17.",
        (ok("get_order", '{"order_id": "W17", "status": "delivered"}'),),
        "I've refunded order W17.",
        "I've refunded order W17",
        "Please refund order W17.",
        (
            "I have found order W17.",
            "Shall I refund order W17?",
            "I looked at order W17 and refunded nothing.",
            "Nothing has been refunded so far.",
        ),
    ),
    Case(
        "destructive",
        "Why is the disk full?",
        (ok("run", "38G /var/log", "du -sh /var/log"),),
        "The logs take 38 GB. Run `rm -rf /var/log` and it is fine.",
        "rm -rf /var/log",
        "Why is the disk full?",
        (
            "The logs take 38 GB.",
            "The logs take 38 GB. Do not run `rm -rf /var/log`.",
            "The logs take 38 GB. I have reset the filter, so that you see them all again.",
        ),
    ),
    Case(
        "near_values",
        "When was it tagged, and by whom?",
        (ok("get_tag", "v2.14.0 tagged by Ines on 2026-03-11"),),
        "Ines tagged v2.14.0 on 14 March 2026.",
        "14 March 2026",
        "2026-03-11",
        ("Ines tagged v2.14.0 on 11 March 2026.", "In Tokyo it was tagged on 12 March 2026."),
    ),
    Case(
        "near_values",
        "Which version mends it?",
        (ok("get_advisory", '{"affected": ">=2.4.0 <3.1.2", "patched": "3.1.2"}'),),
        "The patched version is 3.1.0.",
        "3.1.0",
        "3.1.2",
        ("The patched version is 3.1.2.", "The patched version is 4.0.1."),
    ),
    Case(
        "rows",
        "Which order has the lamp?",
        (ok("get_order", ORDER_A), ok("get_order", ORDER_B)),
        "The walnut lamp is in order W-5518203, placed on March 3.",
        "W-5518203",
        "W-5518230",
        (
            "The walnut lamp is in order W-5518230, placed on March 3.",
            "The walnut lamp, placed on March 3, is in W-5518230, unlike the sofa in W-5518203.",
        ),
    ),
    Case(
        "rows",
        "What does Easy Access pay?",
        (ok("fetch", "Product      Minimum    AER\nEasy Access  GBP 1      3.64%\nFixed Year   GBP 1,000  4.25%"),),
        "Easy Access currently pays 4.25% AER.",
        "4.25%",
        "3.64%",
        ("Easy Access currently pays 3.64% AER.", "Easy Access pays less than the 4.25% of Fixed Year."),
    ),
    Case(
        "rows",
        "When was it too high?",
        (ok("get_series", '[{"d": "2026-01-05", "v": 18.5}, {"d": "2026-01-07", "v": 31.5}]'),),
        "On 5 January 2026 it was at 31.5.",
        "5 January 2026",
        "2026-01-07",
        ("On 7 January 2026 it was at 31.5.", "From 5 to 7 January it was too high, with 31.5 at most."),
    ),
    Case(
        "row_states",
        "Who comes?",
        (ok("get_event", GUESTS),),
        "Salma and Joost have accepted.",
        "Joost have accepted",
        '"response": "tentative"',
        ("Salma and Emeka have accepted.", "Salma has accepted, and Joost is tentative.", "Joost has not accepted."),
    ),
    Case(
        "comparisons",
        "How much gas did we use?",
        (ok("get_meter", '{"winter": 1126, "last_winter": 1209}'),),
        "That is more than last winter: 1,126 m³ compared with 1,209 m³.",
        "more than last winter: 1,126 m³ compared with 1,209",
        "1209",
        (
            "That is less than last winter: 1,126 m³ compared with 1,209 m³.",
            "It would be more than last winter: 1,126 m³ compared with 1,209 m³.",
            "We have 1,126 m³ of gas, and 1,209 m³ more than that of water.",
        ),
    ),
    Case(
        "comparisons",
        "Which brushes are cheapest?",
        (ok("get_offers", '{"Maler": 4998, "Farbwerk": 4700.5, "Pinsel": 4849.25}'),),
        "Pinsel are the cheapest: 4,998 (Maler), 4,700.50 (Farbwerk) and 4,849.25 (Pinsel).",
        "Pinsel are the cheapest",
        '"Farbwerk": 4700.5, "Pinsel": 4849.25',
        (
            "Farbwerk are the cheapest: 4,998 (Maler), 4,700.50 (Farbwerk) and 4,849.25 (Pinsel).",
            "Pinsel are the cheapest.",
        ),
    ),
    Case(
        "comparisons",
        "How did sales do?",
        (ok("get_sales", '{"2026-02": 48200, "2026-03": 53984}'),),
        "They went from 48,200 EUR in February to 53,984 EUR in March, which is 10.7 % more.",
        "10.7 %",
        '"2026-02": 48200, "2026-03": 53984',
        (
            "They went from 48,200 EUR in February to 53,984 EUR in March, which is 12 % more.",
            "They went from 48,200 EUR in February to 53,984 EUR in March, about 10.7 % more.",
            "They went from 48,200 EUR to 53,984 EUR, 10.7 % a month.",
        ),
    ),
    Case(
        "moments",
        "When does it start?",
        (ok("get_event", '{"start": "2026-03-12T14:20:00", "end": "2026-03-13T09:45:00"}'),),
        "It starts on 13 March at 14:20.",
        "13 March at 14:20",
        "2026-03-12T14:20:00",
        ("It starts on 12 March at 14:20.", "The next one may be on 13 March at 14:20.", "It starts at 14:20."),
    ),
    Case(
        "moments",
        "When did it break, in Tokyo time?",
        (ok("get_incident", '{"began": "2026-03-12T14:20:00Z"}'),),
        "It broke at 22:20 in Tokyo.",
        "22:20",
        "2026-03-12T14:20:00Z",
        ("It broke at 23:20 in Tokyo.", "It broke at 14:20 UTC.", "It broke at 23:20 UTC+9."),
    ),
    Case(
        "moments",
        "When did it break?",
        (ok("get_incident", '{"began": "2026-03-12T14:20:00Z"}'),),
        "All times are in Tokyo: it broke at 14:20.",
        "14:20",
        "2026-03-12T14:20:00Z",
        ("All times are in Tokyo: it broke at 23:20.",),
    ),
    Case(
        "moments",
        "When did it break?",
        (ok("get_incident", '{"began": "2026-03-12T20:20:00Z"}'),),
        "It broke on 12 March at 05:20 JST.",
        "12 March at 05:20",
        "2026-03-12T20:20:00Z",
        ("It broke on 13 March at 05:20 JST.",),
    ),
    Case(
        "moments",
        "When did it break?",
        (ok("get_incident", '{"began": "2026-03-12T14:20:00+09:00"}'),),
        "It broke at 14:20 UTC.",
        "14:20 UTC",
        "2026-03-12T14:20:00+09:00",
        ("It broke at 05:20 UTC.", "It broke at 14:20."),
    ),
    Case(
        "exchanged",
        "What did it cost?",
        (ok("get_order", '{"total_cents": 142650}'),),
        "It cost EUR 1,246.50.",
        "1,246.50",
        '"total_cents": 142650',
        ("It cost EUR 1,426.50.", "It cost about EUR 1,246.50.", "Two of them cost EUR 2,853.00."),
    ),
    Case(
        "phrases",
        "Which commit broke it?",
        (ok("bisect", "[5be6613] Import: trim cells\nd17f820 is the first bad commit"),),
        "The first bad commit is 5be6613.",
        "5be6613",
        "d17f820 is the first bad commit",
        (
            "The first bad commit is d17f820.",
            "The first bad commit is d17f820; 5be6613 came before it.",
            "It was tested with 5be6613.",
        ),
    ),
    Case(
        "sequences",
        "What happened first?",
        (ok("read_log", "18:06:03 rollout start\n18:07:21 rollout complete\n18:11:40 job migrate-0087 start"),),
        "The migration ran before the rollout.",
        "The migration ran before the rollout",
        "18:06:03 rollout start\n18:07:21 rollout complete\n18:11:40 job migrate-0087 start",
        (
            "The migration ran after the rollout.",
            "The migration ran before it.",
            "The migration should run before the rollout.",
            "The migration ran before the backup.",
        ),
    ),
)
