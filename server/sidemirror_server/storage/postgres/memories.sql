-- The statements of storage/postgres/memories.py. $1 and $2 are the tenant and the project, $3 mostly the memory.
-- Memories are returned as (body, content, task_text).

-- name: lock
-- Waits for its turn among the lessons that could be the same memory. $1: numbers; the smallest first, so that no two
-- wait for each other.
SELECT pg_catalog.pg_advisory_xact_lock(number)
FROM (SELECT number FROM unnest($1::bigint[]) AS number ORDER BY number OFFSET 0) AS numbers

-- name: add
-- A new memory; nothing when the scope has the id already.
INSERT INTO sidemirror.memories (tenant_id, project_id, memory_id, kind, state, source, layer, importance, confidence,
                                 origin, error_category, tags, version, strength, created_us, updated_us, content,
                                 task_text, content_terms, task_terms, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
ON CONFLICT (tenant_id, project_id, memory_id) DO NOTHING

-- name: replace
-- A memory as it is from now on. When it was made, its kind and its task never change.
UPDATE sidemirror.memories
SET state = $4, importance = $5, confidence = $6, origin = $7, error_category = $8, tags = $9, version = $10,
    strength = $11, updated_us = $12, body = $13
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = $3

-- name: replace_text
-- Its text from now on.
UPDATE sidemirror.memories
SET content = $4, content_terms = $5
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = $3

-- name: get
-- Memories by their ids.
SELECT memory_id, body, content, task_text
FROM sidemirror.memories
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = ANY($3::text[])

-- name: hold
-- One memory, which nobody else changes until the transaction ends.
SELECT body, content, task_text
FROM sidemirror.memories
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = $3
FOR UPDATE

-- name: known
-- The memory of the kind $3 that is known by one of $4, by the text (the first of them) before all, then the oldest.
SELECT memories.body, memories.content, memories.task_text
FROM sidemirror.memory_keys AS key
JOIN sidemirror.memories
    ON memories.tenant_id = $1 AND memories.project_id = $2 AND memories.memory_id = key.memory_id
WHERE key.tenant_id = $1 AND key.project_id = $2 AND key.kind = $3 AND key.known_by = ANY($4::text[])
ORDER BY key.known_by <> ($4::text[])[1], memories.created_us, memories.memory_id
LIMIT 1
FOR UPDATE OF memories

-- name: know
-- A memory of the kind $4 is known by $5 from now on.
INSERT INTO sidemirror.memory_keys (tenant_id, project_id, memory_id, kind, known_by)
SELECT $1, $2, $3, $4, unnest($5::text[])
ON CONFLICT DO NOTHING

-- name: list
-- A scope's memories, the newest first, from below a place in that order; of one kind when $6 is given.
SELECT body, content, task_text
FROM sidemirror.memories
WHERE tenant_id = $1 AND project_id = $2 AND (created_us, memory_id) < ($3, $4) AND ($6::text IS NULL OR kind = $6)
ORDER BY created_us DESC, memory_id DESC
LIMIT $5

-- name: list_in_state
-- The same in one state.
SELECT body, content, task_text
FROM sidemirror.memories
WHERE tenant_id = $1 AND project_id = $2 AND state = $7 AND (created_us, memory_id) < ($3, $4)
  AND ($6::text IS NULL OR kind = $6)
ORDER BY created_us DESC, memory_id DESC
LIMIT $5

-- name: keep_version
-- What a memory was before its next version.
INSERT INTO sidemirror.memory_versions (tenant_id, project_id, memory_id, version, content, task_text, body)
VALUES ($1, $2, $3, $4, $5, $6, $7)

-- name: versions
-- What a memory was, the newest version first, below one.
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
-- Removes what it was.
DELETE FROM sidemirror.memory_versions
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = $3

-- name: delete_keys
-- Removes what it was known by.
DELETE FROM sidemirror.memory_keys
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = $3

-- name: learned
-- What a lesson came to, unless that is long ago.
SELECT reflection_id, strategy_id
FROM sidemirror.memory_lessons
WHERE tenant_id = $1 AND project_id = $2 AND lesson_id = $3 AND learned_us > $4

-- name: keep_lesson
-- What a lesson came to.
INSERT INTO sidemirror.memory_lessons (tenant_id, project_id, lesson_id, reflection_id, strategy_id, learned_us)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, project_id, lesson_id)
DO UPDATE SET reflection_id = excluded.reflection_id, strategy_id = excluded.strategy_id,
              learned_us = excluded.learned_us

-- name: forget_lessons
-- Lets go of some that nobody repeats any more; of those that another transaction is at, it takes none.
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
-- What became of a task, in place of what was reported before.
INSERT INTO sidemirror.memory_outcomes (tenant_id, project_id, receipt_id, outcome, reported_us, score, error_category)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (tenant_id, project_id, receipt_id)
DO UPDATE SET outcome = excluded.outcome, reported_us = excluded.reported_us, score = excluded.score,
              error_category = excluded.error_category

-- name: outcome
-- What was reported for a receipt, in the order of the fields of TaskOutcome.
SELECT receipt_id, outcome, reported_us, score, error_category
FROM sidemirror.memory_outcomes
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = $3
