-- The statements of storage/postgres/receipts.py. $1 and $2 are the tenant and the project. Columns in the order of the
-- arguments of `trace.receipts.receipt_of`.

-- name: issue
-- A new receipt; nothing when the scope has the id already.
INSERT INTO sidemirror.receipts (tenant_id, project_id, receipt_id, kind, time_us, turn_id, session_id, goal_id, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (tenant_id, project_id, receipt_id) DO NOTHING

-- name: show
-- The items of a new receipt; the same text twice is one.
INSERT INTO sidemirror.receipt_items (tenant_id, project_id, receipt_id, text_hash)
SELECT $1, $2, $3, text_hash FROM unnest($4::bytea[]) AS text_hash
ON CONFLICT (tenant_id, project_id, text_hash, receipt_id) DO NOTHING

-- name: get
-- One receipt.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = $3

-- name: shown
-- Which of these hashes are an item's.
SELECT DISTINCT text_hash
FROM sidemirror.receipt_items
WHERE tenant_id = $1 AND project_id = $2 AND text_hash = ANY ($3::bytea[])

-- name: list
-- A scope's receipts, newest first, from below a place in that order.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND (time_us, receipt_id) < ($3, $4)
ORDER BY time_us DESC, receipt_id DESC
LIMIT $5

-- name: list_of_kind
-- The same of one kind.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND (time_us, receipt_id) < ($3, $4) AND kind = $6
ORDER BY time_us DESC, receipt_id DESC
LIMIT $5

-- name: of_turn
-- A turn's receipts, oldest first.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = $3 AND turn_id <> ''
ORDER BY time_us, receipt_id
LIMIT $4

-- name: oldest
-- Across scopes: receipts from before a time, the oldest first, of one entry of what is served ($3, $4; NULL for all).
-- What another sidecar is forgetting already is left to it.
SELECT tenant_id, project_id, receipt_id
FROM sidemirror.receipt_envelopes
WHERE time_us < $1
      AND ($3::text IS NULL OR tenant_id = $3) AND ($4::text IS NULL OR project_id = $4)
ORDER BY time_us
LIMIT $2
FOR UPDATE SKIP LOCKED

-- name: forget_items
-- Removes what these receipts showed.
DELETE FROM sidemirror.receipt_items
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = ANY ($3::text[])

-- name: forget
-- Removes these receipts.
DELETE FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = ANY ($3::text[])
