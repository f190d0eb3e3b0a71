-- The statements of storage/sqlite/memory_graph.py. Links are returned as (source, kind, target, created_us).

-- name: link
-- Adds links that are missing. :links: a JSON list of [source, kind, target, created_us].
INSERT INTO memory_links (tenant_id, project_id, source, kind, target, created_us)
SELECT :tenant_id, :project_id, new.value ->> 0, new.value ->> 1, new.value ->> 2, new.value ->> 3
FROM json_each(:links) AS new
WHERE TRUE
ON CONFLICT (tenant_id, project_id, source, kind, target) DO NOTHING

-- name: link_same_error
-- Links a memory to the newest other memories with the failure :signature.
INSERT INTO memory_links (tenant_id, project_id, source, kind, target, created_us)
SELECT tenant_id, project_id, :source, 'same_error', source, :created_us
FROM (
    SELECT tenant_id, project_id, source
    FROM memory_links
    WHERE tenant_id = :tenant_id AND project_id = :project_id AND target = :signature AND kind = 'mentions'
      AND source <> :source
    ORDER BY created_us DESC, source DESC
    LIMIT :limit
) AS others
WHERE TRUE
ON CONFLICT (tenant_id, project_id, source, kind, target) DO NOTHING

-- name: unlink
-- Removes links. :links: as in `link`.
DELETE FROM memory_links
WHERE (tenant_id, project_id, source, kind, target) IN (
    SELECT :tenant_id, :project_id, gone.value ->> 0, gone.value ->> 1, gone.value ->> 2
    FROM json_each(:links) AS gone
)

-- name: missing
-- The first of these memories that the scope does not have. :memory_ids: a JSON list.
SELECT wanted.value
FROM json_each(:memory_ids) AS wanted
WHERE NOT EXISTS (
    SELECT 1
    FROM memories
    WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = wanted.value
)
LIMIT 1

-- name: from_nodes
-- Links from these nodes: for each node and kind, the first :limit by descending target. :nodes, :kinds: JSON lists.
SELECT link.source, link.kind, link.target, link.created_us
FROM json_each(:nodes) AS node
CROSS JOIN json_each(:kinds) AS wanted
CROSS JOIN memory_links AS link
    ON link.tenant_id = :tenant_id AND link.project_id = :project_id
   AND link.source = node.value AND link.kind = wanted.value
WHERE link.target IN (
    SELECT target
    FROM memory_links
    WHERE tenant_id = :tenant_id AND project_id = :project_id AND source = node.value AND kind = wanted.value
    ORDER BY target DESC
    LIMIT :limit
)

-- name: to_nodes
-- Links to these nodes: for each node and kind, the :limit newest. Their rows are looked up by source: the + keeps
-- SQLite from scanning all links to a node.
SELECT link.source, link.kind, link.target, link.created_us
FROM json_each(:nodes) AS node
CROSS JOIN json_each(:kinds) AS wanted
CROSS JOIN memory_links AS link
    ON link.tenant_id = :tenant_id AND link.project_id = :project_id
   AND link.kind = wanted.value AND +link.target = node.value
WHERE link.source IN (
    SELECT source
    FROM memory_links
    WHERE tenant_id = :tenant_id AND project_id = :project_id AND target = node.value AND kind = wanted.value
    ORDER BY created_us DESC, source DESC
    LIMIT :limit
)

-- name: of_memories
-- Links from these nodes. :nodes: a JSON list.
SELECT link.source, link.kind, link.target, link.created_us
FROM json_each(:nodes) AS node
CROSS JOIN memory_links AS link
    ON link.tenant_id = :tenant_id AND link.project_id = :project_id AND link.source = node.value
