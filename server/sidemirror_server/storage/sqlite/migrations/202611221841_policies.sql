-- What is decided for tenants and projects (policy/store.py).

-- An empty project stands for the tenant.
CREATE TABLE policies (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    version    INTEGER NOT NULL,
    retains    INTEGER NOT NULL,  -- whether it sets any retention
    body       BLOB NOT NULL,
    UNIQUE (tenant_id, project_id)
) STRICT;

-- What retention looks for across scopes.
CREATE INDEX policies_retained ON policies (tenant_id, project_id) WHERE retains;
