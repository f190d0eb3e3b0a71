-- The statements of storage/postgres/sources.py. $1 and $2 are the tenant and the project.

-- name: add
-- Notes that a record ($3), which is there, came from sources ($4).
INSERT INTO sidemirror.sources AS known (tenant_id, project_id, source, record)
SELECT $1, $2, source, $3 FROM unnest($4::text[]) AS source
ORDER BY source
ON CONFLICT (tenant_id, project_id, source, record) DO UPDATE SET is_gone = false WHERE known.is_gone

-- name: erased
-- The tombstones of these kinds ($3) and digests ($4), as (digest, erased_us).
SELECT digest, erased_us
FROM sidemirror.tombstones
WHERE tenant_id = $1 AND project_id = $2 AND (kind, digest) IN (SELECT * FROM unnest($3::text[], $4::bytea[]))

-- name: bury
-- Leaves tombstones of these kinds ($3), digests ($4) and times ($5); of two, the later time counts.
INSERT INTO sidemirror.tombstones AS known (tenant_id, project_id, kind, digest, erased_us)
SELECT $1, $2, kind, digest, erased_us
FROM unnest($3::text[], $4::bytea[], $5::bigint[]) AS new (kind, digest, erased_us)
ORDER BY kind, digest
ON CONFLICT (tenant_id, project_id, kind, digest) DO UPDATE
SET erased_us = greatest(known.erased_us, excluded.erased_us)
