-- The statements of storage/sqlite/receipts.py. Columns follow the arguments of `trace.receipts.receipt_of`.

-- name: issue
-- Adds a receipt. No change if the scope already has the id.
INSERT INTO receipts (tenant_id, project_id, receipt_id, kind, time_us, turn_id, session_id, goal_id, body)
VALUES (:tenant_id, :project_id, :receipt_id, :kind, :time_us, :turn_id, :session_id, :goal_id, :body)
ON CONFLICT (tenant_id, project_id, receipt_id) DO NOTHING

-- name: show
-- Adds an item of a new receipt. A text that occurs twice is one item.
INSERT INTO receipt_items (tenant_id, project_id, text_hash, receipt_id)
VALUES (:tenant_id, :project_id, :text_hash, :receipt_id)
ON CONFLICT (tenant_id, project_id, text_hash, receipt_id) DO NOTHING

-- name: get
-- One receipt.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM receipts
WHERE tenant_id = :tenant_id AND project_id = :project_id AND receipt_id = :receipt_id

-- name: shown
-- One row if an item has this hash.
SELECT 1
FROM receipt_items
WHERE tenant_id = :tenant_id AND project_id = :project_id AND text_hash = :text_hash
LIMIT 1

-- name: of_turn
-- The receipts of a turn, oldest first.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM receipts INDEXED BY receipts_of_turn
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :turn_id AND turn_id <> ''
ORDER BY time_us, receipt_id
LIMIT :limit

-- name: of_session
-- The receipts of a session within these times, the oldest first.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM receipts INDEXED BY receipts_of_session
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_id AND session_id <> ''
      AND time_us BETWEEN :from_us AND :until_us
ORDER BY time_us, receipt_id
LIMIT :limit

-- name: find
-- The receipts of a scope, newest first, after a cursor and not before a time.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM receipts INDEXED BY receipts_newest
WHERE tenant_id = :tenant_id AND project_id = :project_id AND (time_us, receipt_id) < (:time_us, :receipt_id)
      AND time_us >= :from_us
ORDER BY time_us DESC, receipt_id DESC
LIMIT :limit

-- name: find_turn
-- Like `find`, for one turn.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM receipts INDEXED BY receipts_of_turn
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :turn_id AND turn_id <> ''
      AND (time_us, receipt_id) < (:time_us, :receipt_id) AND time_us >= :from_us
ORDER BY time_us DESC, receipt_id DESC
LIMIT :limit

-- name: find_lesson
-- Like `find`, for one lesson.
SELECT receipts.receipt_id, kind, receipts.time_us, turn_id, session_id, goal_id, body
FROM shown_lessons AS shown CROSS JOIN receipts
     ON receipts.tenant_id = shown.tenant_id AND receipts.project_id = shown.project_id
        AND receipts.receipt_id = shown.receipt_id
WHERE shown.tenant_id = :tenant_id AND shown.project_id = :project_id AND shown.lesson_id = :lesson_id
      AND (shown.time_us, shown.receipt_id) < (:time_us, :receipt_id) AND shown.time_us >= :from_us
ORDER BY shown.time_us DESC, shown.receipt_id DESC
LIMIT :limit

-- name: oldest
-- Across scopes: receipts from before a time, oldest first.
SELECT tenant_id, project_id, receipt_id
FROM receipts INDEXED BY receipts_oldest
WHERE time_us < :before_us
      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
ORDER BY time_us
LIMIT :limit

-- name: forget_items
-- Removes the items of a receipt.
DELETE FROM receipt_items
WHERE tenant_id = :tenant_id AND project_id = :project_id AND receipt_id = :receipt_id

-- name: forget
-- Removes a receipt.
DELETE FROM receipts
WHERE tenant_id = :tenant_id AND project_id = :project_id AND receipt_id = :receipt_id
