-- What is decided for tenants and projects (policy/store.py).

-- An empty project stands for the tenant.
CREATE TABLE policies (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    version    INTEGER NOT NULL,
    body       BLOB NOT NULL,
    UNIQUE (tenant_id, project_id)
) STRICT;
