-- The statements of storage/postgres/requests.py. $1 and $2 are the tenant and the project. An answer expires at
-- expires_us.

-- name: recall
-- The stored answer, unless it has expired.
SELECT digest, answer
FROM sidemirror.requests
WHERE tenant_id = $1 AND project_id = $2 AND method = $3 AND request_id = $4 AND expires_us > $5

-- name: remember
-- Stores an answer if there is none, or in place of an expired one.
INSERT INTO sidemirror.requests (tenant_id, project_id, method, request_id, expires_us, digest, answer)
VALUES ($1, $2, $3, $4, $6, $7, $8)
ON CONFLICT (tenant_id, project_id, method, request_id) DO UPDATE
SET expires_us = excluded.expires_us, digest = excluded.digest, answer = excluded.answer
WHERE requests.expires_us <= $5

-- name: kept
-- The stored answer, expired or not.
SELECT digest, answer
FROM sidemirror.requests
WHERE tenant_id = $1 AND project_id = $2 AND method = $3 AND request_id = $4

-- name: expired
-- Across scopes: expired answers, the oldest first, for one entry of `Serves` ($3, $4; NULL for all). Rows that another
-- sidecar has locked are skipped.
SELECT tenant_id, project_id, method, request_id
FROM sidemirror.request_envelopes
WHERE expires_us <= $1
      AND ($3::text IS NULL OR tenant_id = $3) AND ($4::text IS NULL OR project_id = $4)
ORDER BY expires_us
LIMIT $2
FOR UPDATE SKIP LOCKED

-- name: forget
-- Removes the given answers that have expired.
DELETE FROM sidemirror.requests
WHERE tenant_id = $1 AND project_id = $2 AND expires_us <= $3
      AND (method, request_id) IN (SELECT * FROM unnest($4::text[], $5::text[]))
