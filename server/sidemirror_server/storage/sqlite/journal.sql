-- The statements of storage/sqlite/journal.py.

-- name: add
-- A new note; nothing when the topic has its key already.
INSERT INTO log_entries (tenant_id, project_id, topic, key, group_id, sequence, at_us, body)
VALUES (:tenant_id, :project_id, :topic, :key, :group_id, 1, :at_us, :body)
ON CONFLICT (tenant_id, project_id, topic, key, sequence) DO NOTHING

-- name: forget
-- Removes what is too old among the first notes of a topic; returns their positions.
DELETE FROM log_entries
WHERE position IN (
        SELECT position FROM log_entries
        WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic
        ORDER BY position
        LIMIT :limit
      )
      AND at_us <= :until_us
RETURNING position

-- name: mark
-- How far a topic has forgotten, as the only entry of a topic beside it.
INSERT INTO log_entries (tenant_id, project_id, topic, key, group_id, sequence, at_us, body)
VALUES (:tenant_id, :project_id, :topic || '/gone', 'up_to', '', 1, :at_us, CAST(:gone_up_to AS BLOB))
ON CONFLICT (tenant_id, project_id, topic, key, sequence) DO UPDATE
SET at_us = excluded.at_us, body = excluded.body
WHERE CAST(CAST(excluded.body AS TEXT) AS INTEGER) > CAST(CAST(log_entries.body AS TEXT) AS INTEGER)

-- name: gone_up_to
-- How far a topic has forgotten; nothing when it has not.
SELECT CAST(CAST(body AS TEXT) AS INTEGER)
FROM log_entries
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic || '/gone' AND key = 'up_to'
      AND sequence = 1

-- name: remove
-- Removes a group's notes.
DELETE FROM log_entries
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic AND group_id = :group_id
