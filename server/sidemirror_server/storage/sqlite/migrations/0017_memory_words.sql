-- Memories are written and found with less work (memory_rows.py, memory_lookup.py). What a new memory is found by is kept
-- by the statements that keep it: within a trigger FTS5 wrote a segment of its own for each memory. How long its texts
-- are stands with its facts: FTS5 looked it up apart for each candidate (`columnsize = 0`: it keeps none).

DROP TRIGGER memory_is_made;

ALTER TABLE memory_facts ADD COLUMN terms INTEGER NOT NULL DEFAULT 0;  -- of content and task together
UPDATE memory_facts
SET terms = (
    SELECT length(content_terms) - length(replace(content_terms, ' ', '')) + (content_terms <> '')
         + length(task_terms) - length(replace(task_terms, ' ', '')) + (task_terms <> '')
    FROM memories
    WHERE memories.row_id = memory_facts.row_id
);

DROP TABLE memory_vocabulary;
DROP TABLE memory_words;
CREATE VIRTUAL TABLE memory_words
USING fts5 (content, task, content = '', columnsize = 0, tokenize = 'ascii');
INSERT INTO memory_words (memory_words, rank) VALUES ('pgsz', 2000);  -- of 1000 and 4050: cheapest to write
INSERT INTO memory_words (rowid, content, task)
SELECT memories.row_id,
       replace(' ' || memories.content_terms, ' ', ' ' || facts.scope_no || '·'),
       replace(' ' || memories.task_terms, ' ', ' ' || facts.scope_no || '·')
FROM memories
CROSS JOIN memory_facts AS facts ON facts.row_id = memories.row_id
ORDER BY memories.row_id;
CREATE VIRTUAL TABLE memory_vocabulary USING fts5vocab (memory_words, 'col');

DROP TRIGGER memory_is_reworded;
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
    UPDATE memory_facts
    SET embedded_by = 0,
        terms = terms
            + length(new.content_terms) - length(replace(new.content_terms, ' ', '')) + (new.content_terms <> '')
            - length(old.content_terms) + length(replace(old.content_terms, ' ', '')) - (old.content_terms <> '')
    WHERE row_id = new.row_id;
    DELETE FROM memory_vectors WHERE row_id = new.row_id;
END;
