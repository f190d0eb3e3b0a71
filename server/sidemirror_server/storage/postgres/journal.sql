-- The statements of storage/postgres/journal.py. $1 and $2 are the tenant and the project.

-- name: add
-- A new note; nothing when the topic has its key already.
INSERT INTO sidemirror.log_entries (tenant_id, project_id, topic, key, group_id, sequence, at_us, body)
VALUES ($1, $2, $3, $4, $5, 1, $6, $7)
ON CONFLICT (tenant_id, project_id, topic, key, sequence) DO NOTHING

-- name: forget
-- Removes what is too old among the first notes of a topic; returns their positions.
DELETE FROM sidemirror.log_entries
WHERE tenant_id = $1 AND project_id = $2 AND topic = $3 AND at_us <= $4
      AND position IN (
        SELECT first.position FROM sidemirror.log_entries AS first
        WHERE first.tenant_id = $1 AND first.project_id = $2 AND first.topic = $3
        ORDER BY first.position
        LIMIT $5
      )
RETURNING position

-- name: mark
-- How far a topic has forgotten, as the only entry of a topic beside it.
INSERT INTO sidemirror.log_entries AS entry (tenant_id, project_id, topic, key, group_id, sequence, at_us, body)
VALUES ($1, $2, $3 || '/gone', 'up_to', '', 1, $4, convert_to($5::bigint::text, 'UTF8'))
ON CONFLICT (tenant_id, project_id, topic, key, sequence) DO UPDATE
SET at_us = excluded.at_us, body = excluded.body
WHERE convert_from(excluded.body, 'UTF8')::bigint > convert_from(entry.body, 'UTF8')::bigint

-- name: gone_up_to
-- How far a topic has forgotten; nothing when it has not.
SELECT convert_from(body, 'UTF8')::bigint
FROM sidemirror.log_entries
WHERE tenant_id = $1 AND project_id = $2 AND topic = $3 || '/gone' AND key = 'up_to' AND sequence = 1

-- name: remove
-- Removes a group's notes.
DELETE FROM sidemirror.log_entries
WHERE tenant_id = $1 AND project_id = $2 AND topic = $3 AND group_id = $4
