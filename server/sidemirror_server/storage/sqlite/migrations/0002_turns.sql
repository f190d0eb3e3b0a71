-- Turns, their log, and their sessions (trace/log.py, thinking/store.py).

CREATE TABLE sessions (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    body       BLOB NOT NULL,
    UNIQUE (tenant_id, project_id, session_id)
) STRICT;

-- Lists.
CREATE INDEX sessions_newest ON sessions (tenant_id, project_id, created_us, session_id);

-- The heads of turns. `last_sequence` is that of the turn's last entry: what an append is checked against.
CREATE TABLE turns (
    tenant_id     TEXT NOT NULL,
    project_id    TEXT NOT NULL,
    turn_id       TEXT NOT NULL,
    session_id    TEXT NOT NULL,
    turn_count    INTEGER NOT NULL,
    standing      TEXT NOT NULL CHECK (standing IN ('open', 'finished', 'abandoned')),
    last_sequence INTEGER NOT NULL,
    started_us    INTEGER NOT NULL,
    updated_us    INTEGER NOT NULL,
    body          BLOB NOT NULL,
    UNIQUE (tenant_id, project_id, turn_id)
) STRICT;

-- Lists of a scope, in any standing and in one; lists of a session.
CREATE INDEX turns_newest ON turns (tenant_id, project_id, started_us, turn_id);
CREATE INDEX turns_standing ON turns (tenant_id, project_id, standing, started_us, turn_id);
CREATE INDEX turns_of_session ON turns (tenant_id, project_id, session_id, started_us, turn_id, standing);

-- A session's newest turn, and how many it has.
CREATE INDEX turns_counted ON turns (tenant_id, project_id, session_id, turn_count, started_us, turn_id);

-- The envelope: which turns were left open. Looks across scopes and holds times only.
CREATE INDEX turns_idle ON turns (updated_us) WHERE standing = 'open';

-- Numbered entries of any topic. AUTOINCREMENT: a position is never given again, so a cursor never points at another
-- entry than the one it was made for.
CREATE TABLE log_entries (
    position   INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    topic      TEXT NOT NULL,
    key        TEXT NOT NULL,
    group_id   TEXT NOT NULL,
    sequence   INTEGER NOT NULL,
    at_us      INTEGER NOT NULL,
    body       BLOB NOT NULL,
    UNIQUE (tenant_id, project_id, topic, key, sequence)
) STRICT;

-- What a watch reads: the position, being the row's own number, ends every index.
CREATE INDEX log_entries_topic ON log_entries (tenant_id, project_id, topic);
CREATE INDEX log_entries_group ON log_entries (tenant_id, project_id, topic, group_id);
