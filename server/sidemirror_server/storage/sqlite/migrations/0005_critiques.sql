-- Stored critiques (critique/store.py): what lists and figures go by, and the critique itself as JSON.

CREATE TABLE critiques (
    tenant_id      TEXT NOT NULL,
    project_id     TEXT NOT NULL,
    critique_id    TEXT NOT NULL,
    created_us     INTEGER NOT NULL,
    provider       TEXT NOT NULL,
    confidence_ppm INTEGER CHECK (confidence_ppm BETWEEN 0 AND 1000000),
    revise         INTEGER NOT NULL CHECK (revise IN (0, 1)),
    turn_id        TEXT NOT NULL,
    session_id     TEXT NOT NULL,
    body           BLOB NOT NULL,
    outcome        TEXT,
    score          REAL,
    reported_us    INTEGER,
    -- Whether the outcome is a success; NULL until one was reported. For the index of what is counted.
    succeeded      INTEGER CHECK (succeeded IS (outcome = 'success')),
    UNIQUE (tenant_id, project_id, critique_id)
) STRICT;

-- Lists: of a scope, of a turn, of a session.
CREATE INDEX critiques_newest ON critiques (tenant_id, project_id, created_us, critique_id);
CREATE INDEX critiques_of_turn ON critiques (tenant_id, project_id, turn_id, created_us, critique_id)
    WHERE turn_id <> '';
CREATE INDEX critiques_of_session ON critiques (tenant_id, project_id, session_id, created_us, critique_id)
    WHERE session_id <> '';

-- Figures: everything that is counted, so that the table itself is not read.
CREATE INDEX critiques_counted
    ON critiques (tenant_id, project_id, created_us, provider, confidence_ppm, revise, succeeded);
