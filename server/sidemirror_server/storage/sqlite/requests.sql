-- The statements of storage/sqlite/requests.py. An answer has expired at the time it expires, not only after it.

-- name: recall
-- The answer that is kept and has not expired.
SELECT digest, answer
FROM requests
WHERE tenant_id = :tenant_id AND project_id = :project_id AND method = :method AND request_id = :request_id
      AND expires_us > :now_us

-- name: remember
-- Keeps an answer where there is none, or one that has expired.
INSERT INTO requests (tenant_id, project_id, method, request_id, expires_us, digest, answer)
VALUES (:tenant_id, :project_id, :method, :request_id, :expires_us, :digest, :answer)
ON CONFLICT (tenant_id, project_id, method, request_id) DO UPDATE
SET expires_us = excluded.expires_us, digest = excluded.digest, answer = excluded.answer
WHERE requests.expires_us <= :now_us

-- name: kept
-- The answer that is kept, expired or not.
SELECT digest, answer
FROM requests
WHERE tenant_id = :tenant_id AND project_id = :project_id AND method = :method AND request_id = :request_id

-- name: forget
-- Across scopes: removes what has expired, the oldest first.
DELETE FROM requests
WHERE rowid IN (SELECT rowid FROM requests
                WHERE expires_us <= :now_us
                      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
                ORDER BY expires_us LIMIT :limit)
