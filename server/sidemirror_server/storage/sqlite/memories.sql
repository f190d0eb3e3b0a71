-- The statements of storage/sqlite/memories.py. Memories are returned as (body, content, task_text).

-- name: next_row
-- The number of the next row.
SELECT coalesce(max(row_id), 0) + 1 FROM memories

-- name: any
-- One row if there is a memory in any scope.
SELECT 1 FROM memories LIMIT 1

-- name: add
-- Adds a memory. No change if the scope already has the id.
INSERT INTO memories (row_id, tenant_id, project_id, memory_id, kind, state, source, layer, importance, confidence,
                      origin, error_category, tags, version, strength, created_us, updated_us, content, task_text,
                      content_terms, task_terms, body)
VALUES (:row_id, :tenant_id, :project_id, :memory_id, :kind, :state, :source, :layer, :importance, :confidence,
        :origin, :error_category, :tags, :version, :strength, :created_us, :updated_us, :content, :task_text,
        :content_terms, :task_terms, :body)
ON CONFLICT (tenant_id, project_id, memory_id) DO NOTHING

-- name: row_of
-- The row number of a memory.
SELECT row_id FROM memories WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :memory_id

-- name: add_to_scope
-- Adds new memories to the counts of their scope; returns the scope's number.
INSERT INTO memory_scopes (tenant_id, project_id, memories, tasks, content_terms, task_terms)
VALUES (:tenant_id, :project_id, :memories, :tasks, :content_terms, :task_terms)
ON CONFLICT (tenant_id, project_id) DO UPDATE
SET memories = memories + excluded.memories, tasks = tasks + excluded.tasks,
    content_terms = content_terms + excluded.content_terms, task_terms = task_terms + excluded.task_terms
RETURNING scope_no

-- name: add_facts
-- Adds the columns by which a new memory is filtered and ranked.
INSERT INTO memory_facts (row_id, scope_no, memory_id, kind, state, importance, confidence, created_us, terms, embedded_by)
VALUES (:row_id, :scope_no, :memory_id, :kind, :state, :importance, :confidence, :created_us, :terms, 0)

-- name: add_label
-- Adds a label of a new memory to the index.
INSERT INTO memory_labels (scope_no, label, row_id) VALUES (:scope_no, :label, :row_id)

-- name: add_words
-- Adds a new memory's terms, each with its scope's number, to the full text index. Uses plain VALUES, because FTS5
-- flushes its buffer of terms before a statement that may be rolled back alone.
INSERT INTO memory_words (rowid, content, task) VALUES (:row_id, :content, :task)

-- name: replace
-- Replaces a memory, except for its creation time, its kind and its task, which never change.
UPDATE memories
SET state = :state, importance = :importance, confidence = :confidence, origin = :origin,
    error_category = :error_category, tags = :tags, version = :version, strength = :strength,
    updated_us = :updated_us, body = :body
WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :memory_id

-- name: replace_text
-- Replaces the text of a memory.
UPDATE memories
SET content = :content, content_terms = :content_terms
WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :memory_id

-- name: get
-- One memory.
SELECT body, content, task_text
FROM memories
WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :memory_id

-- name: known
-- One memory of a kind with one of these keys: preferably with the first key, else the oldest. :known_by: a JSON list.
SELECT memories.body, memories.content, memories.task_text
FROM json_each(:known_by) AS wanted
CROSS JOIN memory_keys AS key
    ON key.tenant_id = :tenant_id AND key.project_id = :project_id AND key.kind = :kind AND key.known_by = wanted.value
CROSS JOIN memories
    ON memories.tenant_id = :tenant_id AND memories.project_id = :project_id AND memories.memory_id = key.memory_id
ORDER BY wanted.key > 0, memories.created_us, memories.memory_id
LIMIT 1

-- name: know
-- Adds a key of a memory.
INSERT INTO memory_keys (tenant_id, project_id, kind, known_by, memory_id)
VALUES (:tenant_id, :project_id, :kind, :known_by, :memory_id)
ON CONFLICT DO NOTHING

-- name: known_among
-- Those of these keys that a memory of the scope has, as (kind, known_by). :known_by: a JSON list.
SELECT key.kind, key.known_by
FROM json_each(:known_by) AS wanted
CROSS JOIN memory_keys AS key
    ON key.tenant_id = :tenant_id AND key.project_id = :project_id AND key.kind IN ('reflection', 'strategy')
   AND key.known_by = wanted.value

-- name: list
-- The memories of a scope, newest first, after a cursor. :kind NULL: any kind.
SELECT body, content, task_text
FROM memories INDEXED BY memories_newest
WHERE tenant_id = :tenant_id AND project_id = :project_id AND (created_us, memory_id) < (:created_us, :memory_id)
  AND (:kind IS NULL OR kind = :kind)
ORDER BY created_us DESC, memory_id DESC
LIMIT :limit

-- name: list_in_state
-- Like `list`, in one state.
SELECT body, content, task_text
FROM memories INDEXED BY memories_in_state
WHERE tenant_id = :tenant_id AND project_id = :project_id AND state = :state
  AND (created_us, memory_id) < (:created_us, :memory_id) AND (:kind IS NULL OR kind = :kind)
ORDER BY created_us DESC, memory_id DESC
LIMIT :limit

-- name: keep_version
-- Adds an earlier version of a memory.
INSERT INTO memory_versions (tenant_id, project_id, memory_id, version, content, task_text, body)
VALUES (:tenant_id, :project_id, :memory_id, :version, :content, :task_text, :body)

-- name: versions
-- The earlier versions of a memory, newest first, below a number.
SELECT body, content, task_text
FROM memory_versions
WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :memory_id AND version < :before
ORDER BY version DESC
LIMIT :limit

-- name: delete
-- Removes a memory.
DELETE FROM memories
WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :memory_id

-- name: delete_versions
-- Removes the earlier versions of a memory.
DELETE FROM memory_versions
WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :memory_id

-- name: delete_keys
-- Removes the keys of a memory.
DELETE FROM memory_keys
WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :memory_id

-- name: learned
-- The memories of a lesson that was learned after a time.
SELECT reflection_id, strategy_id
FROM memory_lessons
WHERE tenant_id = :tenant_id AND project_id = :project_id AND lesson_id = :lesson_id AND learned_us > :after_us

-- name: learned_among
-- The lessons of this list that were learned at any time. :lesson_ids: a JSON list.
SELECT lesson_id
FROM json_each(:lesson_ids) AS wanted
CROSS JOIN memory_lessons ON tenant_id = :tenant_id AND project_id = :project_id AND lesson_id = wanted.value

-- name: keep_lesson
-- Records which memories were learned from a lesson.
INSERT INTO memory_lessons (tenant_id, project_id, lesson_id, reflection_id, strategy_id, learned_us)
VALUES (:tenant_id, :project_id, :lesson_id, :reflection_id, :strategy_id, :learned_us)
ON CONFLICT (tenant_id, project_id, lesson_id)
DO UPDATE SET reflection_id = excluded.reflection_id, strategy_id = excluded.strategy_id,
              learned_us = excluded.learned_us

-- name: forget_lessons
-- Removes the oldest lesson ids from before a time.
DELETE FROM memory_lessons
WHERE tenant_id = :tenant_id AND project_id = :project_id AND lesson_id IN (
    SELECT lesson_id
    FROM memory_lessons INDEXED BY memory_lessons_old
    WHERE tenant_id = :tenant_id AND project_id = :project_id AND learned_us <= :after_us
    ORDER BY learned_us
    LIMIT :most
)

-- name: report
-- Records the outcome of a task, in place of an earlier report.
INSERT INTO memory_outcomes (tenant_id, project_id, receipt_id, outcome, reported_us, score, error_category)
VALUES (:tenant_id, :project_id, :receipt_id, :outcome, :reported_us, :score, :error_category)
ON CONFLICT (tenant_id, project_id, receipt_id)
DO UPDATE SET outcome = excluded.outcome, reported_us = excluded.reported_us, score = excluded.score,
              error_category = excluded.error_category

-- name: outcome
-- The outcome reported for a receipt. Columns: the fields of TaskOutcome, in order.
SELECT receipt_id, outcome, reported_us, score, error_category
FROM memory_outcomes
WHERE tenant_id = :tenant_id AND project_id = :project_id AND receipt_id = :receipt_id
