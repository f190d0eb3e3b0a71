"""Which tenants' rows a role reaches: binding it, what it is told, and what becomes of sidecars that are there."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from sidemirror_server import cli
from sidemirror_server.models.ledger import Amount
from sidemirror_server.storage.postgres import ledger
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.ledger import PostgresLedger
from sidemirror_server.storage.postgres.migrate import migrate, unbound_roles
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.thinking.store import SessionRecord
from sidemirror_server.vocabulary.errors import NotPermitted, StoreRefused, StoreUnavailable
from sidemirror_server.vocabulary.ids import SessionId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from tests.faults.waiting import until
from tests.operations.test_doctor_shared import examined, wrong
from tests.postgres.databases import Databases
from tests.postgres.opening import refusal

ACME, GLOBEX = Scope("acme", "shop"), Scope("globex", "shop")
ONE = SessionId("s")
ROLES = ("bound_acme", "bound_globex", "free", "member", "taker")


@pytest.fixture
async def name(databases: Databases) -> AsyncIterator[str]:
    """A database of the test's own, with ROLES. `member` is one of bound_acme, `taker` may take both."""
    await databases.as_superuser(
        "CREATE ROLE bound_acme LOGIN; CREATE ROLE bound_globex LOGIN; CREATE ROLE free LOGIN; "
        "CREATE ROLE member LOGIN IN ROLE bound_acme; "
        "CREATE ROLE taker LOGIN NOINHERIT IN ROLE bound_acme, bound_globex"
    )
    async with databases.fresh() as fresh:
        yield fresh
    await databases.as_superuser(f"DROP ROLE {', '.join(reversed(ROLES))}")


async def bind(databases: Databases, name: str, **tenants: str) -> None:
    await migrate(databases.cluster.url("owner", name), list(tenants), 0, tenants=tenants)


async def keep(databases: Databases, name: str, role: str, scope: Scope) -> None:
    """Keeps a session and finds it, as this role."""
    database = await PostgresDatabase.open(databases.cluster.url(role, name))
    try:
        await PostgresSessions(database).create(scope, SessionRecord(SessionId(f"by {role}"), b"{}", 1, 1))
        assert await PostgresSessions(database).get(scope, SessionId(f"by {role}")) is not None
    finally:
        await database.close()


async def test_while_nothing_is_bound_every_granted_role_is_the_operators(databases: Databases, name: str) -> None:
    await migrate(databases.cluster.url("owner", name), ["free"], 0)
    for scope in (ACME, GLOBEX):
        await keep(databases, name, "free", Scope(scope.tenant_id, "free"))
    assert await unbound_roles(databases.cluster.url("owner", name)) == ()


async def test_from_the_first_binding_on_who_is_not_bound_sees_nothing(databases: Databases, name: str) -> None:
    await bind(databases, name, bound_acme="acme")
    await keep(databases, name, "bound_acme", ACME)
    await migrate(databases.cluster.url("owner", name), ["free"], 0)
    assert await unbound_roles(databases.cluster.url("owner", name)) == ("free", "sidecar")
    said = await refusal(databases.cluster.url("free", name))
    assert said.startswith(
        "role 'free' is bound to no tenant, and so sees nothing: run `sidemirror migrate --grant-to free"
    )
    await bind(databases, name, free="*")
    await keep(databases, name, "free", ACME)
    await keep(databases, name, "free", GLOBEX)


async def test_a_role_made_later_in_a_bound_one_is_bound_too(databases: Databases, name: str) -> None:
    """It is no operator's."""
    await bind(databases, name, bound_acme="acme")
    await keep(databases, name, "member", ACME)
    with pytest.raises(NotPermitted):
        await keep(databases, name, "member", GLOBEX)


async def test_a_login_without_rights_of_its_own_takes_roles(databases: Databases, name: str) -> None:
    """Its transactions run as the tenant's role, and by itself it reads no rows."""
    await bind(databases, name, bound_acme="acme", bound_globex="globex")
    await migrate(databases.cluster.url("owner", name), ["taker"], 0)
    for scope in (ACME, GLOBEX):
        await keep(databases, name, "taker", scope)
    database = await PostgresDatabase.open(databases.cluster.url("taker", name))
    try:
        for scope in (ACME, GLOBEX):
            async with database.transaction(scope) as transaction:
                row = await transaction.first("SELECT current_user, session_user")
                assert row is not None
                assert tuple(row) == (f"bound_{scope.tenant_id}", "taker")
        async with database.transaction(None) as transaction:
            assert tuple((await transaction.fetch("SELECT current_user"))[0]) == ("taker",)
        connection = await asyncpg.connect(databases.cluster.url("taker", name))
        await connection.execute(f"SET sidemirror.tenant_id = '{b'acme'.hex()}'")
        with pytest.raises(asyncpg.PostgresError, match="not bound to the tenant"):
            await connection.fetch("TABLE sidemirror.sessions")
        await connection.close()
    finally:
        await database.close()


async def test_a_sidecar_that_is_there_when_roles_are_bound(databases: Databases, name: str) -> None:
    """It does not take what it may not see for nothing: it is refused, says why, and goes on once it is bound."""
    await migrate(databases.cluster.url("owner", name), ["free"], 0)
    database = await PostgresDatabase.open(databases.cluster.url("free", name))
    sessions = PostgresSessions(database)
    try:
        await sessions.create(ACME, SessionRecord(ONE, b"{}", 1, 1))
        await bind(databases, name, bound_globex="globex")
        with pytest.raises(NotPermitted):
            await sessions.get(ACME, ONE)
        with pytest.raises(StoreRefused, match="role 'free' is bound to no tenant"):
            await sessions.get(ACME, ONE)
        assert not database.is_available()
        await bind(databases, name, free="acme")
        await until(database.is_available)
        assert await sessions.get(ACME, ONE) is not None
        with pytest.raises(NotPermitted):
            await sessions.get(GLOBEX, ONE)
        assert database.is_available()
    finally:
        await database.close()


async def test_what_a_tenant_cost_that_is_bound_meanwhile_is_left_out(
    databases: Databases, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until a new connection reaches it. Seen to fail: all costs were refused (NotPermitted)."""
    monkeypatch.setattr(ledger, "_PAGE", 1)
    await bind(databases, name, bound_acme="acme")
    await migrate(databases.cluster.url("owner", name), ["taker"], 0)
    taker = await PostgresDatabase.open(databases.cluster.url("taker", name))
    try:
        await bind(databases, name, bound_globex="globex")
        await reserve(databases, name, "bound_acme", ACME)
        await reserve(databases, name, "bound_acme", Scope("acme", "blog"))
        await reserve(databases, name, "bound_globex", GLOBEX)
        found = await PostgresLedger(taker).costs(SERVES_ALL, 0, 1, 0, 9)
        assert [one.scope for one in found] == [Scope("acme", "blog"), ACME]
    finally:
        await taker.close()


async def reserve(databases: Databases, name: str, role: str, scope: Scope) -> None:
    """Spends on the first day, as this role."""
    database = await PostgresDatabase.open(databases.cluster.url(role, name))
    try:
        await PostgresLedger(database).reserve(scope, "reflect", Amount(1, 1), {}, 30.0, 0)
    finally:
        await database.close()


async def test_a_role_has_one_tenant_and_can_get_another(databases: Databases, name: str) -> None:
    await bind(databases, name, bound_acme="acme")
    await bind(databases, name, bound_acme="globex")
    await keep(databases, name, "bound_acme", GLOBEX)
    with pytest.raises(NotPermitted):
        await keep(databases, name, "bound_acme", ACME)


async def test_a_role_that_is_gone_binds_nobody(databases: Databases, name: str) -> None:
    await databases.as_superuser("CREATE ROLE short_lived LOGIN")
    await bind(databases, name, short_lived="*", bound_acme="acme")
    await databases.as_superuser("DROP OWNED BY short_lived", name)
    await databases.as_superuser("DROP ROLE short_lived")
    await databases.as_superuser("CREATE ROLE short_lived LOGIN")
    try:
        await migrate(databases.cluster.url("owner", name), ["short_lived"], 0)
        assert "bound to no tenant" in await refusal(databases.cluster.url("short_lived", name))
        await bind(databases, name, bound_acme="acme")
        connection = await asyncpg.connect(databases.cluster.url("owner", name))
        rows = await connection.fetch("SELECT role::text, tenant_id FROM sidemirror.role_tenants")
        await connection.close()
        assert [tuple(row) for row in rows] == [("bound_acme", "acme")]
    finally:
        await databases.as_superuser("DROP OWNED BY short_lived", name)
        await databases.as_superuser("DROP ROLE short_lived")


async def test_who_may_make_roles_is_not_bound_to_a_tenant(databases: Databases, name: str) -> None:
    """Before Postgres 16 such a role may join any other."""
    await databases.as_superuser("ALTER ROLE bound_acme CREATEROLE")
    with pytest.raises(StoreUnavailable, match="could join another tenant's"):
        await bind(databases, name, bound_acme="acme")
    await bind(databases, name, bound_acme="*")


@pytest.mark.parametrize(
    ("role", "found"),
    [
        ("free", "the operator's role: it reaches every tenant"),
        ("bound_acme", "bound to tenant 'acme'"),
        ("member", "bound to tenant 'acme'"),
        ("taker", "bound to no tenant itself, takes the role of tenants 'acme', 'globex' (SET ROLE)"),
    ],
)
async def test_doctor_says_which_it_is(role: str, found: str, databases: Databases, name: str, tmp_path: Path) -> None:
    await bind(databases, name, bound_acme="acme", bound_globex="globex", free="*")
    await migrate(databases.cluster.url("owner", name), ["taker"], 0)
    examination = await examined(tmp_path, databases.cluster.url(role, name), tenant_id="acme")
    assert examination.ok
    assert found in [finding.found for finding in examination.findings]


@pytest.mark.parametrize(
    ("role", "settings", "told"),
    [
        ("bound_acme", {"tenant_id": "globex"}, {"globex": "set SIDEMIRROR_TENANT_ID=acme"}),
        ("bound_acme", {}, {"default": "set SIDEMIRROR_TENANT_ID=acme"}),
        ("bound_acme", {"tenant_id": "globex", "pin_scope": "true"}, {"globex": "set SIDEMIRROR_TENANT_ID=acme"}),
        (
            *("bound_acme", {"tenant_id": "acme", "serves": "globex/*"}),
            {"SIDEMIRROR_SERVES lists globex/*,": "set SIDEMIRROR_SERVES='acme/*'"},
        ),
        (
            *("taker", {"tenant_id": "acme", "serves": "acme/*, nobody/*, else/shop"}),
            {"SIDEMIRROR_SERVES lists else/shop, nobody/*,": "set SIDEMIRROR_SERVES='acme/*'"},
        ),
        ("taker", {}, {"default": "set SIDEMIRROR_TENANT_ID to one of its tenants ('acme', 'globex')"}),
        ("taker", {"tenant_id": "globex", "serves": "acme/*"}, {}),
        ("free", {"tenant_id": "anybody", "serves": "anybody/*, nobody/*"}, {}),
    ],
)
async def test_doctor_says_whom_the_role_does_not_reach(
    role: str, settings: dict[str, str], told: dict[str, str], databases: Databases, name: str, tmp_path: Path
) -> None:
    """Seen to fail: nothing was to be changed about settings by which every call is refused. `told`: what is said of
    it, and what helps."""
    await bind(databases, name, bound_acme="acme", bound_globex="globex", free="*")
    await migrate(databases.cluster.url("owner", name), ["taker"], 0)
    found = await wrong(tmp_path, databases.cluster.url(role, name), **settings)
    assert len(found) == len(told)
    for finding, (says, helps) in zip(found, told.items(), strict=True):
        assert says in finding.found
        assert "role does not reach" in finding.found
        assert finding.advice.startswith(helps)


async def test_doctor_says_that_a_role_is_blind(databases: Databases, name: str, tmp_path: Path) -> None:
    await bind(databases, name, bound_acme="acme")
    (finding,) = [
        one for one in (await examined(tmp_path, databases.cluster.url("sidecar", name))).findings if not one.ok
    ]
    assert finding.found.startswith("role 'sidecar' is bound to no tenant, and so sees nothing")
    assert "docs/postgres-tenants.md" in finding.advice


def test_migrate_says_what_it_changes(databases: Databases, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen to fail: `acme/*` bound a tenant of that name, and took the rows from a sidecar that served; and what a role
    was bound to before was not said."""
    name = asyncio.run(databases.create())
    asyncio.run(databases.as_superuser("CREATE ROLE team_a LOGIN; CREATE ROLE team_b LOGIN"))
    url = ["migrate", "--database-url", databases.cluster.url("owner", name)]
    both = ["--grant-to", "team_a", "--tenant", "a", "--grant-to", "team_b", "--tenant", "*"]
    assert cli.main([*url, *both]) == cli.main([*url, *both]) == 0
    assert "until now" not in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        cli.main([*url, "--grant-to", "team_a", "--tenant", "a/*"])
    assert ended.value.code == 2
    assert "--tenant: 'a/*' is no tenant: its id alone binds all its projects, 'a'" in capsys.readouterr().err
    assert cli.main([*url, "--grant-to", "team_a", "--tenant", "a/b", "--grant-to", "team_b", "--tenant", "a"]) == 0
    assert capsys.readouterr().out.splitlines()[1:3] == [
        "team_a may use it, for tenant a/b; until now it was bound to tenant a",
        "team_b may use it, for tenant a; until now it was bound to every tenant",
    ]
    asyncio.run(databases.drop(name))
    asyncio.run(databases.as_superuser("DROP ROLE team_a, team_b"))


def test_migrate_binds_and_says_so(databases: Databases, capsys: pytest.CaptureFixture[str]) -> None:
    name = asyncio.run(databases.create())
    asyncio.run(databases.as_superuser("CREATE ROLE team_a LOGIN; CREATE ROLE team_b LOGIN"))
    url = ["migrate", "--database-url", databases.cluster.url("owner", name)]
    assert cli.main([*url, "--grant-to", "team_a", "--tenant", "a", "--grant-to", "team_b", "--tenant", "*"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "the schema is up to date",
        "team_a may use it, for tenant a",
        "team_b may use it, for every tenant",
        "sidecar is bound to no tenant, and sees nothing: --grant-to sidecar --tenant TENANT, or '*' for every one",
    ]
    for misplaced in (["--tenant", "a"], ["--grant-to", "team_a", "--tenant", "a", "--tenant", "b"]):
        with pytest.raises(SystemExit) as ended:
            cli.main([*url, *misplaced])
        assert ended.value.code == 2
        assert "--tenant: comes after the --grant-to whose role it is about" in capsys.readouterr().err
    asyncio.run(databases.drop(name))
    asyncio.run(databases.as_superuser("DROP ROLE team_a, team_b"))
