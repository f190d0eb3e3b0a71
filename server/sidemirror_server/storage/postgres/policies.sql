-- The statements of storage/postgres/policies.py. An empty project is the tenant's own row, which row level security
-- shows to each of its projects.

-- name: get
-- The policies that concern a scope: its own row and its tenant's.
SELECT project_id, version, body
FROM sidemirror.policies
WHERE tenant_id = $1 AND project_id = $2 OR tenant_id = $1 AND project_id = ''

-- name: row
-- One row.
SELECT version, body
FROM sidemirror.policies
WHERE tenant_id = $1 AND project_id = $2

-- name: others
-- How many projects of a tenant have a policy.
SELECT count(*)
FROM sidemirror.policy_envelopes
WHERE tenant_id = $1 AND project_id <> ''

-- name: put
-- Adds or replaces one row.
INSERT INTO sidemirror.policies (tenant_id, project_id, version, body)
VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id, project_id) DO UPDATE SET version = excluded.version, body = excluded.body

-- name: remove
-- Removes one row.
DELETE FROM sidemirror.policies
WHERE tenant_id = $1 AND project_id = $2

-- name: retained
-- Across scopes: the rows with a retention that concern one entry of `Serves` ($1 and $2, NULL for all).
SELECT tenant_id, project_id, spend_days, critique_days, memory_days, memory_importance, memory_count, trace_days
FROM sidemirror.policy_envelopes
WHERE retains AND ($1::text IS NULL OR tenant_id = $1) AND ($2::text IS NULL OR project_id IN ('', $2))

-- name: deciding
-- Across scopes: whose rows concern one entry of `Serves` ($1 and $2, NULL for all).
SELECT tenant_id, project_id
FROM sidemirror.policy_envelopes
WHERE ($1::text IS NULL OR tenant_id = $1) AND ($2::text IS NULL OR project_id IN ('', $2))
