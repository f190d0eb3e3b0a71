-- compatible: yes
-- What models were paid (models/ledger.py).

-- Running totals of a scope by day and purpose.
CREATE TABLE sidemirror.ledger_totals (
    tenant_id         text COLLATE "C" NOT NULL,
    project_id        text COLLATE "C" NOT NULL,
    day               bigint NOT NULL,            -- UTC, since 1970-01-01
    purpose           text COLLATE "C" NOT NULL,
    calls             bigint NOT NULL,
    settled_tokens    bigint NOT NULL,
    settled_nano_usd  bigint NOT NULL,
    reserved_tokens   bigint NOT NULL,            -- not settled yet, or never
    reserved_nano_usd bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, day, purpose)
);
SELECT sidemirror.protect('sidemirror.ledger_totals');

-- What is not settled yet. What never is stays.
CREATE TABLE sidemirror.ledger_reservations (
    tenant_id      text COLLATE "C" NOT NULL,
    project_id     text COLLATE "C" NOT NULL,
    reservation_id text COLLATE "C" NOT NULL,
    day            bigint NOT NULL,
    purpose        text COLLATE "C" NOT NULL,
    tokens         bigint NOT NULL,
    nano_usd       bigint NOT NULL,
    lease_until_us bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, reservation_id)
);
SELECT sidemirror.protect('sidemirror.ledger_reservations');

-- What of a day's reservations is orphaned.
CREATE INDEX ledger_orphans ON sidemirror.ledger_reservations (tenant_id, project_id, day, purpose, lease_until_us)
INCLUDE (tokens, nano_usd);

-- What counts against caps that reach beyond one project: sums only. An empty tenant or purpose stands for all of them.
CREATE TABLE sidemirror.ledger_envelopes (
    tenant_id text COLLATE "C" NOT NULL,
    day       bigint NOT NULL,
    purpose   text COLLATE "C" NOT NULL,
    tokens    bigint NOT NULL,
    nano_usd  bigint NOT NULL,
    PRIMARY KEY (tenant_id, day, purpose)
);
