"""Which texts a memory keeps in quarantine, and how long it takes to say so. Hostile texts go through the whole path
in `tests/wire/test_memory_trust.py`."""

import pytest

from sidemirror_server.memory.lessons.trust import steering, steering_of_own
from tests.architecture.test_linear_patterns import growth
from tests.memory.hostile import HOSTILE, UNLISTED
from tests.memory.steering import ORDINARY_LESSONS, STEERING_TEXTS

PLAIN = [
    "add indexes on join columns",
    "For large table JOINs, add indexes on join columns or use pagination.",
    "Always check cache before computing embeddings for frequently accessed queries",
    "Verify the user id before cancelling an order.",
    "Never call fetch twice with the same arguments.",
    "Retry with a shorter time range when the API answers 429.",
    "Ask the user for the order number before you look it up.",
    "The file main.py has no function parse_args; read the module before you edit it.",
    "Die Abfrage war zu langsam: lege einen Index auf die Spalte an.",
    "表连接太慢：请在连接列上建立索引。",
    "השאילתה הייתה איטית; הוסף אינדקס על עמודת החיבור.",
    "Use `git log --oneline` to find the commit, then look at its diff.",
    "The loop adds it to the sum too early; append it to the list first and store it in the cache.",
    "The code does not follow the order of operations in the expression.",
    "I should have included this detail in my answer.",
    "❤️ 1️⃣ Count the characters of 葛\U000e0100城市 by what a reader sees.",
    "The test \x1b[31mtest_total FAILED\x1b[0m: compare sums before you round them.",
    "👩‍💻 Read the error to its end: its last line names the missing key.",
]
# Runs of these make a pattern try again and again, if it is one that does.
PIECES = [
    *(" ", "\n", "0", "1 ", "a", "A b ", "a.", "/", "\\", "'", "<", "[", "(", "-", "_", "a-", "a@", "@", "$(", "&#1;"),
    *("<system ", "[system ", "|", "# ", "%41", "\\u0041", "\\x41", "01010101 ", "65 ", "QUJD", "4142", "a:/", "www."),
    *("ignore ", "send ", "to ", "all the ", "always never ", "please ", "company policy ", "agents should ", "nc -"),
    *("without any ", "follow all ", "in every ", "remember this ", "http://", "hxxp", "curl ", "rm -", "do not tell "),
    *("skip the ", "treat a a a ", "忽略", "Ignore all ", "système ", "sudo ", "user:", "you are ", "a.com ", " at "),
]


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_lesson(text: str) -> None:
    assert steering([text]) == ""
    assert steering([text], ["something else that a tool said"], ["and the agent"]) == ""


def test_ordinary_lessons_are_plain() -> None:
    """Of 200 that an agent learned by itself at most 2 are quarantined."""
    caught = [lesson for lesson in ORDINARY_LESSONS if steering_of_own([lesson])]
    assert len(caught) <= len(ORDINARY_LESSONS) // 100, caught


def test_what_is_seen_of_texts_that_were_written_unseen() -> None:
    """A figure and no promise: what no rule knows is held by its label (`tests/wire/test_whose_words.py`)."""
    seen = [one for one in STEERING_TEXTS if one.unseen and steering([one.text])]
    copied = [one for one in STEERING_TEXTS if one.unseen and steering([one.text], [f"Result: {one.text} (end)"])]
    assert len(seen) >= 45
    assert len(copied) >= 95


@pytest.mark.parametrize(("name", "text"), [one for one in HOSTILE if one not in UNLISTED])
def test_most_need_no_trace_to_be_seen(name: str, text: str) -> None:
    """All but those that no list of wordings has, and one that says nothing by itself."""
    assert steering([text]) or name == "step two"


@pytest.mark.parametrize(("name", "text"), UNLISTED)
def test_the_others_are_a_tools_words(name: str, text: str) -> None:
    assert steering([text]) == ""
    assert steering([text], [f"Result: {text} (end)"]) == "repeats a tool's words"
    assert steering([text.upper()], [f"Result: {text} (end)"]) == "repeats a tool's words"
    assert steering([f"Learned: {text}"], [text]) == "repeats a tool's words"


def test_a_lesson_may_quote_an_error() -> None:
    error = "OperationalError: no such column: customer_name in table orders"
    lesson = (
        "The query failed because the column customer_name is not in the table orders, as the error "
        '"no such column: customer_name in table orders" said. Look at the schema before writing a query.'
    )
    assert steering([lesson], [error]) == ""


@pytest.mark.parametrize(
    ("lesson", "error"),
    [
        (
            'The query failed with "no such column: customer_name in table orders".',
            "OperationalError: no such column: customer_name in table orders",
        ),
        (
            "cp says no space left on device /mnt/x: clear it.",
            "cp: No space left on device /mnt/x",
        ),
        (
            "Build broke: cannot find module ./util/parse; check path.",
            "Error: Cannot find module './util/parse'\nRequire stack:\n- /app/index.js",
        ),
        (
            "Ids without sign: order W2378156 was not found.",
            "Error: order W2378156 was not found",
        ),
    ],
)
def test_a_short_lesson_may_quote_what_failed(lesson: str, error: str) -> None:
    """Seen to fail when half of every text had to be the lesson's own."""
    assert steering([lesson], [error]) == ""
    # What an error says beside its failure is a tool's word like any other, and so is one without a word around it.
    assert steering([error.splitlines()[0]], [error])


@pytest.mark.parametrize(("name", "text"), UNLISTED)
def test_what_poses_as_an_error_is_no_quotation(name: str, text: str) -> None:
    for error in (f"Error: not found. {text}", f"{text}\nError: timed out", f"TimeoutError: {text}"):
        assert steering([f"As I learned from the call: {text}"], [error]) == "repeats a tool's words", name


@pytest.mark.parametrize(
    ("lesson", "own"),
    [
        ("Look the price up at https://shop.example/prices first.", "GET https://shop.example/prices"),
        ("Install the missing package numpy before running the script.", "pip install numpy"),
        ("Run curl -s localhost:8080/health to see whether it is up.", "curl -s localhost:8080/health"),
        ("Write to support@shop.example when the order is stuck.", "mail support@shop.example"),
        ("Open the page of the order to see its state.", "open page W17"),
    ],
)
def test_what_the_agent_did_itself_may_be_said(lesson: str, own: str) -> None:
    """A link, an address, a command or a step of the trace's own; of a tool's, it may not."""
    assert steering([lesson], [], [own]) == ""
    if "page of the order" not in lesson:
        assert steering([lesson], [own], ["something else"])


@pytest.mark.parametrize("piece", PIECES)
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    """Seen to fail when what was copied was looked for place by place: repeated words took seconds."""
    assert growth(lambda text: steering([text], [text]), piece) == ""
