-- Memories (memory/store.py): a memory as it is now, what it was before, and what it is recognised by.

CREATE TABLE memories (
    row_id         INTEGER PRIMARY KEY,  -- for indexes of texts
    tenant_id      TEXT NOT NULL,
    project_id     TEXT NOT NULL,
    memory_id      TEXT NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('reflection', 'strategy')),
    state          TEXT NOT NULL CHECK (state IN ('active', 'quarantined', 'retired')),
    source         TEXT NOT NULL,
    layer          TEXT NOT NULL,
    importance     REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
    confidence     REAL CHECK (confidence BETWEEN 0 AND 1),
    origin         INTEGER NOT NULL,
    error_category TEXT NOT NULL,
    tags           TEXT NOT NULL CHECK (json_valid(tags)),  -- a JSON list
    version        INTEGER NOT NULL CHECK (version >= 1),
    strength       INTEGER NOT NULL CHECK (strength >= 1),
    created_us     INTEGER NOT NULL,
    updated_us     INTEGER NOT NULL,
    content        TEXT NOT NULL,
    task_text      TEXT NOT NULL,
    content_terms  TEXT NOT NULL,        -- memory/terms.py
    task_terms     TEXT NOT NULL,
    body           BLOB NOT NULL,        -- everything but the two texts, as JSON
    UNIQUE (tenant_id, project_id, memory_id)
) STRICT;

-- Lists: of a scope, and in one state.
CREATE INDEX memories_newest ON memories (tenant_id, project_id, created_us, memory_id, kind);
CREATE INDEX memories_in_state ON memories (tenant_id, project_id, state, created_us, memory_id, kind);

CREATE TABLE memory_versions (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    memory_id  TEXT NOT NULL,
    version    INTEGER NOT NULL,
    content    TEXT NOT NULL,
    task_text  TEXT NOT NULL,
    body       BLOB NOT NULL,
    UNIQUE (tenant_id, project_id, memory_id, version)
) STRICT;

-- Texts ('t:…') and episodes ('e:…') by which a memory is known when it is learned once more.
CREATE TABLE memory_keys (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    kind       TEXT NOT NULL,
    known_by   TEXT NOT NULL,
    memory_id  TEXT NOT NULL,
    PRIMARY KEY (tenant_id, project_id, kind, known_by, memory_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_keys_of ON memory_keys (tenant_id, project_id, memory_id);

-- What a write came to, so that a repeated one finds it.
CREATE TABLE memory_lessons (
    tenant_id     TEXT NOT NULL,
    project_id    TEXT NOT NULL,
    lesson_id     TEXT NOT NULL,
    reflection_id TEXT NOT NULL,
    strategy_id   TEXT NOT NULL,
    learned_us    INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, project_id, lesson_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_lessons_old ON memory_lessons (tenant_id, project_id, learned_us);

-- What became of the tasks that receipts were issued for.
CREATE TABLE memory_outcomes (
    tenant_id      TEXT NOT NULL,
    project_id     TEXT NOT NULL,
    receipt_id     TEXT NOT NULL,
    outcome        TEXT NOT NULL,
    reported_us    INTEGER NOT NULL,
    score          REAL CHECK (score BETWEEN 0 AND 1),
    error_category TEXT NOT NULL,
    PRIMARY KEY (tenant_id, project_id, receipt_id)
) STRICT, WITHOUT ROWID;
