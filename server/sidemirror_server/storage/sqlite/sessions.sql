-- The statements of storage/sqlite/sessions.py. `turn_count` and `newest_head` are computed from the turns.

-- name: create
-- Adds a session. No change if the scope already has the id.
INSERT INTO sessions (tenant_id, project_id, session_id, created_us, updated_us, body)
VALUES (:tenant_id, :project_id, :session_id, :created_us, :updated_us, :body)
ON CONFLICT (tenant_id, project_id, session_id) DO NOTHING

-- name: get
-- One session. Columns: the fields of SessionRecord, in order.
SELECT session_id, body, created_us, updated_us,
       (SELECT count(*)
        FROM turns INDEXED BY turns_counted
        WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_id),
       (SELECT body
        FROM turns INDEXED BY turns_counted
        WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_id
        ORDER BY turn_count DESC, started_us DESC, turn_id DESC
        LIMIT 1),
       (SELECT json_group_array(substr(source, 9))
        FROM sources INDEXED BY sources_of
        WHERE sources.tenant_id = :tenant_id AND sources.project_id = :project_id
              AND sources.record = 'session:' || sessions.session_id
              AND sources.source >= 'subject:' AND sources.source < 'subject;')
FROM sessions
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_id

-- name: list
-- The sessions of a scope, newest first, after a cursor, with the columns of `get`.
SELECT session_id, body, created_us, updated_us,
       (SELECT count(*)
        FROM turns INDEXED BY turns_counted
        WHERE tenant_id = :tenant_id AND project_id = :project_id AND turns.session_id = sessions.session_id),
       (SELECT body
        FROM turns INDEXED BY turns_counted
        WHERE tenant_id = :tenant_id AND project_id = :project_id AND turns.session_id = sessions.session_id
        ORDER BY turn_count DESC, started_us DESC, turn_id DESC
        LIMIT 1),
       (SELECT json_group_array(substr(source, 9))
        FROM sources INDEXED BY sources_of
        WHERE sources.tenant_id = :tenant_id AND sources.project_id = :project_id
              AND sources.record = 'session:' || sessions.session_id
              AND sources.source >= 'subject:' AND sources.source < 'subject;')
FROM sessions
WHERE tenant_id = :tenant_id AND project_id = :project_id AND (created_us, session_id) < (:created_us, :session_id)
ORDER BY created_us DESC, session_id DESC
LIMIT :limit

-- name: update
-- Replaces the body.
UPDATE sessions
SET body = :body, updated_us = :updated_us
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_id

-- name: any_open
-- One row if the session has an open turn.
SELECT 1
FROM turns INDEXED BY turns_of_session
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_id AND standing = 'open'
LIMIT 1

-- name: delete
-- Removes a session.
DELETE FROM sessions
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_id

-- name: delete_turns
-- Removes the heads of the session's turns.
DELETE FROM turns
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_id

-- name: delete_entries
-- Removes the entries of the session's turns.
DELETE FROM log_entries
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic AND group_id = :session_id
