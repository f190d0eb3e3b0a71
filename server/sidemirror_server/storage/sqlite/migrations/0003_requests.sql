-- Answers by request_id (trace/requests.py).

CREATE TABLE requests (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    method     TEXT NOT NULL,
    request_id TEXT NOT NULL,
    expires_us INTEGER NOT NULL,
    digest     BLOB NOT NULL,
    answer     BLOB NOT NULL,
    UNIQUE (tenant_id, project_id, method, request_id)
) STRICT;

-- The envelope: what to forget. Looks across scopes and holds times only.
CREATE INDEX requests_expire ON requests (expires_us);
