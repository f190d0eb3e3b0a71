-- Durable background work (work/queue.py).

CREATE TABLE jobs (
    position       INTEGER PRIMARY KEY,          -- in the order of putting
    tenant_id      TEXT NOT NULL,
    project_id     TEXT NOT NULL,
    job_id         TEXT NOT NULL,
    kind           TEXT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('queued', 'running', 'retrying', 'done', 'dead')),
    due_us         INTEGER,                      -- when a worker may claim it: its time, or its lease's end; NULL: never
    attempts       INTEGER NOT NULL,
    max_attempts   INTEGER NOT NULL,
    run_at_us      INTEGER NOT NULL,
    lease_until_us INTEGER,
    token          INTEGER NOT NULL,             -- rises with each claim; only the latest may write
    worker         TEXT,
    checkpoint     BLOB,
    last_error     TEXT,
    result         BLOB,
    created_us     INTEGER NOT NULL,
    updated_us     INTEGER NOT NULL,
    payload        BLOB NOT NULL,
    UNIQUE (tenant_id, project_id, job_id)
) STRICT;

-- The envelope: the two indexes that look across scopes hold times and kinds only.
CREATE INDEX jobs_due ON jobs (due_us, kind) WHERE due_us IS NOT NULL;
CREATE INDEX jobs_done ON jobs (updated_us, kind) WHERE state = 'done';

-- Lists and counts, without reading payloads.
CREATE INDEX jobs_newest ON jobs (tenant_id, project_id, kind, created_us, job_id, state);
