"""What a call asks for: verb, label, whether it reads, whether it hides its errors, and whether two pursue the same."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidemirror_server.memory.recoveries.asked import OTHER_TEXT, asked, look_up_of, same_intent
from sidemirror_server.memory.recoveries.reviewed_lookups import LOOKUPS


@pytest.mark.parametrize(
    ("arguments", "verb", "label"),
    [
        ("find /srv -name x", "find", "find"),
        ("cd /srv && find . -name x 2>/dev/null", "find", "find"),
        ("cd /srv && ls -la | head -5", "ls", "ls"),
        ("git status --short", "git", "git status"),
        ("git push origin main", "git", "git"),
        ("FOO=1 sudo make test", "make", "make"),
        ("/usr/bin/grep -r x .", "grep", "grep"),
        ("SELECT 1", "SELECT", "SELECT"),
        ("desc users;", "DESCRIBE", "DESCRIBE"),
        ("SHOW COLUMNS FROM users", "SHOW", "DESCRIBE"),
        ("PRAGMA table_info(users)", "PRAGMA", "PRAGMA table_info"),
        ("PRAGMA table_info('users')", "PRAGMA", "PRAGMA table_info"),
        ("SELECT name FROM pragma_table_info('users')", "SELECT", "PRAGMA table_info"),
        ("select * from pragma_table_info(users) where pk = 1;", "SELECT", "PRAGMA table_info"),
        (".tables", ".TABLES", ".tables"),
        (".schema users", ".SCHEMA", ".schema"),
        ("select name from sqlite_master where type = 'table'", "SELECT", "SELECT ... FROM sqlite_master"),
        (r"\dt", r"\DT", r"\dt"),
        (r"\dt+ public.*", r"\DT+", r"\dt"),
        (r"\d users", r"\D", r"\d"),
        (r"\l", r"\L", r"\l"),
        ("SELECT tablename FROM pg_catalog.pg_tables", "SELECT", "SELECT ... FROM pg_tables"),
        (
            "SELECT table_name FROM information_schema.tables",
            "SELECT",
            "SELECT ... FROM information_schema.tables",
        ),
        (
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'users'",
            "SELECT",
            "SELECT ... FROM information_schema.columns",
        ),
        ("execute[SHOW TABLES]", "SHOW", "SHOW TABLES"),
        ("sqlite3 shop.db .tables", "sqlite3", ".tables"),
        ("cd /srv && sqlite3 -header shop.db '.schema orders' 2>&1 | head", "sqlite3", ".schema"),
        ('sqlite3 shop.db "PRAGMA table_info(orders);"', "sqlite3", "PRAGMA table_info"),
        (r"psql -c '\d orders'", "psql", r"\d"),
        (r'PGPASSWORD=x psql "$DATABASE_URL" -At -c "\dt"', "psql", r"\dt"),
        ("mysql -uroot -psecret shop -e 'SHOW TABLES'", "mysql", "SHOW TABLES"),
        ("npm run", "npm", "npm run"),
        ("npm run biuld", "npm", "npm"),
        ("```SQL\nSHOW TABLES\n```", "SHOW", "SHOW TABLES"),
        ('{"command": "git log -3", "timeout": 10}', "git", "git log"),
        ('{"query": "show tables"}', "SHOW", "SHOW TABLES"),
        ("It seems that the file is missing.", "<text>", "<text>"),
    ],
)
def test_verb_and_label(arguments: str, verb: str, label: str) -> None:
    found = asked("run", arguments)
    assert (found.verb, found.label, found.is_json) == (verb, label, False)


@pytest.mark.parametrize(
    "command",
    [
        "find . -delete",
        "find . -exec rm {} +",
        "ls > files.txt",
        "ls; rm -rf x",
        "ls && rm x",
        "ls | xargs rm",
        "ls | sh",
        "ls | sort -uo names",
        "cat $(ls)",
        "cat `ls`",
        "cat <(curl x)",
        "git branch --list -D main",
        "kubectl get secrets",
        "kubectl get pods,secret/db",
        "SELECT pg_terminate_backend(pid) FROM pg_tables",
        "SELECT table_name FROM information_schema.tables WHERE 1 = pg_sleep(9)",
        "SELECT load_extension(name) FROM pragma_table_info('users')",
        "SELECT name FROM pragma_table_info('users') WHERE writefile('x', name)",
        "SELECT name FROM pragma_table_info('users'); DROP TABLE users",
        "EXPLAIN ANALYZE DELETE FROM users",
        "find hotels in Paris",
        "tail -f log",
        "ls\nrm x",
        "head -3 x | tee y",
        "git status & rm x",
        "SHOW TABLES; DROP TABLE users",
        "SHOW TABLES FROM shop; DROP TABLE users",
        "EXPLAIN users; DELETE FROM users",
        "SELECT * FROM users INTO OUTFILE 'x'",
        "npm run build",
        "npm run --silent",
        "sqlite3 shop.db .tables '.shell rm x'",
        "sqlite3 -cmd '.shell rm x' shop.db .tables",
        "sqlite3 shop.db .tables > names",
        "sqlite3 shop.db '.shell rm x'",
        r"psql -o names -c '\dt'",
        r"psql -f x.sql -c '\dt'",
        r"psql -c '\dt' -c 'DROP TABLE users'",
        r"psql -c '\dt; DROP TABLE users'",
        r"mysql -e 'show tables from x \! rm x'",
        "mysql -e 'show tables from $(rm x)'",
    ],
)
def test_what_might_change_something_is_no_look_up(command: str) -> None:
    found = asked("run", command)
    assert not found.reads
    assert not found.is_reviewed


@pytest.mark.parametrize("name", sorted(LOOKUPS))
def test_every_reviewed_look_up_is_recognised_and_has_a_source(name: str) -> None:
    command = {
        "DESCRIBE": "DESCRIBE users",
        "SHOW INDEX": "SHOW INDEX FROM users",
        "PRAGMA table_info": "PRAGMA table_info(users)",
    }.get(name, name.replace("...", "*"))
    found = asked("run", command)
    assert (found.label, found.reads, found.is_reviewed) == (name, True, True)
    assert LOOKUPS[name].source


@pytest.mark.parametrize(
    ("tool", "reads"),
    [
        ("get_order", True),
        ("shop__list-orders", True),
        ("shop.findUser", True),
        ("sql_db_list_tables", True),
        ("mcp__playwright__browser_snapshot", True),
        ("mcp__playwright__browser_click", False),
        ("mcp__db__sql_db_schema", True),
        ("listing_delete", False),
        ("cancel_order", False),
        ("check_in_passenger", False),
        ("getaway", False),
        ("sql_db_query", False),
    ],
)
def test_a_tool_reads_by_its_name(tool: str, reads: bool) -> None:
    assert asked(tool, "{}").reads is reads


@pytest.mark.parametrize(
    "arguments",
    [
        "grep x y 2>/dev/null",
        "make || true",
        "make || echo failed",
        "git commit --no-verify -m x",
        "curl -s -k https://x",
        "set +e; make",
        "rm --force x",
        "INSERT IGNORE INTO t VALUES (1)",
        "DROP TABLE IF EXISTS t",
        "python3 -c 'try: x()\nexcept Exception: pass'",
        '{"id": 1, "options": {"ignore_errors": true}}',
        '{"id": 1, "skip_validation": true}',
    ],
)
def test_an_error_is_hidden(arguments: str) -> None:
    assert asked("run", arguments).suppresses


@pytest.mark.parametrize("arguments", ["make test", '{"id": 1, "force_colour": false}', "SELECT a FROM b", "cat a > b"])
def test_no_error_is_hidden(arguments: str) -> None:
    assert not asked("run", arguments).suppresses


@pytest.mark.parametrize(
    ("failed", "later", "same"),
    [
        ("find /a -name b -type f", "find /a -type f", True),
        ("find /a -name b -type f", "find /a -x f", True),
        ("find /a -name b -type f", "find /a -x y", False),
        ("find /a -name b", "mkdir /a && find /a -name b", False),
        ("SELECT name FROM users", "select name from user", True),
        ("SELECT name FROM users", "SHOW TABLES", False),
        ('{"a": 1}', '{"b": 2}', True),
        ('{"a": 1}', "ls", False),
        ("sqlite3 shop.db 'SELECT * FROM orderz'", "sqlite3 shop.db .tables", False),
        ("sqlite3 shop.db 'SELECT * FROM orderz'", "sqlite3 shop.db 'SELECT * FROM orders'", True),
        ("npm run biuld", "npm run", False),
        ("npm run biuld", "npm run build", True),
        ("kubectl get pod x -n a", "kubectl get pod y -n a", True),
    ],
)
def test_same_intent(failed: str, later: str, same: bool) -> None:
    assert same_intent(asked("run", failed), asked("run", later)) is same


def test_another_tool_is_another_intent() -> None:
    assert not same_intent(asked("bash", "ls a"), asked("shell", "ls a"))


@pytest.mark.parametrize("command", ["cd /srv && find . -name x 2>/dev/null", "ls -la 2>&1 | sort | head -5"])
def test_a_look_up_may_stand_in_a_folder_be_quiet_and_be_cut(command: str) -> None:
    assert asked("run", command).is_reviewed


@pytest.mark.parametrize(
    ("arguments", "verb", "label", "values"),
    [
        ('{"sql": "SELECT * FROM orders", "limit": 5}', "SELECT", "SELECT", (("limit", "5"),)),
        ('{"project_id": "p", "query": "show tables;"}', "SHOW", "SHOW TABLES", (("project_id", '"p"'),)),
        ('{"query": "SELECT 1", "params": [7]}', "SELECT", "SELECT", (("params[]", "7"),)),
        ('{"query": "select name from customers", "max_rows": 9}', "SELECT", "SELECT", (("max_rows", "9"),)),
        ('{"query": "WITH a AS (SELECT 1) SELECT * FROM a", "n": 1}', "WITH", "WITH", (("n", "1"),)),
        ('{"query": "update orders set paid = 1", "n": 1}', "UPDATE", "UPDATE", (("n", "1"),)),
        ('{"query": "DESCRIBE shop.orders", "n": 1}', "DESCRIBE", "DESCRIBE", (("n", "1"),)),
        ('{"Sql": "SELEC", "statement": "DROP TABLE a", "n": 1}', "DROP", "DROP", (("Sql", '"SELEC"'), ("n", "1"))),
        ('{"sql_query": "SELECT FROM", "sqlQuery": 1}', "SELECT", "SELECT", (("sqlQuery", "1"),)),
        ('{"sql": "SELECT 1", "database": "shop"}', "SELECT", "SELECT", (("database", '"shop"'),)),
        ('{"sql": "SELECT 1", "thought": "Count.", "limit": 5}', "SELECT", "SELECT", (("limit", "5"),)),
    ],
)
def test_a_statement_may_have_arguments_beside_it(
    arguments: str, verb: str, label: str, values: tuple[tuple[str, str], ...]
) -> None:
    found = asked("run", arguments)
    assert (found.verb, found.label, found.is_json, found.values) == (verb, label, False, values)


@pytest.mark.parametrize(
    "query",
    [
        "show me hotels in Paris",
        "update on the strike",
        "set theory for beginners",
        "use of force",
        "describe the weather in Oslo",
        "call me maybe lyrics",
        "with whom did she sing",
        "select committee",
        "create a table of contents",
        "explain quantum physics",
        "insert coin game",
    ],
)
def test_a_question_with_a_limit_is_no_statement(query: str) -> None:
    assert asked("search", json.dumps({"query": query, "limit": 5})).is_json


def test_what_hides_errors_may_stand_beside_a_statement() -> None:
    assert asked("run", '{"sql": "SELECT 1", "ignore_errors": true}').suppresses
    assert not asked("run", '{"sql": "SELECT 1", "ignore_errors": false}').suppresses


@pytest.mark.parametrize(
    "arguments",
    [
        '{"command": "view", "path": "a.py"}',
        '{"path": "a.sql", "text": "DROP TABLE a"}',
        '{"query": "find hotels"}',
        '{"query": "ls"}',
        '{"sql": 1}',
    ],
)
def test_a_text_that_is_no_command_is_an_argument(arguments: str) -> None:
    found = asked("tool", arguments)
    assert (found.is_json, found.label) == (True, "tool")


_PARTS = st.sampled_from(
    (
        *(
            "cd /srv",
            " && ",
            "||",
            "|",
            ";",
            "ls -la",
            "git status",
            "FOO=1 ",
            "sudo ",
            "head -5",
            "2>/dev/null",
            "grep x .",
        ),
        *(
            "SHOW TABLES",
            "select a from b",
            ".tables",
            r"\\dt",
            "psql -c '\\\\dt'",
            "sqlite3 shop.db .schema",
            "```sql\n",
            "rm",
        ),
    )
)


@given(
    st.sampled_from(("bash", "get_order", "mcp__shop__list_things", "write_file")),
    st.lists(_PARTS, max_size=8).map("".join),
    st.sampled_from(("{}", '{{"command": "{}"}}', '{{"query": "{}", "limit": 5}}', '{{"id": "{}"}}')),
)
def test_the_look_up_alone_is_what_the_whole_call_has(tool: str, text: str, form: str) -> None:
    arguments = form.format(text)
    whole = asked(tool, arguments)
    assert look_up_of(tool, arguments) == (whole.label if whole.reads else "")


def test_a_key_that_is_data_is_not_kept() -> None:
    found = asked("book", '{"mia@a.example": 1, "card_4421": {"b": 2}}')
    assert found.values == (("?", "1"), ("?.b", "2"))


@pytest.mark.parametrize("text", ["mia_li_3668", "antic", "example.com is down", "./deploy-to-acme.sh now", ".mia_li"])
def test_a_word_that_is_no_known_program_is_not_kept(text: str) -> None:
    assert asked("lookup", text).label == OTHER_TEXT


def test_long_arguments_are_compared_and_not_read() -> None:
    one, other = (asked("write", f'{{"path": "a", "text": "{"x" * 20_000}{end}"}}') for end in "ab")
    assert one.is_json
    assert [path for path, _ in one.values] == ["?"]
    assert len(one.values[0][1]) == 32
    assert one.values != other.values


def test_leaves_have_paths_without_places() -> None:
    found = asked("book", json.dumps({"a": [{"b": 1}, {"b": "x"}], "c": {}, "d": None}))
    assert found.values == (("a[].b", '"x"'), ("a[].b", "1"), ("c", "{}"), ("d", "null"))


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a":' * 900 + "1" + "}" * 900,
        "curl " * 20_000,
        "```" * 9_000,
        "cd a && " * 5_000,
        "select from " * 5_000,
        "[" * 50_000,
    ],
)
def test_hostile_arguments_take_no_time(arguments: str) -> None:
    begun_s = time.process_time()
    asked("run", arguments)
    assert time.process_time() - begun_s < 1.0
