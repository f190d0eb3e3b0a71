-- The statements of storage/postgres/dreams.py. $1 and $2 are the tenant and the project.

-- name: unread
-- The newest memories that no pass has read.
SELECT memory_id
FROM sidemirror.dream_unread_envelopes
WHERE tenant_id = $1 AND project_id = $2
ORDER BY created_us DESC, memory_id DESC
LIMIT $3

-- name: kept
-- The log entry with this number.
SELECT body
FROM sidemirror.dream_log
WHERE tenant_id = $1 AND project_id = $2 AND number = $3

-- name: standing
-- The history of a project's passes. Columns: the fields of DreamHistory, in order.
SELECT dreams, idle_dreams, ended_us, rest_until_us
FROM sidemirror.memory_project_envelopes
WHERE tenant_id = $1 AND project_id = $2

-- name: make
-- Adds the row of a project without memories if it is missing.
INSERT INTO sidemirror.memory_project_envelopes (tenant_id, project_id)
VALUES ($1, $2)
ON CONFLICT (tenant_id, project_id) DO NOTHING

-- name: hold
-- Like `standing`, locked until the transaction ends, so that no other pass of the project is recorded.
SELECT dreams, idle_dreams, ended_us, rest_until_us
FROM sidemirror.memory_project_envelopes
WHERE tenant_id = $1 AND project_id = $2
FOR UPDATE

-- name: add
-- Adds a log entry.
INSERT INTO sidemirror.dream_log (tenant_id, project_id, number, dream_id, body)
VALUES ($1, $2, $3, $4, $5)

-- name: count
-- Counts one more pass of the project.
UPDATE sidemirror.memory_project_envelopes
SET dreams = $3, idle_dreams = CASE WHEN $4 THEN 0 ELSE idle_dreams + $5 END, ended_us = $6, rest_until_us = $7
WHERE tenant_id = $1 AND project_id = $2

-- name: read
-- Marks these memories as read.
DELETE FROM sidemirror.dream_unread_envelopes AS unread
USING sidemirror.memories AS memories
WHERE memories.tenant_id = $1 AND memories.project_id = $2 AND memories.memory_id = ANY ($3::text[])
  AND unread.tenant_id = $1 AND unread.project_id = $2
  AND unread.created_us = memories.created_us AND unread.memory_id = memories.memory_id

-- name: waiting
-- Across scopes: projects with unread memories whose rest has ended, the longest waiting first, for one entry of
-- `Serves` ($3, $4; NULL for all). Columns: the scope, those of DreamHistory, and when the first and the last unread
-- memory were created. Only these two rows of each project are read, by the index.
WITH RECURSIVE oldest AS (
    (SELECT tenant_id, project_id, created_us AS first_us
     FROM sidemirror.dream_unread_envelopes
     WHERE ($3::text IS NULL OR tenant_id = $3) AND ($4::text IS NULL OR project_id = $4)
     ORDER BY tenant_id, project_id, created_us
     LIMIT 1)
    UNION ALL
    SELECT following.tenant_id, following.project_id, following.created_us
    FROM oldest
    CROSS JOIN LATERAL (
        SELECT unread.tenant_id, unread.project_id, unread.created_us
        FROM sidemirror.dream_unread_envelopes AS unread
        WHERE (unread.tenant_id, unread.project_id) > (oldest.tenant_id, oldest.project_id)
              AND ($3::text IS NULL OR unread.tenant_id = $3) AND ($4::text IS NULL OR unread.project_id = $4)
        ORDER BY unread.tenant_id, unread.project_id, unread.created_us
        LIMIT 1
    ) AS following
)
SELECT tenant_id, project_id, dreams, idle_dreams, ended_us, rest_until_us, first_us, last_us
FROM oldest
CROSS JOIN LATERAL (
    SELECT dreams, idle_dreams, ended_us, rest_until_us
    FROM sidemirror.memory_project_envelopes AS project
    WHERE project.tenant_id = oldest.tenant_id AND project.project_id = oldest.project_id
    LIMIT 1
) AS standing
CROSS JOIN LATERAL (
    SELECT unread.created_us AS last_us
    FROM sidemirror.dream_unread_envelopes AS unread
    WHERE unread.tenant_id = oldest.tenant_id AND unread.project_id = oldest.project_id
    ORDER BY unread.created_us DESC
    LIMIT 1
) AS newest
WHERE rest_until_us <= $1
ORDER BY first_us, tenant_id, project_id
LIMIT $2

-- name: list
-- The log of a scope, newest first, below a number.
SELECT body
FROM sidemirror.dream_log
WHERE tenant_id = $1 AND project_id = $2 AND number < $3
ORDER BY number DESC
LIMIT $4
