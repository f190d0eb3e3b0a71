-- The statements of storage/sqlite/dreams.py.

-- name: unread
-- The newest memories that no pass has read.
SELECT memory_id
FROM dream_unread
WHERE tenant_id = :tenant_id AND project_id = :project_id
ORDER BY created_us DESC, memory_id DESC
LIMIT :limit

-- name: kept
-- The log entry with this number.
SELECT body
FROM dream_log
WHERE tenant_id = :tenant_id AND project_id = :project_id AND number = :number

-- name: standing
-- The history of a project's passes. Columns: the fields of DreamHistory, in order.
SELECT dreams, idle_dreams, ended_us, rest_until_us
FROM memory_projects
WHERE tenant_id = :tenant_id AND project_id = :project_id

-- name: add
-- Adds a log entry.
INSERT INTO dream_log (tenant_id, project_id, number, dream_id, body)
VALUES (:tenant_id, :project_id, :number, :dream_id, :body)

-- name: count
-- Counts one more pass of the project.
INSERT INTO memory_projects (tenant_id, project_id, dreams, idle_dreams, ended_us, rest_until_us)
VALUES (:tenant_id, :project_id, :number, iif(:was_idle, 1, 0), :ended_us, :rest_until_us)
ON CONFLICT (tenant_id, project_id)
DO UPDATE SET dreams = excluded.dreams, idle_dreams = iif(:changed, 0, idle_dreams + :was_idle),
              ended_us = excluded.ended_us, rest_until_us = excluded.rest_until_us

-- name: read
-- Marks memories as read. :memory_ids: a JSON list.
DELETE FROM dream_unread
WHERE (tenant_id, project_id, created_us, memory_id) IN (
    SELECT tenant_id, project_id, created_us, memory_id
    FROM json_each(:memory_ids) AS wanted
    CROSS JOIN memories
        ON memories.tenant_id = :tenant_id AND memories.project_id = :project_id AND memories.memory_id = wanted.value
)

-- name: waiting
-- Across scopes: projects with unread memories whose rest has ended, the longest waiting first. Columns: the scope,
-- those of DreamHistory, and when the first and the last unread memory were created. Only these two rows of each
-- project are read.
SELECT tenant_id, project_id, dreams, idle_dreams, ended_us, rest_until_us,
       (SELECT created_us FROM dream_unread AS unread
        WHERE unread.tenant_id = project.tenant_id AND unread.project_id = project.project_id
        ORDER BY created_us LIMIT 1) AS first_us,
       (SELECT created_us FROM dream_unread AS unread
        WHERE unread.tenant_id = project.tenant_id AND unread.project_id = project.project_id
        ORDER BY created_us DESC LIMIT 1) AS last_us
FROM memory_projects AS project
WHERE rest_until_us <= :now_us AND first_us IS NOT NULL
      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
ORDER BY first_us, tenant_id, project_id
LIMIT :limit

-- name: list
-- The log of a scope, newest first, below a number.
SELECT body
FROM dream_log
WHERE tenant_id = :tenant_id AND project_id = :project_id AND number < :before
ORDER BY number DESC
LIMIT :limit
