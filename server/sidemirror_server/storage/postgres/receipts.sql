-- The statements of storage/postgres/receipts.py. $1 and $2 are the tenant and the project. Columns follow the
-- arguments of `trace.receipts.receipt_of`.

-- name: issue
-- Adds a receipt. No change if the scope already has the id.
INSERT INTO sidemirror.receipts (tenant_id, project_id, receipt_id, kind, time_us, turn_id, session_id, goal_id, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (tenant_id, project_id, receipt_id) DO NOTHING

-- name: show
-- Adds the items of a new receipt. A text that occurs twice is one item.
INSERT INTO sidemirror.receipt_items (tenant_id, project_id, receipt_id, text_hash)
SELECT $1, $2, $3, text_hash FROM unnest($4::bytea[]) AS text_hash
ON CONFLICT (tenant_id, project_id, text_hash, receipt_id) DO NOTHING

-- name: get
-- One receipt.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = $3

-- name: shown
-- The given hashes that belong to an item.
SELECT DISTINCT text_hash
FROM sidemirror.receipt_items
WHERE tenant_id = $1 AND project_id = $2 AND text_hash = ANY ($3::bytea[])

-- name: of_turn
-- The receipts of a turn, oldest first.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = $3 AND turn_id <> ''
ORDER BY time_us, receipt_id
LIMIT $4

-- name: of_session
-- The receipts of a session within these times, the oldest first.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3 AND session_id <> '' AND time_us BETWEEN $4 AND $5
ORDER BY time_us, receipt_id
LIMIT $6

-- name: of_turns
-- The receipts of these turns ($3), the oldest of each first, at most so many of each ($4).
SELECT receipt.receipt_id, receipt.kind, receipt.time_us, receipt.turn_id, receipt.session_id, receipt.goal_id,
       receipt.body
FROM (SELECT DISTINCT unnest($3::text[]) AS turn_id) AS wanted
     CROSS JOIN LATERAL (SELECT *
                         FROM sidemirror.receipts
                         WHERE tenant_id = $1 AND project_id = $2 AND receipts.turn_id = wanted.turn_id
                               AND receipts.turn_id <> ''
                         ORDER BY time_us, receipt_id
                         LIMIT $4) AS receipt
ORDER BY receipt.turn_id, receipt.time_us, receipt.receipt_id

-- name: find
-- The receipts of a scope, newest first, after a cursor and not before a time ($6).
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND (time_us, receipt_id) < ($3, $4) AND time_us >= $6
ORDER BY time_us DESC, receipt_id DESC
LIMIT $5

-- name: find_turn
-- Like `find`, for one turn ($7).
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = $7 AND turn_id <> '' AND (time_us, receipt_id) < ($3, $4)
      AND time_us >= $6
ORDER BY time_us DESC, receipt_id DESC
LIMIT $5

-- name: find_lesson
-- Like `find`, for one lesson ($7).
SELECT receipt.receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM (SELECT receipt_id
      FROM sidemirror.shown_lessons
      WHERE tenant_id = $1 AND project_id = $2 AND lesson_id = $7 AND (time_us, receipt_id) < ($3, $4) AND time_us >= $6
      ORDER BY time_us DESC, receipt_id DESC
      LIMIT $5) AS shown
     CROSS JOIN LATERAL (SELECT *
                         FROM sidemirror.receipts
                         WHERE tenant_id = $1 AND project_id = $2 AND receipts.receipt_id = shown.receipt_id) AS receipt
ORDER BY time_us DESC, receipt.receipt_id DESC

-- name: oldest
-- Across scopes: receipts from before a time, oldest first, for one entry of `Serves` ($3, $4; NULL for all). Rows that
-- another sidecar has locked are skipped.
SELECT tenant_id, project_id, receipt_id
FROM sidemirror.receipt_envelopes
WHERE time_us < $1
      AND ($3::text IS NULL OR tenant_id = $3) AND ($4::text IS NULL OR project_id = $4)
ORDER BY time_us
LIMIT $2
FOR UPDATE SKIP LOCKED

-- name: forget_items
-- Removes the items of these receipts.
DELETE FROM sidemirror.receipt_items
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = ANY ($3::text[])

-- name: forget
-- Removes these receipts.
DELETE FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = ANY ($3::text[])
