-- What models were paid (models/ledger.py).

-- Running totals of a day. An empty tenant, project or purpose stands for all of them, so that every cap has one row to
-- look at; the rows without a tenant look across scopes and hold sums only.
CREATE TABLE ledger_totals (
    tenant_id         TEXT NOT NULL,
    project_id        TEXT NOT NULL,
    day               INTEGER NOT NULL,           -- UTC, since 1970-01-01
    purpose           TEXT NOT NULL,
    calls             INTEGER NOT NULL,
    settled_tokens    INTEGER NOT NULL,
    settled_nano_usd  INTEGER NOT NULL,
    reserved_tokens   INTEGER NOT NULL,           -- not settled yet, or never
    reserved_nano_usd INTEGER NOT NULL,
    UNIQUE (tenant_id, project_id, day, purpose)
) STRICT;

-- What is not settled yet. What never is stays.
CREATE TABLE ledger_reservations (
    tenant_id      TEXT NOT NULL,
    project_id     TEXT NOT NULL,
    reservation_id TEXT NOT NULL,
    day            INTEGER NOT NULL,
    purpose        TEXT NOT NULL,
    tokens         INTEGER NOT NULL,
    nano_usd       INTEGER NOT NULL,
    lease_until_us INTEGER NOT NULL,
    UNIQUE (tenant_id, project_id, reservation_id)
) STRICT;

-- What of a day's reservations is orphaned.
CREATE INDEX ledger_orphans ON ledger_reservations (
    tenant_id, project_id, day, purpose, lease_until_us, tokens, nano_usd
);
