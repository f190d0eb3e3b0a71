-- Erasure (trace/erasure.py): what every record came from, what is being erased, and what was.

-- Which record came from which source; both are keys (trace/sources.py).
CREATE TABLE sources (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    source     TEXT NOT NULL,
    record     TEXT NOT NULL,
    PRIMARY KEY (tenant_id, project_id, source, record)
) STRICT, WITHOUT ROWID;
-- A record's sources.
CREATE INDEX sources_of ON sources (tenant_id, project_id, record);

-- Erasures, without what they erased.
CREATE TABLE erasures (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    erasure_id TEXT NOT NULL,
    began_us   INTEGER NOT NULL,
    ended_us   INTEGER,
    is_again   INTEGER NOT NULL CHECK (is_again IN (0, 1)),  -- all records were put back once
    counts     TEXT NOT NULL CHECK (json_valid(counts)),     -- a JSON object
    PRIMARY KEY (tenant_id, project_id, erasure_id)
) STRICT, WITHOUT ROWID;

-- The records of an erasure that has not ended.
CREATE TABLE erasing (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    erasure_id TEXT NOT NULL,
    record     TEXT NOT NULL,
    is_left    INTEGER NOT NULL CHECK (is_left IN (0, 1)),
    PRIMARY KEY (tenant_id, project_id, erasure_id, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX erasing_left ON erasing (tenant_id, project_id, erasure_id) WHERE is_left = 1;

-- What is left of erased records. Permanent.
CREATE TABLE tombstones (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    kind       TEXT NOT NULL,
    digest     BLOB NOT NULL,
    erased_us  INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, project_id, kind, digest)
) STRICT, WITHOUT ROWID;

-- A session's receipts.
CREATE INDEX receipts_of_session ON receipts (tenant_id, project_id, session_id, receipt_id) WHERE session_id <> '';

-- What is removed in any way is nobody's record any more. Critiques of a session or a turn may stay longer than it: they
-- are about its subjects from then on.
CREATE TRIGGER session_has_no_sources AFTER DELETE ON sessions
BEGIN
    INSERT OR IGNORE INTO sources
    SELECT named.tenant_id, named.project_id, named.source, 'critique:' || critiques.critique_id
    FROM sources AS named INDEXED BY sources_of
    CROSS JOIN critiques INDEXED BY critiques_of_session
        ON critiques.tenant_id = old.tenant_id AND critiques.project_id = old.project_id
       AND critiques.session_id = old.session_id AND critiques.session_id <> ''
    WHERE named.tenant_id = old.tenant_id AND named.project_id = old.project_id AND named.record = 'session:' || old.session_id
          AND named.source >= 'subject:' AND named.source < 'subject;';
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'session:' || old.session_id;
END;
CREATE TRIGGER turn_has_no_sources AFTER DELETE ON turns
BEGIN
    INSERT OR IGNORE INTO sources
    SELECT named.tenant_id, named.project_id, named.source, 'critique:' || critiques.critique_id
    FROM sources AS named INDEXED BY sources_of
    CROSS JOIN critiques INDEXED BY critiques_of_turn
        ON critiques.tenant_id = old.tenant_id AND critiques.project_id = old.project_id
       AND critiques.turn_id = old.turn_id AND critiques.turn_id <> ''
    WHERE named.tenant_id = old.tenant_id AND named.project_id = old.project_id AND named.record = 'turn:' || old.turn_id
          AND named.source >= 'subject:' AND named.source < 'subject;';
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'turn:' || old.turn_id;
END;
CREATE TRIGGER critique_has_no_sources AFTER DELETE ON critiques
BEGIN
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'critique:' || old.critique_id;
END;
CREATE TRIGGER receipt_has_no_sources AFTER DELETE ON receipts
BEGIN
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'shown:' || old.receipt_id;
END;
CREATE TRIGGER memory_has_no_sources AFTER DELETE ON memories
BEGIN
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'memory:' || old.memory_id;
END;
CREATE TRIGGER report_has_no_sources AFTER DELETE ON jobs WHEN old.kind = 'goal_report'
BEGIN
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'goal_report:' || old.job_id;
END;
CREATE TRIGGER answer_has_no_sources AFTER DELETE ON requests
BEGIN
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id
          AND record = 'request:' || old.method || '/' || old.request_id;
END;

-- What is known of the records that are there already: the session that a memory was learned in, the memories that a
-- dreamt one rests on, and the lessons that a receipt names.
INSERT OR IGNORE INTO sources
SELECT tenant_id, project_id, 'session:' || json_extract(CAST(body AS TEXT), '$.metadata.session_id'),
       'memory:' || memory_id
FROM memories
WHERE json_type(CAST(body AS TEXT), '$.metadata.session_id') = 'text';
INSERT OR IGNORE INTO sources
SELECT tenant_id, project_id, 'memory:' || rests_on.value, 'memory:' || memory_id
FROM memories CROSS JOIN json_each(CAST(body AS TEXT), '$.derived_from') AS rests_on;
INSERT OR IGNORE INTO sources
SELECT tenant_id, project_id,
       iif(json_extract(item.value, '$.kind') = 'goal_reflection', 'goal_reflection:', 'memory:')
       || json_extract(item.value, '$.id'),
       'shown:' || receipt_id
FROM receipts CROSS JOIN json_each(CAST(body AS TEXT), '$.items') AS item;
