-- The statements of storage/sqlite/journal.py.

-- name: add
-- Adds a note. No change if the topic already has its key.
INSERT INTO log_entries (tenant_id, project_id, topic, key, group_id, sequence, at_us, body)
VALUES (:tenant_id, :project_id, :topic, :key, :group_id, 1, :at_us, :body)
ON CONFLICT (tenant_id, project_id, topic, key, sequence) DO NOTHING

-- name: forget
-- Among a topic's first :limit notes, removes the expired ones; returns their positions.
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
-- Records the highest removed position of a topic, in the only entry of the topic `<topic>/gone`.
INSERT INTO log_entries (tenant_id, project_id, topic, key, group_id, sequence, at_us, body)
VALUES (:tenant_id, :project_id, :topic || '/gone', 'up_to', '', 1, :at_us, CAST(:gone_up_to AS BLOB))
ON CONFLICT (tenant_id, project_id, topic, key, sequence) DO UPDATE
SET at_us = excluded.at_us, body = excluded.body
WHERE CAST(CAST(excluded.body AS TEXT) AS INTEGER) > CAST(CAST(log_entries.body AS TEXT) AS INTEGER)

-- name: gone_up_to
-- The highest removed position of a topic; no row if nothing was removed.
SELECT CAST(CAST(body AS TEXT) AS INTEGER)
FROM log_entries
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic || '/gone' AND key = 'up_to'
      AND sequence = 1

-- name: remove
-- Removes the notes of a group.
DELETE FROM log_entries
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic AND group_id = :group_id

-- name: drop
-- Removes the note of a key.
DELETE FROM log_entries
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic AND key = :key
