-- Finding memories (memory/search.py): what is looked up, kept in step with `memories` by triggers.

-- A scope's number, and what its full text comes to: how many memories, how many of them name a task, and the terms of all.
CREATE TABLE memory_scopes (
    scope_no      INTEGER PRIMARY KEY,
    tenant_id     TEXT NOT NULL,
    project_id    TEXT NOT NULL,
    memories      INTEGER NOT NULL,
    tasks         INTEGER NOT NULL,
    content_terms INTEGER NOT NULL,
    task_terms    INTEGER NOT NULL,
    UNIQUE (tenant_id, project_id)
) STRICT;

-- The few values that every candidate is filtered and weighed by, so that a search does not read whole memories.
CREATE TABLE memory_facts (
    row_id      INTEGER PRIMARY KEY,  -- of memories
    scope_no    INTEGER NOT NULL,
    memory_id   TEXT NOT NULL,
    kind        TEXT NOT NULL,
    state       TEXT NOT NULL,
    importance  REAL NOT NULL,
    confidence  REAL,
    created_us  INTEGER NOT NULL,
    embedded_by INTEGER NOT NULL  -- the model whose vector it has (memory_models); 0 for none
) STRICT;
-- Without a text: the most important first, then the newest.
CREATE INDEX memory_facts_best ON memory_facts (scope_no, state, importance DESC, created_us DESC, row_id DESC, kind);
-- What waits for a vector, and whose vectors there are.
CREATE INDEX memory_facts_embedded ON memory_facts (scope_no, embedded_by, row_id);

-- 'g:' and a tag, 't:' and a tool, 'c:' and an error category that it applies to.
CREATE TABLE memory_labels (
    scope_no INTEGER NOT NULL,
    label    TEXT NOT NULL,
    row_id   INTEGER NOT NULL,
    PRIMARY KEY (scope_no, label, row_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_labels_of ON memory_labels (row_id);

-- Each term stands here as '<scope_no>·<term>': a search reads its own scope's entries only, and counts only those.
-- The terms are made by memory/terms.py; `ascii` parts them at blanks and leaves them as they are.
CREATE VIRTUAL TABLE memory_words USING fts5 (content, task, content = '', tokenize = 'ascii');
CREATE VIRTUAL TABLE memory_vocabulary USING fts5vocab (memory_words, 'col');

CREATE TABLE memory_models (
    model_no INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE  -- a number that was given stays given
) STRICT;

CREATE TABLE memory_vectors (
    vector_no INTEGER PRIMARY KEY AUTOINCREMENT,  -- rises: what a search keeps in memory is brought up to date by it
    row_id    INTEGER NOT NULL UNIQUE,            -- of memories
    scope_no  INTEGER NOT NULL,
    model_no  INTEGER NOT NULL,
    vector    BLOB NOT NULL                       -- float32, little-endian, of length 1
) STRICT;
CREATE INDEX memory_vectors_of ON memory_vectors (scope_no, model_no, vector_no, row_id);

CREATE TRIGGER memory_is_made AFTER INSERT ON memories
BEGIN
    INSERT INTO memory_scopes (tenant_id, project_id, memories, tasks, content_terms, task_terms)
    VALUES (new.tenant_id, new.project_id, 0, 0, 0, 0)
    ON CONFLICT (tenant_id, project_id) DO NOTHING;
    UPDATE memory_scopes
    SET memories = memories + 1,
        tasks = tasks + (new.task_terms <> ''),
        content_terms = content_terms
            + length(new.content_terms) - length(replace(new.content_terms, ' ', '')) + (new.content_terms <> ''),
        task_terms = task_terms
            + length(new.task_terms) - length(replace(new.task_terms, ' ', '')) + (new.task_terms <> '')
    WHERE tenant_id = new.tenant_id AND project_id = new.project_id;
    INSERT INTO memory_facts (row_id, scope_no, memory_id, kind, state, importance, confidence, created_us, embedded_by)
    SELECT new.row_id, scope_no, new.memory_id, new.kind, new.state, new.importance, new.confidence, new.created_us, 0
    FROM memory_scopes
    WHERE tenant_id = new.tenant_id AND project_id = new.project_id;
    INSERT INTO memory_words (rowid, content, task)
    SELECT new.row_id,
           replace(' ' || new.content_terms, ' ', ' ' || scope_no || '·'),
           replace(' ' || new.task_terms, ' ', ' ' || scope_no || '·')
    FROM memory_facts
    WHERE row_id = new.row_id;
    INSERT OR IGNORE INTO memory_labels (scope_no, label, row_id)
    SELECT facts.scope_no, labels.label, new.row_id
    FROM memory_facts AS facts
    CROSS JOIN (
        SELECT 'g:' || value AS label FROM json_each(new.tags)
        UNION ALL
        SELECT 't:' || value FROM json_each(CAST(new.body AS TEXT), '$.applies_when.tools')
        UNION ALL
        SELECT 'c:' || value FROM json_each(CAST(new.body AS TEXT), '$.applies_when.error_categories')
        UNION ALL
        SELECT 'c:' || new.error_category WHERE new.error_category <> ''
    ) AS labels
    WHERE facts.row_id = new.row_id;
END;

CREATE TRIGGER memory_is_weighed AFTER UPDATE OF state, importance, confidence ON memories
WHEN new.state IS NOT old.state OR new.importance IS NOT old.importance OR new.confidence IS NOT old.confidence
BEGIN
    UPDATE memory_facts
    SET state = new.state, importance = new.importance, confidence = new.confidence
    WHERE row_id = new.row_id;
END;

CREATE TRIGGER memory_is_labelled AFTER UPDATE OF tags, error_category, body ON memories
WHEN new.tags IS NOT old.tags OR new.error_category IS NOT old.error_category
    OR json_extract(CAST(new.body AS TEXT), '$.applies_when') IS NOT json_extract(CAST(old.body AS TEXT), '$.applies_when')
BEGIN
    DELETE FROM memory_labels WHERE row_id = new.row_id;
    INSERT OR IGNORE INTO memory_labels (scope_no, label, row_id)
    SELECT facts.scope_no, labels.label, new.row_id
    FROM memory_facts AS facts
    CROSS JOIN (
        SELECT 'g:' || value AS label FROM json_each(new.tags)
        UNION ALL
        SELECT 't:' || value FROM json_each(CAST(new.body AS TEXT), '$.applies_when.tools')
        UNION ALL
        SELECT 'c:' || value FROM json_each(CAST(new.body AS TEXT), '$.applies_when.error_categories')
        UNION ALL
        SELECT 'c:' || new.error_category WHERE new.error_category <> ''
    ) AS labels
    WHERE facts.row_id = new.row_id;
END;

-- A new text is found by its own words at once, and by meaning when it has its own vector.
CREATE TRIGGER memory_is_reworded AFTER UPDATE OF content_terms ON memories
WHEN new.content_terms IS NOT old.content_terms OR new.content IS NOT old.content
BEGIN
    UPDATE memory_scopes
    SET content_terms = content_terms
            + length(new.content_terms) - length(replace(new.content_terms, ' ', '')) + (new.content_terms <> '')
            - length(old.content_terms) + length(replace(old.content_terms, ' ', '')) - (old.content_terms <> '')
    WHERE tenant_id = new.tenant_id AND project_id = new.project_id;
    INSERT INTO memory_words (memory_words, rowid, content, task)
    SELECT 'delete',
           old.row_id,
           replace(' ' || old.content_terms, ' ', ' ' || scope_no || '·'),
           replace(' ' || old.task_terms, ' ', ' ' || scope_no || '·')
    FROM memory_facts
    WHERE row_id = old.row_id;
    INSERT INTO memory_words (rowid, content, task)
    SELECT new.row_id,
           replace(' ' || new.content_terms, ' ', ' ' || scope_no || '·'),
           replace(' ' || new.task_terms, ' ', ' ' || scope_no || '·')
    FROM memory_facts
    WHERE row_id = new.row_id;
    UPDATE memory_facts SET embedded_by = 0 WHERE row_id = new.row_id;
    DELETE FROM memory_vectors WHERE row_id = new.row_id;
END;

CREATE TRIGGER memory_is_deleted AFTER DELETE ON memories
BEGIN
    UPDATE memory_scopes
    SET memories = memories - 1,
        tasks = tasks - (old.task_terms <> ''),
        content_terms = content_terms
            - length(old.content_terms) + length(replace(old.content_terms, ' ', '')) - (old.content_terms <> ''),
        task_terms = task_terms
            - length(old.task_terms) + length(replace(old.task_terms, ' ', '')) - (old.task_terms <> '')
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id;
    INSERT INTO memory_words (memory_words, rowid, content, task)
    SELECT 'delete',
           old.row_id,
           replace(' ' || old.content_terms, ' ', ' ' || scope_no || '·'),
           replace(' ' || old.task_terms, ' ', ' ' || scope_no || '·')
    FROM memory_facts
    WHERE row_id = old.row_id;
    DELETE FROM memory_labels WHERE row_id = old.row_id;
    DELETE FROM memory_vectors WHERE row_id = old.row_id;
    DELETE FROM memory_facts WHERE row_id = old.row_id;
END;
