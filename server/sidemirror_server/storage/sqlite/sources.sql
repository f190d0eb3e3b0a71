-- The statements of storage/sqlite/sources.py.

-- name: add
-- Notes that a record came from a source.
INSERT INTO sources (tenant_id, project_id, source, record)
VALUES (:tenant_id, :project_id, :source, :record)
ON CONFLICT DO NOTHING

-- name: add_subjects
-- Notes that a record is about the subjects of its sources.
INSERT INTO sources (tenant_id, project_id, source, record)
SELECT :tenant_id, :project_id, named.source, :record
FROM sources AS own INDEXED BY sources_of
CROSS JOIN sources AS named INDEXED BY sources_of
    ON named.tenant_id = :tenant_id AND named.project_id = :project_id AND named.record = own.source
   AND named.source >= 'subject:' AND named.source < 'subject;'
WHERE own.tenant_id = :tenant_id AND own.project_id = :project_id AND own.record = :record
ON CONFLICT DO NOTHING

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
