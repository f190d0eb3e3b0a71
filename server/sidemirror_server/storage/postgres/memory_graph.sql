-- The statements of storage/postgres/memory_graph.py. $1 and $2 are the tenant and the project. Links are returned as
-- (source, kind, target, created_us).

-- name: link
-- Adds links that are missing. All transactions lock them in the same order to avoid deadlocks. $3 to $6: the columns.
INSERT INTO sidemirror.memory_links (tenant_id, project_id, source, kind, target, created_us)
SELECT $1, $2, source, kind, target, created_us
FROM unnest($3::text[], $4::text[], $5::text[], $6::bigint[]) AS new (source, kind, target, created_us)
ORDER BY source COLLATE "C", kind COLLATE "C", target COLLATE "C"
ON CONFLICT (tenant_id, project_id, source, kind, target) DO NOTHING

-- name: link_same_error
-- Links memory $4 to the $6 newest other memories with the failure $3.
INSERT INTO sidemirror.memory_links (tenant_id, project_id, source, kind, target, created_us)
SELECT $1, $2, $4, 'same_error', others.source, $5
FROM (
    SELECT source
    FROM sidemirror.memory_links
    WHERE tenant_id = $1 AND project_id = $2 AND target = $3 AND kind = 'mentions' AND source <> $4
    ORDER BY created_us DESC, source DESC
    LIMIT $6
) AS others
ON CONFLICT (tenant_id, project_id, source, kind, target) DO NOTHING

-- name: unlink
-- Removes links. $3 to $5: the columns.
DELETE FROM sidemirror.memory_links AS link
USING unnest($3::text[], $4::text[], $5::text[]) AS gone (source, kind, target)
WHERE link.tenant_id = $1 AND link.project_id = $2
  AND link.source = gone.source AND link.kind = gone.kind AND link.target = gone.target

-- name: hold_memories
-- The memories in $3 that the scope has. Their rows cannot be removed until the transaction ends.
SELECT memory_id
FROM sidemirror.memories
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = ANY($3::text[])
FOR KEY SHARE

-- name: from_nodes
-- Links from the nodes $3: for each node and kind ($4), the first $5 by descending target.
SELECT link.source, link.kind, link.target, link.created_us
FROM unnest($3::text[]) AS node
CROSS JOIN unnest($4::text[]) AS wanted
CROSS JOIN LATERAL (
    SELECT source, kind, target, created_us
    FROM sidemirror.memory_links
    WHERE tenant_id = $1 AND project_id = $2 AND source = node AND kind = wanted
    ORDER BY target DESC
    LIMIT $5
) AS link

-- name: to_nodes
-- Links to the nodes $3: for each node and kind ($4), the $5 newest.
SELECT link.source, link.kind, link.target, link.created_us
FROM unnest($3::text[]) AS node
CROSS JOIN unnest($4::text[]) AS wanted
CROSS JOIN LATERAL (
    SELECT source, kind, target, created_us
    FROM sidemirror.memory_links
    WHERE tenant_id = $1 AND project_id = $2 AND target = node AND kind = wanted
    ORDER BY created_us DESC, source DESC
    LIMIT $5
) AS link

-- name: of_memories
-- Links from the nodes $3.
SELECT source, kind, target, created_us
FROM sidemirror.memory_links
WHERE tenant_id = $1 AND project_id = $2 AND source = ANY($3::text[])
