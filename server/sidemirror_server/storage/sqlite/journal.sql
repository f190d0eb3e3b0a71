-- The statements of storage/sqlite/journal.py.

-- name: add
-- A new note; nothing when the topic has its key already.
INSERT INTO log_entries (tenant_id, project_id, topic, key, group_id, sequence, at_us, body)
VALUES (:tenant_id, :project_id, :topic, :key, :group_id, 1, :at_us, :body)
ON CONFLICT (tenant_id, project_id, topic, key, sequence) DO NOTHING

-- name: forget
-- Removes what is too old among the first notes of a topic.
DELETE FROM log_entries
WHERE position IN (
        SELECT position FROM log_entries
        WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic
        ORDER BY position
        LIMIT :limit
      )
      AND at_us <= :until_us

-- name: remove
-- Removes a group's notes.
DELETE FROM log_entries
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic AND group_id = :group_id
