-- The statements of storage/postgres/memories.py. $1 and $2 are the tenant and the project, $3 usually the memory.
-- Memories are returned as (body, content, task_text).

-- name: lock
-- Takes an advisory lock for each of these numbers ($1), the smallest first to avoid deadlocks. Lessons that could
-- become the same memory share a number.
SELECT pg_catalog.pg_advisory_xact_lock(number)
FROM (SELECT number FROM unnest($1::bigint[]) AS number ORDER BY number OFFSET 0) AS numbers

-- name: add
-- Adds a memory. No change if the scope already has the id.
INSERT INTO sidemirror.memories (tenant_id, project_id, memory_id, kind, state, source, layer, importance, confidence,
                                 origin, error_category, tags, version, strength, created_us, updated_us, content,
                                 task_text, content_terms, task_terms, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
ON CONFLICT (tenant_id, project_id, memory_id) DO NOTHING

-- name: replace
-- Replaces a memory, except for its creation time, its kind and its task, which never change.
UPDATE sidemirror.memories
SET state = $4, importance = $5, confidence = $6, origin = $7, error_category = $8, tags = $9, version = $10,
    strength = $11, updated_us = $12, body = $13
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = $3

-- name: replace_text
-- Replaces the text of a memory.
UPDATE sidemirror.memories
SET content = $4, content_terms = $5
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = $3

-- name: get
-- Memories by their ids.
SELECT memory_id, body, content, task_text
FROM sidemirror.memories
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = ANY($3::text[])

-- name: hold
-- One memory, locked until the transaction ends.
SELECT body, content, task_text
FROM sidemirror.memories
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = $3
FOR UPDATE

-- name: known
-- One memory of kind $3 with one of the keys $4: preferably with the first key, else the oldest.
SELECT memories.body, memories.content, memories.task_text
FROM sidemirror.memory_keys AS key
JOIN sidemirror.memories
    ON memories.tenant_id = $1 AND memories.project_id = $2 AND memories.memory_id = key.memory_id
WHERE key.tenant_id = $1 AND key.project_id = $2 AND key.kind = $3 AND key.known_by = ANY($4::text[])
ORDER BY key.known_by <> ($4::text[])[1], memories.created_us, memories.memory_id
LIMIT 1
FOR UPDATE OF memories

-- name: know
-- Adds keys ($5) of a memory of kind $4.
INSERT INTO sidemirror.memory_keys (tenant_id, project_id, memory_id, kind, known_by)
SELECT $1, $2, $3, $4, unnest($5::text[])
ON CONFLICT DO NOTHING

-- name: list
-- The memories of a scope, newest first, after a cursor. $6 NULL: any kind.
SELECT body, content, task_text
FROM sidemirror.memories
WHERE tenant_id = $1 AND project_id = $2 AND (created_us, memory_id) < ($3, $4) AND ($6::text IS NULL OR kind = $6)
ORDER BY created_us DESC, memory_id DESC
LIMIT $5

-- name: list_in_state
-- Like `list`, in one state.
SELECT body, content, task_text
FROM sidemirror.memories
WHERE tenant_id = $1 AND project_id = $2 AND state = $7 AND (created_us, memory_id) < ($3, $4)
  AND ($6::text IS NULL OR kind = $6)
ORDER BY created_us DESC, memory_id DESC
LIMIT $5

-- name: keep_version
-- Adds an earlier version of a memory.
INSERT INTO sidemirror.memory_versions (tenant_id, project_id, memory_id, version, content, task_text, body)
VALUES ($1, $2, $3, $4, $5, $6, $7)

-- name: versions
-- The earlier versions of a memory, newest first, below a number.
SELECT body, content, task_text
FROM sidemirror.memory_versions
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = $3 AND version < $4
ORDER BY version DESC
LIMIT $5

-- name: delete
-- Removes a memory.
DELETE FROM sidemirror.memories
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = $3

-- name: delete_versions
-- Removes the earlier versions of a memory.
DELETE FROM sidemirror.memory_versions
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = $3

-- name: delete_keys
-- Removes the keys of a memory.
DELETE FROM sidemirror.memory_keys
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = $3

-- name: learned
-- The memories of a lesson that was learned after a time.
SELECT reflection_id, strategy_id
FROM sidemirror.memory_lessons
WHERE tenant_id = $1 AND project_id = $2 AND lesson_id = $3 AND learned_us > $4

-- name: keep_lesson
-- Records which memories were learned from a lesson.
INSERT INTO sidemirror.memory_lessons (tenant_id, project_id, lesson_id, reflection_id, strategy_id, learned_us)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, project_id, lesson_id)
DO UPDATE SET reflection_id = excluded.reflection_id, strategy_id = excluded.strategy_id,
              learned_us = excluded.learned_us

-- name: forget_lessons
-- Removes up to 10 of the oldest lesson ids from before a time. Rows that another transaction has locked are skipped.
DELETE FROM sidemirror.memory_lessons
WHERE tenant_id = $1 AND project_id = $2 AND lesson_id IN (
    SELECT lesson_id
    FROM sidemirror.memory_lessons
    WHERE tenant_id = $1 AND project_id = $2 AND learned_us <= $3
    ORDER BY learned_us
    LIMIT 10
    FOR UPDATE SKIP LOCKED
)

-- name: report
-- Records the outcome of a task, in place of an earlier report.
INSERT INTO sidemirror.memory_outcomes (tenant_id, project_id, receipt_id, outcome, reported_us, score, error_category)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (tenant_id, project_id, receipt_id)
DO UPDATE SET outcome = excluded.outcome, reported_us = excluded.reported_us, score = excluded.score,
              error_category = excluded.error_category

-- name: outcome
-- The outcome reported for a receipt. Columns: the fields of TaskOutcome, in order.
SELECT receipt_id, outcome, reported_us, score, error_category
FROM sidemirror.memory_outcomes
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = $3
