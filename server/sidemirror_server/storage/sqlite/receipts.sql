-- The statements of storage/sqlite/receipts.py. Columns in the order of the arguments of `trace.receipts.receipt_of`.

-- name: issue
-- A new receipt; nothing when the scope has the id already.
INSERT INTO receipts (tenant_id, project_id, receipt_id, kind, time_us, turn_id, session_id, goal_id, body)
VALUES (:tenant_id, :project_id, :receipt_id, :kind, :time_us, :turn_id, :session_id, :goal_id, :body)
ON CONFLICT (tenant_id, project_id, receipt_id) DO NOTHING

-- name: show
-- One item of a new receipt; the same text twice is one.
INSERT INTO receipt_items (tenant_id, project_id, text_hash, receipt_id)
VALUES (:tenant_id, :project_id, :text_hash, :receipt_id)
ON CONFLICT (tenant_id, project_id, text_hash, receipt_id) DO NOTHING

-- name: get
-- One receipt.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM receipts
WHERE tenant_id = :tenant_id AND project_id = :project_id AND receipt_id = :receipt_id

-- name: shown
-- A row when an item has this hash.
SELECT 1
FROM receipt_items
WHERE tenant_id = :tenant_id AND project_id = :project_id AND text_hash = :text_hash
LIMIT 1

-- name: list
-- A scope's receipts, newest first, from below a place in that order.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM receipts INDEXED BY receipts_newest
WHERE tenant_id = :tenant_id AND project_id = :project_id AND (time_us, receipt_id) < (:time_us, :receipt_id)
ORDER BY time_us DESC, receipt_id DESC
LIMIT :limit

-- name: list_of_kind
-- The same of one kind.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM receipts INDEXED BY receipts_of_kind
WHERE tenant_id = :tenant_id AND project_id = :project_id AND kind = :kind
  AND (time_us, receipt_id) < (:time_us, :receipt_id)
ORDER BY time_us DESC, receipt_id DESC
LIMIT :limit

-- name: of_turn
-- A turn's receipts, oldest first.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM receipts INDEXED BY receipts_of_turn
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :turn_id AND turn_id <> ''
ORDER BY time_us, receipt_id
LIMIT :limit

-- name: oldest
-- Across scopes: receipts from before a time, the oldest first.
SELECT tenant_id, project_id, receipt_id
FROM receipts INDEXED BY receipts_oldest
WHERE time_us < :before_us
      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
ORDER BY time_us
LIMIT :limit

-- name: forget_items
-- Removes what a receipt showed.
DELETE FROM receipt_items
WHERE tenant_id = :tenant_id AND project_id = :project_id AND receipt_id = :receipt_id

-- name: forget
-- Removes a receipt.
DELETE FROM receipts
WHERE tenant_id = :tenant_id AND project_id = :project_id AND receipt_id = :receipt_id
