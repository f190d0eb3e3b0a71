-- What was shown to whom (trace/receipts.py): what lists go by, and the items as JSON.

CREATE TABLE receipts (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    receipt_id TEXT NOT NULL,
    kind       TEXT NOT NULL,
    time_us    INTEGER NOT NULL,
    turn_id    TEXT NOT NULL,
    session_id TEXT NOT NULL,
    goal_id    TEXT NOT NULL,
    body       BLOB NOT NULL,
    UNIQUE (tenant_id, project_id, receipt_id)
) STRICT;

-- Lists: of a scope, and of one kind.
CREATE INDEX receipts_newest ON receipts (tenant_id, project_id, time_us, receipt_id);
CREATE INDEX receipts_of_kind ON receipts (tenant_id, project_id, kind, time_us, receipt_id);

-- The envelope: what to forget. Looks across scopes and holds times only.
CREATE INDEX receipts_oldest ON receipts (time_us);

-- Which texts were shown, by their hash.
CREATE TABLE receipt_items (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    text_hash  BLOB NOT NULL,
    receipt_id TEXT NOT NULL,
    UNIQUE (tenant_id, project_id, text_hash, receipt_id)
) STRICT;

-- A receipt's items, for forgetting them with it.
CREATE INDEX receipt_items_of ON receipt_items (tenant_id, project_id, receipt_id);
