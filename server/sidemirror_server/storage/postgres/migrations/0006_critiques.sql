-- compatible: yes
-- Stored critiques (critique/store.py): what lists and figures go by, and the critique itself as JSON.

CREATE TABLE sidemirror.critiques (
    tenant_id      text COLLATE "C" NOT NULL,
    project_id     text COLLATE "C" NOT NULL,
    critique_id    text COLLATE "C" NOT NULL,
    created_us     bigint NOT NULL,
    provider       text COLLATE "C" NOT NULL,
    confidence_ppm bigint CHECK (confidence_ppm BETWEEN 0 AND 1000000),
    revise         boolean NOT NULL,
    turn_id        text COLLATE "C" NOT NULL,
    session_id     text COLLATE "C" NOT NULL,
    body           bytea NOT NULL,
    outcome        text,
    score          double precision,
    reported_us    bigint,
    PRIMARY KEY (tenant_id, project_id, critique_id)
);
SELECT sidemirror.protect('sidemirror.critiques');

-- Lists: of a scope, of a turn, of a session.
CREATE INDEX critiques_newest ON sidemirror.critiques (tenant_id, project_id, created_us, critique_id);
CREATE INDEX critiques_of_turn ON sidemirror.critiques (tenant_id, project_id, turn_id, created_us, critique_id)
WHERE turn_id <> '';
CREATE INDEX critiques_of_session ON sidemirror.critiques (tenant_id, project_id, session_id, created_us, critique_id)
WHERE session_id <> '';

-- Figures: everything that is counted, so that bodies are not read.
CREATE INDEX critiques_counted ON sidemirror.critiques (tenant_id, project_id, created_us)
INCLUDE (provider, confidence_ppm, revise, outcome);
