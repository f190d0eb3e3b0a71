-- The statements of storage/sqlite/requests.py. An answer expires at expires_us.

-- name: recall
-- The stored answer, unless it has expired.
SELECT digest, answer
FROM requests
WHERE tenant_id = :tenant_id AND project_id = :project_id AND method = :method AND request_id = :request_id
      AND expires_us > :now_us

-- name: remember
-- Stores an answer if there is none, or in place of an expired one.
INSERT INTO requests (tenant_id, project_id, method, request_id, expires_us, digest, answer)
VALUES (:tenant_id, :project_id, :method, :request_id, :expires_us, :digest, :answer)
ON CONFLICT (tenant_id, project_id, method, request_id) DO UPDATE
SET expires_us = excluded.expires_us, digest = excluded.digest, answer = excluded.answer
WHERE requests.expires_us <= :now_us

-- name: kept
-- The stored answer, expired or not.
SELECT digest, answer
FROM requests
WHERE tenant_id = :tenant_id AND project_id = :project_id AND method = :method AND request_id = :request_id

-- name: forget
-- Across scopes: removes expired answers, the oldest first.
DELETE FROM requests
WHERE rowid IN (SELECT rowid FROM requests
                WHERE expires_us <= :now_us
                      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
                ORDER BY expires_us LIMIT :limit)
