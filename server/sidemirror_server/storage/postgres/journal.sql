-- The statements of storage/postgres/journal.py. $1 and $2 are the tenant and the project.

-- name: add
-- Adds a note. No change if the topic already has its key.
INSERT INTO sidemirror.log_entries (tenant_id, project_id, topic, key, group_id, sequence, at_us, body)
VALUES ($1, $2, $3, $4, $5, 1, $6, $7)
ON CONFLICT (tenant_id, project_id, topic, key, sequence) DO NOTHING

-- name: forget
-- Among a topic's first $5 notes, removes the expired ones; returns their positions. Those that another transaction has
-- locked are skipped.
DELETE FROM sidemirror.log_entries
WHERE tenant_id = $1 AND project_id = $2 AND topic = $3 AND at_us <= $4
      AND position IN (
        SELECT first.position FROM sidemirror.log_entries AS first
        WHERE first.tenant_id = $1 AND first.project_id = $2 AND first.topic = $3
        ORDER BY first.position
        LIMIT $5
        FOR UPDATE SKIP LOCKED
      )
RETURNING position

-- name: mark
-- Records the highest removed position of a topic, in the only entry of the topic `<topic>/gone`.
INSERT INTO sidemirror.log_entries AS entry (tenant_id, project_id, topic, key, group_id, sequence, at_us, body)
VALUES ($1, $2, $3 || '/gone', 'up_to', '', 1, $4, convert_to($5::bigint::text, 'UTF8'))
ON CONFLICT (tenant_id, project_id, topic, key, sequence) DO UPDATE
SET at_us = excluded.at_us, body = excluded.body
WHERE convert_from(excluded.body, 'UTF8')::bigint > convert_from(entry.body, 'UTF8')::bigint

-- name: gone_up_to
-- The highest removed position of a topic; no row if nothing was removed.
SELECT convert_from(body, 'UTF8')::bigint
FROM sidemirror.log_entries
WHERE tenant_id = $1 AND project_id = $2 AND topic = $3 || '/gone' AND key = 'up_to' AND sequence = 1

-- name: remove
-- Removes the notes of a group.
DELETE FROM sidemirror.log_entries
WHERE tenant_id = $1 AND project_id = $2 AND topic = $3 AND group_id = $4

-- name: drop
-- Removes the note of a key ($4).
DELETE FROM sidemirror.log_entries
WHERE tenant_id = $1 AND project_id = $2 AND topic = $3 AND key = $4
