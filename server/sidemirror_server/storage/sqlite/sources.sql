-- The statements of storage/sqlite/sources.py.

-- name: add
-- Notes that a record, which is there, came from a source.
INSERT INTO sources (tenant_id, project_id, source, record)
VALUES (:tenant_id, :project_id, :source, :record)
ON CONFLICT DO UPDATE SET is_gone = 0 WHERE is_gone = 1

-- name: erased
-- The time of a tombstone.
SELECT erased_us
FROM tombstones
WHERE tenant_id = :tenant_id AND project_id = :project_id AND kind = :kind AND digest = :digest

-- name: bury
-- Leaves a tombstone; of two, the later time counts.
INSERT INTO tombstones (tenant_id, project_id, kind, digest, erased_us)
VALUES (:tenant_id, :project_id, :kind, :digest, :erased_us)
ON CONFLICT DO UPDATE SET erased_us = max(erased_us, excluded.erased_us)
