-- Dreaming and what is removed when it is old (memory/dreams.py, memory/pruning.py).

-- A project that has memories: how many passes there were, when the last one ended, how many of the last ones in a row
-- changed nothing, and until when it is left alone. Looks across scopes and holds numbers and times only.
CREATE TABLE memory_projects (
    tenant_id     TEXT NOT NULL,
    project_id    TEXT NOT NULL,
    dreams        INTEGER NOT NULL,
    idle_dreams   INTEGER NOT NULL,
    ended_us      INTEGER NOT NULL,
    rest_until_us INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, project_id)
) STRICT, WITHOUT ROWID;

-- Reflections that no pass has read. Looks across scopes and holds ids and times only.
CREATE TABLE dream_unread (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    memory_id  TEXT NOT NULL,
    PRIMARY KEY (tenant_id, project_id, created_us, memory_id)
) STRICT, WITHOUT ROWID;

-- What passes came to. Permanent.
CREATE TABLE dream_log (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    number     INTEGER NOT NULL,
    dream_id   TEXT NOT NULL,
    body       BLOB NOT NULL,
    PRIMARY KEY (tenant_id, project_id, number)
) STRICT, WITHOUT ROWID;

-- What was removed because it was old. Permanent.
CREATE TABLE pruning_log (
    pruning_no       INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id        TEXT NOT NULL,
    project_id       TEXT NOT NULL,
    kind             TEXT NOT NULL CHECK (kind IN ('memories', 'turns')),
    count            INTEGER NOT NULL,
    pruned_us        INTEGER NOT NULL,
    before_us        INTEGER NOT NULL,
    importance_below REAL
) STRICT;
CREATE INDEX pruning_log_newest ON pruning_log (tenant_id, project_id);

-- The envelopes: which memories may be old and unimportant, and which turns ended when.
CREATE INDEX memories_unimportant ON memories (importance, updated_us) WHERE state <> 'retired';
CREATE INDEX turns_ended ON turns (updated_us) WHERE standing <> 'open';

CREATE TRIGGER memory_is_unread AFTER INSERT ON memories
BEGIN
    INSERT OR IGNORE INTO memory_projects VALUES (new.tenant_id, new.project_id, 0, 0, 0, 0);
    INSERT OR IGNORE INTO dream_unread
    SELECT new.tenant_id, new.project_id, new.created_us, new.memory_id
    WHERE new.kind = 'reflection' AND json_extract(CAST(new.body AS TEXT), '$.derived_from[0]') IS NULL;
END;

CREATE TRIGGER memory_is_not_to_be_read AFTER DELETE ON memories
BEGIN
    DELETE FROM dream_unread
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND created_us = old.created_us
          AND memory_id = old.memory_id;
END;

-- What is there already has been read by nobody.
INSERT INTO memory_projects SELECT DISTINCT tenant_id, project_id, 0, 0, 0, 0 FROM memories;
INSERT INTO dream_unread
SELECT tenant_id, project_id, created_us, memory_id FROM memories WHERE kind = 'reflection';
