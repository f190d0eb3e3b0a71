-- What people look for: turns by their outcome, and where a lesson was shown (trace/log.py, trace/receipts.py).

-- How a turn's task ended, as its body has it; empty while that was not reported.
ALTER TABLE turns ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
UPDATE turns SET outcome = coalesce(json_extract(CAST(body AS TEXT), '$.outcome'), '')
WHERE standing <> 'open' AND json_valid(CAST(body AS TEXT));
CREATE INDEX turns_outcome ON turns (tenant_id, project_id, standing, outcome, started_us, turn_id);

-- The lessons and recoveries that a receipt shows or holds back. Kept by the triggers on receipts below.
CREATE TABLE shown_lessons (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    lesson_id  TEXT NOT NULL,
    time_us    INTEGER NOT NULL,
    receipt_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, project_id, lesson_id, time_us, receipt_id)
) STRICT, WITHOUT ROWID;
INSERT INTO shown_lessons
SELECT tenant_id, project_id, json_extract(item.value, '$.id'), time_us, receipt_id
FROM receipts CROSS JOIN json_each(CAST(body AS TEXT), '$.items') AS item
UNION
SELECT tenant_id, project_id, held.value, time_us, receipt_id
FROM receipts CROSS JOIN json_each(CAST(body AS TEXT), '$.held_back') AS held;

CREATE TRIGGER receipt_shows AFTER INSERT ON receipts
BEGIN
    INSERT INTO shown_lessons
    SELECT new.tenant_id, new.project_id, json_extract(item.value, '$.id'), new.time_us, new.receipt_id
    FROM json_each(CAST(new.body AS TEXT), '$.items') AS item
    UNION
    SELECT new.tenant_id, new.project_id, held.value, new.time_us, new.receipt_id
    FROM json_each(CAST(new.body AS TEXT), '$.held_back') AS held;
END;
-- An erasure takes lessons out of a receipt.
CREATE TRIGGER receipt_shows_less AFTER UPDATE OF body ON receipts
BEGIN
    DELETE FROM shown_lessons
    WHERE tenant_id = new.tenant_id AND project_id = new.project_id AND time_us = new.time_us
          AND receipt_id = new.receipt_id
          AND lesson_id IN (SELECT json_extract(value, '$.id') FROM json_each(CAST(old.body AS TEXT), '$.items')
                            UNION ALL
                            SELECT value FROM json_each(CAST(old.body AS TEXT), '$.held_back'));
    INSERT INTO shown_lessons
    SELECT new.tenant_id, new.project_id, json_extract(item.value, '$.id'), new.time_us, new.receipt_id
    FROM json_each(CAST(new.body AS TEXT), '$.items') AS item
    UNION
    SELECT new.tenant_id, new.project_id, held.value, new.time_us, new.receipt_id
    FROM json_each(CAST(new.body AS TEXT), '$.held_back') AS held;
END;
CREATE TRIGGER receipt_shows_no_more AFTER DELETE ON receipts
BEGIN
    DELETE FROM shown_lessons
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND time_us = old.time_us
          AND receipt_id = old.receipt_id
          AND lesson_id IN (SELECT json_extract(value, '$.id') FROM json_each(CAST(old.body AS TEXT), '$.items')
                            UNION ALL
                            SELECT value FROM json_each(CAST(old.body AS TEXT), '$.held_back'));
END;
