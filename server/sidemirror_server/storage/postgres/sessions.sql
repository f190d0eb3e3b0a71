-- The statements of storage/postgres/sessions.py. $1 and $2 are the tenant and the project. `turn_count` and
-- `newest_head` are computed from the turns.

-- name: create
-- Adds a session. No change if the scope already has the id.
INSERT INTO sidemirror.sessions (tenant_id, project_id, session_id, created_us, updated_us, body)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, project_id, session_id) DO NOTHING

-- name: get
-- One session. Columns: the fields of SessionRecord, in order.
SELECT session_id, body, created_us, updated_us,
       (SELECT count(*) FROM sidemirror.turns WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3),
       (SELECT turns.body
        FROM sidemirror.turns
        WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3
        ORDER BY turn_count DESC, started_us DESC, turn_id DESC
        LIMIT 1),
       ARRAY (SELECT substr(source, 9)
              FROM sidemirror.sources
              WHERE sources.tenant_id = $1 AND sources.project_id = $2
                    AND sources.record = 'session:' || sessions.session_id
                    AND sources.source >= 'subject:' AND sources.source < 'subject;'
              ORDER BY source)
FROM sidemirror.sessions
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3

-- name: list
-- The sessions of a scope, newest first, after a cursor, with the columns of `get`.
SELECT session_id, body, created_us, updated_us,
       (SELECT count(*)
        FROM sidemirror.turns
        WHERE tenant_id = $1 AND project_id = $2 AND turns.session_id = sessions.session_id),
       (SELECT turns.body
        FROM sidemirror.turns
        WHERE tenant_id = $1 AND project_id = $2 AND turns.session_id = sessions.session_id
        ORDER BY turn_count DESC, started_us DESC, turn_id DESC
        LIMIT 1),
       ARRAY (SELECT substr(source, 9)
              FROM sidemirror.sources
              WHERE sources.tenant_id = $1 AND sources.project_id = $2
                    AND sources.record = 'session:' || sessions.session_id
                    AND sources.source >= 'subject:' AND sources.source < 'subject;'
              ORDER BY source)
FROM sidemirror.sessions
WHERE tenant_id = $1 AND project_id = $2 AND (created_us, session_id) < ($3, $4)
ORDER BY created_us DESC, session_id DESC
LIMIT $5

-- name: update
-- Replaces the body.
UPDATE sidemirror.sessions
SET body = $4, updated_us = $5
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3

-- name: any_open
-- One row if the session has an open turn.
SELECT 1
FROM sidemirror.turns
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3 AND standing = 'open'
LIMIT 1

-- name: delete
-- Removes a session.
DELETE FROM sidemirror.sessions
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3

-- name: delete_turns
-- Removes the heads of the session's turns.
DELETE FROM sidemirror.turns
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3

-- name: delete_entries
-- Removes the entries of the session's turns.
DELETE FROM sidemirror.log_entries
WHERE tenant_id = $1 AND project_id = $2 AND group_id = $3 AND topic = $4
