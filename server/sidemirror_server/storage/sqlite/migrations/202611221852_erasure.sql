-- Erasure (trace/erasure.py): what every record came from, what is being erased, and what was.

-- Which record came from which source; both are keys (trace/sources.py). is_gone: the record was removed, but it is the
-- source of others, which an erasure of its own sources has to find.
CREATE TABLE sources (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    source     TEXT NOT NULL,
    record     TEXT NOT NULL,
    is_gone    INTEGER NOT NULL DEFAULT 0 CHECK (is_gone IN (0, 1)),
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

-- What is noted of a removed record stays as long as it is the source of another one: a path from a subject to what came
-- of it must not end at what was removed between. Turns, critiques and receipts name their session or turn in a column of
-- their own, and may stay longer than it: they are noted as its records from then on. connect() in
-- storage/sqlite/database.py lets the first trigger fire itself, so that a path is forgotten from its end.
CREATE TRIGGER source_of_nothing AFTER DELETE ON sources
BEGIN
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = old.source AND is_gone = 1
          AND NOT EXISTS (SELECT 1 FROM sources AS named
                          WHERE named.tenant_id = old.tenant_id AND named.project_id = old.project_id
                                AND named.source = old.source);
END;
CREATE TRIGGER session_is_gone AFTER DELETE ON sessions
BEGIN
    INSERT OR IGNORE INTO sources (tenant_id, project_id, source, record)
    SELECT tenant_id, project_id, 'session:' || old.session_id, 'turn:' || turn_id
    FROM turns INDEXED BY turns_of_session
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND session_id = old.session_id;
    INSERT OR IGNORE INTO sources (tenant_id, project_id, source, record)
    SELECT tenant_id, project_id, 'session:' || old.session_id, 'critique:' || critique_id
    FROM critiques INDEXED BY critiques_of_session
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND session_id = old.session_id AND session_id <> '';
    INSERT OR IGNORE INTO sources (tenant_id, project_id, source, record)
    SELECT tenant_id, project_id, 'session:' || old.session_id, 'receipt:' || receipt_id
    FROM receipts INDEXED BY receipts_of_session
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND session_id = old.session_id AND session_id <> '';
    UPDATE sources SET is_gone = 1
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'session:' || old.session_id
          AND EXISTS (SELECT 1 FROM sources AS named
                      WHERE named.tenant_id = old.tenant_id AND named.project_id = old.project_id
                            AND named.source = 'session:' || old.session_id);
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'session:' || old.session_id
          AND NOT EXISTS (SELECT 1 FROM sources AS named
                          WHERE named.tenant_id = old.tenant_id AND named.project_id = old.project_id
                                AND named.source = 'session:' || old.session_id);
END;
CREATE TRIGGER turn_is_gone AFTER DELETE ON turns
BEGIN
    INSERT OR IGNORE INTO sources (tenant_id, project_id, source, record)
    SELECT tenant_id, project_id, 'turn:' || old.turn_id, 'critique:' || critique_id
    FROM critiques INDEXED BY critiques_of_turn
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND turn_id = old.turn_id AND turn_id <> '';
    INSERT OR IGNORE INTO sources (tenant_id, project_id, source, record)
    SELECT tenant_id, project_id, 'turn:' || old.turn_id, 'receipt:' || receipt_id
    FROM receipts INDEXED BY receipts_of_turn
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND turn_id = old.turn_id AND turn_id <> '';
    INSERT OR IGNORE INTO sources (tenant_id, project_id, source, record)
    VALUES (old.tenant_id, old.project_id, 'session:' || old.session_id, 'turn:' || old.turn_id);
    UPDATE sources SET is_gone = 1
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'turn:' || old.turn_id
          AND EXISTS (SELECT 1 FROM sources AS named
                      WHERE named.tenant_id = old.tenant_id AND named.project_id = old.project_id
                            AND named.source = 'turn:' || old.turn_id);
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'turn:' || old.turn_id
          AND NOT EXISTS (SELECT 1 FROM sources AS named
                          WHERE named.tenant_id = old.tenant_id AND named.project_id = old.project_id
                                AND named.source = 'turn:' || old.turn_id);
END;
CREATE TRIGGER critique_is_gone AFTER DELETE ON critiques
BEGIN
    UPDATE sources SET is_gone = 1
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'critique:' || old.critique_id
          AND EXISTS (SELECT 1 FROM sources AS named
                      WHERE named.tenant_id = old.tenant_id AND named.project_id = old.project_id
                            AND named.source = 'critique:' || old.critique_id);
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'critique:' || old.critique_id
          AND NOT EXISTS (SELECT 1 FROM sources AS named
                          WHERE named.tenant_id = old.tenant_id AND named.project_id = old.project_id
                                AND named.source = 'critique:' || old.critique_id);
END;
CREATE TRIGGER memory_is_gone AFTER DELETE ON memories
BEGIN
    UPDATE sources SET is_gone = 1
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'memory:' || old.memory_id
          AND EXISTS (SELECT 1 FROM sources AS named
                      WHERE named.tenant_id = old.tenant_id AND named.project_id = old.project_id
                            AND named.source = 'memory:' || old.memory_id);
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'memory:' || old.memory_id
          AND NOT EXISTS (SELECT 1 FROM sources AS named
                          WHERE named.tenant_id = old.tenant_id AND named.project_id = old.project_id
                                AND named.source = 'memory:' || old.memory_id);
END;
CREATE TRIGGER report_is_gone AFTER DELETE ON jobs WHEN old.kind = 'goal_report'
BEGIN
    UPDATE sources SET is_gone = 1
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'goal_report:' || old.job_id
          AND EXISTS (SELECT 1 FROM sources AS named
                      WHERE named.tenant_id = old.tenant_id AND named.project_id = old.project_id
                            AND named.source = 'goal_report:' || old.job_id);
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'goal_report:' || old.job_id
          AND NOT EXISTS (SELECT 1 FROM sources AS named
                          WHERE named.tenant_id = old.tenant_id AND named.project_id = old.project_id
                                AND named.source = 'goal_report:' || old.job_id);
END;
CREATE TRIGGER receipt_is_gone AFTER DELETE ON receipts
BEGIN
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'shown:' || old.receipt_id;
    UPDATE sources SET is_gone = 1
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'receipt:' || old.receipt_id
          AND EXISTS (SELECT 1 FROM sources AS named
                      WHERE named.tenant_id = old.tenant_id AND named.project_id = old.project_id
                            AND named.source = 'receipt:' || old.receipt_id);
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'receipt:' || old.receipt_id
          AND NOT EXISTS (SELECT 1 FROM sources AS named
                          WHERE named.tenant_id = old.tenant_id AND named.project_id = old.project_id
                                AND named.source = 'receipt:' || old.receipt_id);
END;
CREATE TRIGGER answer_is_gone AFTER DELETE ON requests
BEGIN
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id
          AND record = 'request:' || old.method || '/' || old.request_id;
END;

-- What is known of the records that are there already: the session that a memory was learned in, the memories that a
-- dreamt one rests on, and the lessons that a receipt names.
INSERT OR IGNORE INTO sources (tenant_id, project_id, source, record)
SELECT tenant_id, project_id, 'session:' || json_extract(CAST(body AS TEXT), '$.metadata.session_id'),
       'memory:' || memory_id
FROM memories
WHERE json_type(CAST(body AS TEXT), '$.metadata.session_id') = 'text';
INSERT OR IGNORE INTO sources (tenant_id, project_id, source, record)
SELECT tenant_id, project_id, 'memory:' || rests_on.value, 'memory:' || memory_id
FROM memories CROSS JOIN json_each(CAST(body AS TEXT), '$.derived_from') AS rests_on;
INSERT OR IGNORE INTO sources (tenant_id, project_id, source, record)
SELECT tenant_id, project_id,
       iif(json_extract(item.value, '$.kind') = 'goal_reflection', 'goal_reflection:', 'memory:')
       || json_extract(item.value, '$.id'),
       'shown:' || receipt_id
FROM receipts CROSS JOIN json_each(CAST(body AS TEXT), '$.items') AS item;
