-- The statements of storage/sqlite/policies.py. An empty project is the tenant's own row.

-- name: get
-- The policies that concern a scope: its own row and its tenant's.
SELECT project_id, version, body
FROM policies
WHERE tenant_id = :tenant_id AND project_id IN (:project_id, '')

-- name: row
-- One row.
SELECT version, body
FROM policies
WHERE tenant_id = :tenant_id AND project_id = :project_id

-- name: others
-- How many projects of a tenant have a policy.
SELECT count(*)
FROM policies
WHERE tenant_id = :tenant_id AND project_id > ''

-- name: put
-- Adds or replaces one row.
INSERT INTO policies (tenant_id, project_id, version, retains, body)
VALUES (:tenant_id, :project_id, :version, :retains, :body)
ON CONFLICT (tenant_id, project_id) DO UPDATE
SET version = excluded.version, retains = excluded.retains, body = excluded.body

-- name: remove
-- Removes one row.
DELETE FROM policies
WHERE tenant_id = :tenant_id AND project_id = :project_id

-- name: retained
-- Across scopes: the rows with a retention that concern one entry of `Serves`.
SELECT tenant_id, project_id, version, body
FROM policies INDEXED BY policies_retained
WHERE retains AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id IN ('', :project_id))

-- name: deciding
-- Across scopes: whose rows concern one entry of `Serves`.
SELECT tenant_id, project_id
FROM policies
WHERE (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id IN ('', :project_id))
