-- The statements of storage/sqlite/dreams.py.

-- name: unread
-- The newest memories that no pass has read.
SELECT memory_id
FROM dream_unread
WHERE tenant_id = :tenant_id AND project_id = :project_id
ORDER BY created_us DESC, memory_id DESC
LIMIT :limit

-- name: kept
-- The entry of the log with a number.
SELECT body
FROM dream_log
WHERE tenant_id = :tenant_id AND project_id = :project_id AND number = :number

-- name: standing
-- How a project stands, in the order of the fields of Standing.
SELECT dreams, idle_dreams, ended_us, rest_until_us
FROM memory_projects
WHERE tenant_id = :tenant_id AND project_id = :project_id

-- name: add
-- A new entry of the log.
INSERT INTO dream_log (tenant_id, project_id, number, dream_id, body)
VALUES (:tenant_id, :project_id, :number, :dream_id, :body)

-- name: count
-- The project has had one pass more.
INSERT INTO memory_projects (tenant_id, project_id, dreams, idle_dreams, ended_us, rest_until_us)
VALUES (:tenant_id, :project_id, :number, iif(:was_idle, 1, 0), :ended_us, :rest_until_us)
ON CONFLICT (tenant_id, project_id)
DO UPDATE SET dreams = excluded.dreams, idle_dreams = iif(:changed, 0, idle_dreams + :was_idle),
              ended_us = excluded.ended_us, rest_until_us = excluded.rest_until_us

-- name: read
-- These memories are read. :memory_ids: a JSON list.
DELETE FROM dream_unread
WHERE (tenant_id, project_id, created_us, memory_id) IN (
    SELECT tenant_id, project_id, created_us, memory_id
    FROM json_each(:memory_ids) AS wanted
    CROSS JOIN memories
        ON memories.tenant_id = :tenant_id AND memories.project_id = :project_id AND memories.memory_id = wanted.value
)

-- name: waiting
-- Across scopes: projects with unread memories that are not left alone, the longest waiting first. Columns: the scope,
-- those of Standing, how many are unread, and when the first and the last of them were made.
SELECT tenant_id, project_id, dreams, idle_dreams, ended_us, rest_until_us, count(*) AS unread,
       min(dream_unread.created_us) AS first_us, max(dream_unread.created_us) AS last_us
FROM memory_projects JOIN dream_unread USING (tenant_id, project_id)
WHERE rest_until_us <= :now_us
GROUP BY tenant_id, project_id
ORDER BY first_us, tenant_id, project_id
LIMIT :limit

-- name: list
-- A scope's log, the newest first, below a number.
SELECT body
FROM dream_log
WHERE tenant_id = :tenant_id AND project_id = :project_id AND number < :before
ORDER BY number DESC
LIMIT :limit
